"""Kinematics: poses and Jacobians against MuJoCo C, and against each other."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxdyn
from tests.oracles import difference, MuJoCo
from tests.robots import inertial, mjcf, random_tree, states


REFERENCES = ("world", "local", "local_world_aligned")


@functools.cache
def tree(seed: int, joints: int):
    spec = mujoco.MjSpec.from_string(random_tree(seed, joints))
    return jaxdyn.load(spec), MuJoCo(spec.compile())


@pytest.mark.parametrize(
    ("seed", "joints"),
    [
        (0, 1),
        (28, 5),
        *(pytest.param(*size, marks=pytest.mark.slow) for size in ((4, 3), (30, 15))),
    ],
)
def test_poses_and_jacobians_are_those_of_mujoco(seed, joints):
    model, oracle = tree(seed, joints)
    for q, _, _ in states(model, 3):
        poses = oracle.forward_kinematics(q)
        assert difference(jaxdyn.forward_kinematics(model, q), poses) < 1e-11
    for b in (0, model.nb // 2, model.nb - 1):
        name = model.body_names[b]
        assert difference(jaxdyn.frame_pose(model, q, name), poses[b]) < 1e-11
        J = jaxdyn.frame_jacobian(model, q, name, reference="local_world_aligned")
        assert difference(J, oracle.jacobian(q, "body", b + 1)) < 1e-11
    s = len(model.site_names) - 1
    name = model.site_names[s]
    pose = oracle.site_poses(q)[s]
    assert difference(jaxdyn.frame_pose(model, q, name), pose) < 1e-11
    J = jaxdyn.frame_jacobian(model, q, name, reference="local_world_aligned")
    assert difference(J, oracle.jacobian(q, "site", s)) < 1e-11


def test_jacobian_is_derivative_of_pose():
    model, _ = tree(4, 3)
    q, frame = states(model, 1)[0, 0], model.site_names[-1]
    T, dT = jax.jvp(lambda q: jaxdyn.frame_pose(model, q, frame), (q,), (np.ones(3),))
    J = {r: jaxdyn.frame_jacobian(model, q, frame, reference=r) for r in REFERENCES}
    R, p = T[:3, :3], T[:3, 3]
    spin = dT[:3, :3] @ R.T
    w = jnp.stack([spin[2, 1], spin[0, 2], spin[1, 0]])

    assert difference(J["local_world_aligned"].sum(1), jnp.r_[dT[:3, 3], w]) < 1e-12
    local = jnp.r_[R.T @ dT[:3, 3], R.T @ w]
    assert difference(J["local"].sum(1), local) < 1e-12
    world = jnp.r_[dT[:3, 3] + jnp.cross(p, w), w]
    assert difference(J["world"].sum(1), world) < 1e-12


def test_frames_of_the_world_and_of_welded_bodies():
    base = '<body name="base" pos="1 2 3"><body name="arm"><joint name="j"/>'
    tip = '<body name="tip" pos="0 .5 0"><site name="at_tip"/></body></body></body>'
    arm = inertial("0 0 0", 1, "1 1 1")
    spec = mjcf(f'<site name="mark" pos="7 0 0"/>{base}{arm}{tip}')
    model, oracle = jaxdyn.load(spec), MuJoCo(spec.compile())
    q = np.array([0.7])
    for frame in ("mark", "base"):
        J = jaxdyn.frame_jacobian(model, q, frame, reference="world")
        assert (J == 0).all()
    assert jaxdyn.frame_pose(model, q, "mark")[0, 3] == 7
    for frame, kind, index in (("tip", "body", 3), ("at_tip", "site", 1)):
        J = jaxdyn.frame_jacobian(model, q, frame, reference="local_world_aligned")
        assert difference(J, oracle.jacobian(q, kind, index)) < 1e-12


def test_a_name_of_a_body_and_of_a_site_must_say_which():
    body = '<body name="x" pos="1 0 0"><joint/>' + inertial("0 0 0", 1, "1 1 1")
    model = jaxdyn.load(mjcf(f'{body}<site name="x" pos="2 0 0"/></body>'))
    q = np.zeros(1)
    with pytest.raises(ValueError, match="'body:x' or 'site:x'"):
        jaxdyn.frame_pose(model, q, "x")
    assert jaxdyn.frame_pose(model, q, "body:x")[0, 3] == 1
    assert jaxdyn.frame_pose(model, q, "site:x")[0, 3] == 3


def test_unknown_frames_and_references_are_refused(unchecked):
    model, _ = tree(4, 3)
    q = np.zeros(3)
    with pytest.raises(KeyError, match=r"no body 'b00'.*Did you mean 'b0'"):
        jaxdyn.frame_pose(model, q, "b00")
    with pytest.raises(ValueError, match="but 'global' came"):
        jaxdyn.frame_jacobian(model, q, "b0", reference="global")
