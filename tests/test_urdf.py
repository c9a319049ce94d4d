"""Robots of example-robot-data, against Pinocchio."""

import functools

import jax
import numpy as np
import pytest

import jaxdyn
from tests.oracles import difference, Pinocchio, worst_differences
from tests.robots import example_urdf, states


REFERENCES = ("world", "local", "local_world_aligned")
ROBOTS = (
    "finger_edu",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in (
            "a1",
            "allegro_left_hand",
            "baxter",
            "double_pendulum",
            "g1_29dof_rev_1_0",
            "hyq_no_sensors",
            "icub",
            "kinova",
            "panda",
            "romeo_small",
            "simple_humanoid",
            "so101",
            "solo12",
            "talos_reduced",
            "tiago",
            "ur5_robot",
            "xarm7",
            "z1",
        )
    ),
)
LOCKED = {"panda": {"panda_finger_joint1": 0.01, "panda_finger_joint2": 0.02}}
"""Robots with locked joints are Pinocchio's reduced models."""


@functools.cache
def robot(name: str) -> tuple[jaxdyn.Model, Pinocchio]:
    path, locked = example_urdf(f"{name}.urdf"), LOCKED.get(name, {})
    model = jaxdyn.load(path, locked=locked)
    return model, Pinocchio(path, model, locked)


@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics_and_poses_are_those_of_pinocchio(name):
    model, oracle = robot(name)
    assert model.nv == oracle.model.nv
    for state in states(model, 3):
        for quantity, error in worst_differences(model, oracle, *state).items():
            assert error < (1e-12 if quantity == "regressor" else 1e-11), quantity


@pytest.mark.parametrize("name", ROBOTS)
def test_regressor_is_that_of_pinocchio(name):
    """A link with a joint has its frame, and so the columns that Pinocchio has for it."""
    model, oracle = robot(name)
    state = states(model, 1)[0]
    Y = np.asarray(jaxdyn.torque_regressor(jaxdyn.anonymous(model), *state))
    columns = Y.reshape(model.nv, -1, 10)[:, list(model.joint_bodies)]
    assert difference(columns, oracle.torque_regressor(*state)) < 1e-11


@pytest.mark.parametrize(
    "name", ["finger_edu", pytest.param("panda", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("reference", REFERENCES)
def test_jacobians_of_all_links_are_those_of_pinocchio(name, reference):
    model, oracle = robot(name)
    q = states(model, 1)[0, 0]

    @jax.jit
    def jacobians(model, q):
        of = functools.partial(jaxdyn.frame_jacobian, model, q, reference=reference)
        return [of(frame) for frame in model.body_names]

    for link, J in enumerate(jacobians(model, q)):
        assert difference(J, oracle.jacobian(q, link, reference)) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kinova", "solo12", "talos_reduced"])
def test_jacobian_of_the_last_link_is_that_of_pinocchio(name):
    model, oracle = robot(name)
    q, last = states(model, 1)[0, 0], model.nb - 1
    for reference in REFERENCES:
        J = jaxdyn.frame_jacobian(model, q, model.body_names[last], reference=reference)
        assert difference(J, oracle.jacobian(q, last, reference)) < 1e-11
