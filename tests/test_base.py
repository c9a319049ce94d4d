"""Base parameters: how many, which, and that they say all that torque says."""

import numpy as np
import pytest

import jaxdyn
from identification import (
    ARM7,
    base_parameters,
    column_names,
    columns,
    same_span,
    Unknowns,
    WIDTH,
)
from identification._batches import along
from tests.recordings import PENDULUM, robot, SCARA
from tests.robots import example_urdf, states


BOTH = pytest.mark.parametrize("method", ["greedy", "pivoted"])
TERMS = ("inertia", "Ia", "fv", "fc", "offset")


def two_links(first: str, second: str, gravity: str = "0 0 -9.81") -> jaxdyn.Model:
    """Two hinges about given axes."""
    return robot(
        f'<mujoco><option gravity="{gravity}"/><worldbody><body name="a">'
        f'<joint name="j1" axis="{first}"/>'
        '<inertial pos="0 0 0.2" mass="1" diaginertia="0.1 0.2 0.2"/>'
        f'<body name="b" pos="0.3 0 0.5"><joint name="j2" axis="{second}"/>'
        '<inertial pos="0.1 0 0.2" mass="1" diaginertia="0.1 0.2 0.2"/></body>'
        "</body></worldbody></mujoco>"
    )


def stacked(model, terms, count=40):
    """Columns at random states, one below the other."""
    state = np.moveaxis(states(model, count, seed=5), 1, 0)
    W = along(columns, model, *state, terms=terms, width=WIDTH)
    return W.reshape(count * model.nv, -1)


@BOTH
@pytest.mark.parametrize(
    ("axes", "gravity", "rank"),
    [
        (("0 0 1", "0 1 0"), "0 0 -9.81", 8),
        (("0 0 1", "0 1 0"), "1 2 -9", 10),
        (("0 1 0", "0 1 0"), "0 0 -9.81", 6),
    ],
)
def test_two_links(axes, gravity, rank, method):
    base = base_parameters(two_links(*axes, gravity), method=method)
    assert base.rank == rank
    assert base.gap > 1e9
    assert not base.doubts


@BOTH
def test_a_pendulum_shows_inertia_and_first_moments_but_not_its_mass(method):
    base = base_parameters(robot(PENDULUM), method=method)
    assert set(base.names) == {"rod.Iyy", "rod.mx", "rod.mz"}
    assert "rod.m" in base.without_effect
    assert len(base.without_effect) == 7
    base = base_parameters(robot(PENDULUM), TERMS, method=method)
    assert base.rank == 6
    assert {"rod.Iyy + pivot.Ia", "pivot.Ia + rod.Iyy"} & set(base.expressions())


def rank(model, terms, method):
    return base_parameters(model, terms, method=method).rank


@BOTH
def test_panda(method):
    path = example_urdf("panda.urdf")
    fingers = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
    panda = jaxdyn.load(path, locked=fingers)
    assert rank(panda, ("inertia",), method) == 43
    assert rank(panda, ("inertia", "fv", "fc", "offset"), method) == 43 + 21


@BOTH
@pytest.mark.menagerie
def test_ur10e(menagerie, method):
    ur10e = jaxdyn.load(menagerie / "universal_robots_ur10e" / "ur10e.xml")
    assert rank(ur10e, ("inertia",), method) == 36
    assert rank(ur10e, ("inertia", "Ia"), method) == 40
    assert rank(ur10e, TERMS, method) == 58


@BOTH
@pytest.mark.data
def test_tx40(data, method):
    tx40 = jaxdyn.load(data / "staubli_tx40" / "tx40.urdf")
    assert rank(tx40, ("inertia",), method) == 36


@BOTH
@pytest.mark.parametrize("source", [SCARA, ARM7])
def test_base_parameters_reproduce_the_torque(source, method):
    model = robot(source) if source is SCARA else jaxdyn.load(source)
    base = base_parameters(model, TERMS, method=method)
    W = stacked(model, TERMS)
    assert np.linalg.matrix_rank(W[:, base.independent]) == base.rank
    np.testing.assert_allclose(
        W[:, base.independent] @ base.K, W, atol=1e-9 * np.abs(W).max()
    )
    np.testing.assert_array_equal(base.K[:, base.independent], np.eye(base.rank))


def test_both_methods_and_any_seed_span_the_same():
    arm = jaxdyn.load(ARM7)
    greedy = base_parameters(arm, TERMS)
    pivoted = base_parameters(arm, TERMS, method="pivoted", seed=1)
    assert greedy.independent != pivoted.independent
    assert same_span(greedy, pivoted)
    assert greedy.independent == base_parameters(arm, TERMS, seed=2).independent


def test_a_combination_of_what_torque_shows_is_no_base_of_something_else():
    scara = robot(SCARA)
    rigid = base_parameters(scara)
    assert not same_span(rigid, base_parameters(scara, bodies=(3,)))
    tilted = base_parameters(scara.with_gravity([1.0, 2.0, -9.0]))
    assert not same_span(rigid, tilted)
    with pytest.raises(ValueError, match="Only bases of the same parameters"):
        same_span(rigid, base_parameters(scara, TERMS))


def test_expressions_read_well():
    model = two_links("0 1 0", "0 1 0")
    base = base_parameters(model)
    assert base.expressions() == (
        "a.Iyy + 0.34 b.m",
        "a.mx + 0.3 b.m",
        "a.mz + 0.5 b.m",
        "b.Iyy",
        "b.mx",
        "b.mz",
    )
    prior = Unknowns(model, ("inertia",), (0, 1)).prior
    a_Iyy, b_m = prior[6], prior[10]
    np.testing.assert_allclose((base.K @ prior)[0], a_Iyy + 0.34 * b_m)


def test_which_joints_feel_a_base_parameter():
    base = base_parameters(two_links("0 1 0", "0 1 0"), ("inertia", "fv"))
    felt = dict(zip(base.names, base.support.T.tolist(), strict=True))
    assert felt["a.mx"] == [True, False]
    assert felt["b.mx"] == [True, True]
    assert felt["j2.fv"] == [False, True]


def test_bodies_that_do_not_count_are_in_no_combination():
    scara = robot(SCARA)
    base = base_parameters(scara, bodies=(1, 2, 3))
    assert base.rank == base_parameters(scara).rank
    welded = base.K.reshape(base.rank, scara.nb, 10)[:, [0, 4]]
    assert not welded.any()


def test_columns_of_a_log_show_what_its_motion_excites():
    scara = robot(SCARA)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 50, 3))
    qd[:, 0] = qdd[:, 0] = 0  # the first joint stands still
    W = along(columns, scara, q, qd, qdd, terms=TERMS, width=WIDTH)
    excited = base_parameters(scara, TERMS, W=W)
    missing = {"pan.fv", "pan.fc"}
    assert missing <= set(base_parameters(scara, TERMS).names)
    assert missing <= set(excited.without_effect)


@BOTH
@pytest.mark.parametrize(
    ("tilt", "message"),
    [
        (1e-5, "The number of base parameters, 7, is in doubt"),
        (1e-4, "Base parameter b.Iyz is hardly felt"),
    ],
)
def test_nearly_parallel_axes_are_warned_of(tilt, message, method):
    model = two_links("0 1 0", f"{tilt} 1 0")
    with pytest.warns(UserWarning, match=message) as warned:
        base = base_parameters(model, method=method)
    assert base.doubts == tuple(str(warning.message) for warning in warned)


@BOTH
def test_a_right_angle_of_five_digits_is_a_right_angle(method):
    tilt = np.cos(1.5708)
    base = base_parameters(two_links("0 1 0", f"{tilt} 1 0"), method=method)
    assert base.rank == 6
    assert 1e3 < base.gap < 1e6
    xarm7 = jaxdyn.load(example_urdf("xarm7.urdf"))
    base = base_parameters(xarm7, TERMS, method=method)
    assert base.rank == 69
    assert max(np.abs(base.K).max(axis=1)) < 10


def test_a_robot_without_effects_has_no_base_parameters():
    still = jaxdyn.lock(robot(PENDULUM), {"pivot": 0.3})
    base = base_parameters(still)
    assert base.rank == 0
    assert base.without_effect == column_names(still)[:10]
