"""Robots of example-robot-data, against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

import jaxdyn
from tests.oracles import difference, Pinocchio, worst_differences
from tests.robots import example_urdf, states


REFERENCES = ("world", "local", "local_world_aligned")
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
ROBOTS = {
    "panda.urdf": FINGERS,
    "ur5_robot.urdf": (),
    "double_pendulum.urdf": (),
    "kinova.urdf": (),
    "xarm7.urdf": (),
    "z1.urdf": (),
    "solo12.urdf": (),
    "hyq_no_sensors.urdf": (),
    "tiago.urdf": (),
    "g1_29dof_rev_1_0.urdf": (),
    "talos_reduced.urdf": (),
    "baxter.urdf": (),
}


def load(name: str):
    path, locked = example_urdf(name), ROBOTS[name]
    model = jaxdyn.load(path, locked=dict.fromkeys(locked, 0.0))
    return model, Pinocchio(path, model.joint_names, locked)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics_and_kinematics_are_those_of_pinocchio(name):
    model, oracle = load(name)
    for state in states(model, 2):
        assert max(worst_differences(model, oracle, *state).values()) < 1e-11
    q = state[0]
    poses = jaxdyn.forward_kinematics(model, q)
    for b, body in enumerate(model.body_names):
        assert difference(poses[b], oracle.frame(q, body, "world")[0]) < 1e-11
    last = model.body_names[-1]
    for reference in REFERENCES:
        J = jaxdyn.frame_jacobian(model, q, last, reference=reference)
        assert difference(J, oracle.frame(q, last, reference)[1]) < 1e-11


@pytest.mark.slow
def test_regressor_is_that_of_pinocchio():
    model, oracle = load("ur5_robot.urdf")
    state = states(model, 1)[0]
    data = oracle.model.createData()
    theirs = pin.computeJointTorqueRegressor(oracle.model, data, *oracle.state(*state))
    ours = jaxdyn.torque_regressor(model, *state)
    links = [model.body_names.index(oracle_link(oracle, j)) for j in range(1, 7)]
    blocks = np.asarray(ours).reshape(6, -1, 10)[:, links].reshape(6, 60)
    assert difference(blocks, theirs[oracle.columns]) < 1e-11


def oracle_link(oracle: Pinocchio, joint: int) -> str:
    """Name of the link whose frame is that of a joint."""
    return next(
        f.name
        for f in oracle.model.frames
        if f.parentJoint == joint and f.type == pin.BODY and f.placement.isIdentity(0)
    )
