"""Small robots on which others went wrong, with values of MuJoCo C and Pinocchio."""

import dataclasses

import mujoco
import numpy as np
import pytest

import jaxdyn
from tests.oracles import MuJoCo
from tests.robots import inertial, joint, link, mjcf, urdf


A = inertial(".5 0 0", 2, ".1 .2 .25")
Q = np.array([0.3])
REST = np.zeros(1)
HALF_TURN = "1.5707963267948966"


def close(x, y):
    """Equal in all digits that are given."""
    np.testing.assert_allclose(x, y, rtol=0, atol=6e-11)


def test_inertia_of_a_urdf_is_turned_by_its_origin(tmp_path):
    turned = link("a", 1, "0 0 0", "1 2 2.5", rpy=f"0 0 {HALF_TURN}")
    model = jaxdyn.load(urdf(tmp_path, turned, joint("base", "a", "1 0 0")))
    close(jaxdyn.mass_matrix(model, Q), [[2]])


def test_fixed_child_of_a_urdf_is_turned_and_stays_a_frame(tmp_path):
    a, b = link("a", 1, "0 0 0", ".1 .2 .25"), link("b", 2, "0 .1 0", "1 2 2.5")
    turn = f"{HALF_TURN} 0 0"
    fixed = joint("a", "b", None, type="fixed", xyz=".3 0 0", rpy=turn)
    model = jaxdyn.load(urdf(tmp_path, a, b, joint("base", "a", "0 0 1"), fixed))
    close(jaxdyn.mass_matrix(model, Q), [[2.43]])
    close(jaxdyn.frame_pose(model, REST, "b")[:3, 3], [0.3, 0, 0])
    assert model.body_names == ("base", "a", "b")
    assert model.inertial[model.body("b"), 0] == 2

    # The same, merged into one link by hand.
    merged = np.array(model.inertial)
    R = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, (0.3, 0, 0)
    J = T @ jaxdyn.pseudo_inertia(merged[2]) @ T.T
    merged[1] += jaxdyn.inertial_from_pseudo_inertia(J)
    merged[2] = 0
    one_link = dataclasses.replace(model, inertial=merged)
    close(jaxdyn.mass_matrix(one_link, Q), [[2.43]])


def test_body_without_joint_is_turned():
    child = f'<body euler="{HALF_TURN} 0 0">' + inertial("0 0 0", 2, "1 2 2.5")
    parent = inertial("0 0 0", 1, ".1 .2 .25")
    spec = mjcf(f"<body><joint/>{parent}{child}</body></body>")
    close(jaxdyn.mass_matrix(jaxdyn.load(spec), Q), [[2.25]])


def test_several_trees():
    second = '<body><joint type="slide" axis="1 0 0"/>' + inertial("0 0 0", 3, "1 1 1")
    model = jaxdyn.load(mjcf(f'<body><joint axis="0 1 0"/>{A}</body>{second}</body>'))
    q = np.array([0.3, 0.1])
    close(jaxdyn.mass_matrix(model, q), np.diag([0.7, 3]))
    close(jaxdyn.bias_force(model, q, np.zeros(2)), [-9.3718509583, 0])


def test_gravity_is_that_of_the_file():
    body = inertial(".5 0 .1", 2, ".1 .2 .25")
    spec = mjcf(f'<body><joint axis="0 1 0"/>{body}</body>', option='gravity="1 2 -3"')
    close(jaxdyn.gravity_force(jaxdyn.load(spec), Q), [-2.9388686825])


@pytest.mark.parametrize(("axis", "M"), [("0 2 0", 2.25), ("1 1 0", 1.625)])
def test_axes_need_not_be_normalised(axis, M):
    body = inertial(".5 0 0", 1, "1 2 2.5")
    model = jaxdyn.load(mjcf(f'<body><joint axis="{axis}"/>{body}</body>'))
    close(jaxdyn.mass_matrix(model, Q), [[M]])
    longer = dataclasses.replace(model, axis=7 * np.asarray(model.axis))
    close(jaxdyn.mass_matrix(longer, Q), [[M]])


def test_default_axis_is_x_in_urdf_and_z_in_mjcf(tmp_path):
    a = link("a", 1, ".5 0 0", "1 2 2.5")
    model = jaxdyn.load(urdf(tmp_path, a, joint("base", "a", None)))
    close(jaxdyn.mass_matrix(model, Q), [[1]])
    body = inertial(".5 0 0", 1, "1 2 2.5")
    close(jaxdyn.mass_matrix(jaxdyn.load(mjcf(f"<body><joint/>{body}</body>")), Q), 2.75)


def test_quaternions_need_not_be_normalised():
    model = jaxdyn.load(mjcf(f'<body quat="1 -1 0 0"><joint axis="0 1 0"/>{A}</body>'))
    longer = dataclasses.replace(model, quat=3 * np.asarray(model.quat))
    for robot in (model, longer):
        close(jaxdyn.mass_matrix(robot, Q), [[0.7]])
        close(jaxdyn.gravity_force(robot, Q), [0])
        w, x, y, z = 0.69917, -0.69917, 0.10567, -0.10567
        third = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
        R = jaxdyn.forward_kinematics(robot, Q)[0, :3, :3]
        np.testing.assert_allclose(R[:, 2], third, atol=2e-5)


def test_quaternion_of_an_inertia_need_not_be_normalised():
    body = '<inertial pos="0 .3 0" mass="1" quat="1 0 0 1" diaginertia="1 2 2.5"/>'
    model = jaxdyn.load(mjcf(f'<body><joint axis="1 0 0"/>{body}</body>'))
    close(jaxdyn.mass_matrix(model, Q), [[2.09]])


def test_inertia_without_origin_is_kept(tmp_path):
    a = link("a", 1, "0 0 0", "1 2 2.5").replace('<origin xyz="0 0 0" rpy="0 0 0"/>', "")
    assert "origin" not in a
    model = jaxdyn.load(urdf(tmp_path, a, joint("base", "a", "1 0 0")))
    close(jaxdyn.mass_matrix(model, Q), [[1]])


def test_link_without_inertia_has_none(tmp_path):
    b = link("b", 2, ".3 0 0", ".1 .2 .25")
    joints = joint("base", "a", "0 -1 0"), joint("a", "b", "0 -1 0", xyz="1 0 0")
    model = jaxdyn.load(urdf(tmp_path, '<link name="a"/>', b, *joints))
    M = [[3.4852731928, 0.9326365964], [0.9326365964, 0.38]]
    close(jaxdyn.mass_matrix(model, np.array([0.3, 0.4])), M)
    assert "a:" in str(model.report)


def test_inertia_of_no_body_is_named_and_not_a_prior():
    body = inertial("0 0 0", 1, ".1 .2 .5")
    model = jaxdyn.load(mjcf(f'<body name="bad"><joint/>{body}</body>'))
    (fault,) = jaxdyn.check_consistency(model)
    assert fault.body == "bad"
    assert "0.1 + 0.2 < 0.5" in str(fault)
    assert "bad" in str(model.report)
    with pytest.raises(RuntimeError, match="belong to no rigid body"):
        jaxdyn.log_cholesky(model.inertial[0])


def test_mass_from_geoms():
    capsule = '<geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" density="1000"/>'
    model = jaxdyn.load(mjcf(f'<body name="b"><joint axis="0 1 0"/>{capsule}</body>'))
    close(jaxdyn.mass_matrix(model, Q), [[0.4005857883]])
    close(jaxdyn.gravity_force(model, Q), [-10.4275655846])
    assert model.report.filled == ("b: mass and inertia come from its geoms",)


def test_anchor_of_a_joint():
    model = jaxdyn.load(mjcf(f'<body><joint axis="0 1 0" pos=".2 0 0"/>{A}</body>'))
    close(jaxdyn.mass_matrix(model, Q), [[0.38]])
    close(jaxdyn.gravity_force(model, Q), [-5.623110575])


def test_position_that_the_file_is_drawn_at():
    model = jaxdyn.load(mjcf(f'<body><joint axis="0 1 0" ref=".7"/>{A}</body>'))
    close(jaxdyn.gravity_force(model, np.array([0.7])), [-9.81])
    close(jaxdyn.gravity_force(model, np.array([0.0])), [-7.5031018573])


def test_prismatic_joint(tmp_path):
    a, b = link("a", 1, ".5 0 0", ".1 .2 .25"), link("b", 2, ".3 0 0", ".1 .2 .25")
    slide = joint("a", "b", "1 0 0", type="prismatic", xyz="1 0 0")
    model = jaxdyn.load(urdf(tmp_path, a, b, joint("base", "a", "0 1 0"), slide))
    q, qd = np.array([0.3, 0.4]), np.array([1.0, 2.0])
    close(jaxdyn.mass_matrix(model, q), np.diag([6.43, 2]))
    close(jaxdyn.bias_force(model, q, qd), [-22.9502187375, -9.1981064547])
    J = jaxdyn.frame_jacobian(model, q, "b", reference="local_world_aligned")
    close(J[:, 1], [np.cos(0.3), 0, -np.sin(0.3), 0, 0, 0])


def test_continuous_joint_is_one_angle(tmp_path):
    a = link("a", 1, ".5 0 0", ".1 .2 .25")
    turning = joint("base", "a", "0 1 0", type="continuous")
    model = jaxdyn.load(urdf(tmp_path, a, turning))
    assert (model.nq, model.nv) == (1, 1)
    force = [jaxdyn.gravity_force(model, np.array([q])) for q in (7, 7 - 2 * np.pi)]
    close(force[0], force[1])
    assert (model.lower[0], model.upper[0]) == (-np.inf, np.inf)


def test_joint_without_range_has_infinite_limits():
    limited = '<joint name="l" range="-1 2"/>'
    free = f'<joint name="f" axis="1 0 0"/>{A}'
    spec = mjcf(f"<body>{limited}{A}<body>{free}</body></body>")
    model = jaxdyn.load(spec)
    assert model.lower.tolist() == [-1, -np.inf]
    assert model.upper.tolist() == [2, np.inf]


def arm(attributes: str = "") -> mujoco.MjSpec:
    """Three joints with armature, `ref`, a turned body and an oblique slide."""
    a = inertial(".2 0 .1", 1.5, ".01 .02 .015")
    b = inertial("0 .1 .2", 1, ".02 .01 .012")
    c = inertial(".1 0 0", 0.7, ".004 .003 .005")
    return mjcf(
        f'<body name="b1"><joint name="j1" axis="0 0 1" armature=".05"/>{a}'
        f'<body name="b2" pos=".4 0 0" euler=".4 .2 -.3">'
        f'<joint name="j2" axis="0 1 0" armature=".02" ref=".2" {attributes}/>{b}'
        '<body name="b3" pos="0 .1 .3"><joint name="j3" type="slide" axis="1 1 .5"/>'
        f"{c}</body></body></body>"
    )


def test_armature_enters_mass_matrix_and_both_dynamics():
    spec = arm()
    model, oracle = jaxdyn.load(spec), MuJoCo(spec.compile())
    q, qd, x = np.array([[0.4, 0.9, -0.2], [1, -2, 0.5], [0.3, 0.2, -1]])
    assert model.armature.tolist() == [0.05, 0.02, 0]
    close(jaxdyn.mass_matrix(model, q), oracle.mass_matrix(q))
    close(jaxdyn.bias_force(model, q, qd), oracle.bias_force(q, qd))
    close(jaxdyn.inverse_dynamics(model, q, qd, x), oracle.inverse_dynamics(q, qd, x))
    close(jaxdyn.forward_dynamics(model, q, qd, x), oracle.forward_dynamics(q, qd, x))
    without = dataclasses.replace(model, armature=np.zeros(3))
    change = jaxdyn.mass_matrix(model, q) - jaxdyn.mass_matrix(without, q)
    close(change, np.diag(model.armature))

    # It survives when another joint is locked.
    locked = jaxdyn.lock(model, {"j2": 0.9})
    kept = np.ix_([0, 2], [0, 2])
    close(jaxdyn.mass_matrix(locked, q[[0, 2]]), np.asarray(oracle.mass_matrix(q))[kept])


def test_where_joints_are_is_published_and_does_not_depend_on_attribute_order():
    spec = arm()
    model, compiled = jaxdyn.load(spec), spec.compile()
    for j, name in enumerate(model.joint_names):
        assert compiled.joint(name).id == j
        assert model.q_slices[name].start == compiled.jnt_qposadr[j]
        assert model.v_slices[name].start == compiled.jnt_dofadr[j]
    text = f'<body><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/>{A}</body>'
    swapped = text.replace('name="x" axis="1 0 0"', 'axis="1 0 0" name="x"')
    assert swapped != text
    assert [jaxdyn.load(mjcf(t)).joint_names for t in (text, swapped)] == 2 * [("x", "y")]


def test_robot_without_joints():
    model = jaxdyn.load(mjcf(f'<body name="rock">{A}</body>'))
    none = np.zeros(0)
    assert (model.nq, model.nv, model.nb) == (0, 0, 1)
    assert jaxdyn.mass_matrix(model, none).shape == (0, 0)
    assert jaxdyn.torque_regressor(model, none, none, none).shape == (0, 10)
    for fn in (jaxdyn.inverse_dynamics, jaxdyn.forward_dynamics):
        assert fn(model, none, none, none).shape == (0,)
    assert jaxdyn.bias_force(model, none, none).shape == (0,)
    assert jaxdyn.gravity_force(model, none).shape == (0,)
    assert jaxdyn.forward_kinematics(model, none).shape == (1, 4, 4)
    assert jaxdyn.frame_pose(model, none, "rock").shape == (4, 4)
    assert jaxdyn.frame_jacobian(model, none, "rock", reference="local").shape == (6, 0)
    assert jaxdyn.kinetic_energy(model, none, none) == 0
    close(jaxdyn.gravity_energy(model, none), 0)


def test_order_of_the_regressor():
    moments = 'fullinertia=".1 .2 .3 .01 .02 .03"'
    body = f'<inertial pos=".1 .2 .3" mass="2" {moments}/>'
    model = jaxdyn.load(mjcf(f'<body><joint axis="0 1 0"/>{body}</body>'))
    state = np.array([[0.3], [0.5], [2.0]])
    row = [0, -9.3718509583, 0, -2.8990532273, 0, 0, 2, 0, 0, 0]
    close(jaxdyn.torque_regressor(model, *state), [row])
    pi = [2, 0.2, 0.4, 0.6, 0.36, -0.03, 0.4, -0.04, -0.09, 0.4]
    close(model.inertial, [pi])
    close(jaxdyn.inverse_dynamics(model, *state), [-2.8138021281])
