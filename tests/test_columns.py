"""Torque is linear in the parameters that the columns are named after."""

import itertools

import equinox as eqx
import jax
import numpy as np
import pytest

import jaxdyn
from identification import (
    ARM7,
    column_names,
    columns,
    free_bodies,
    joint_torque,
    TERMS,
    Unknowns,
    WIDTH,
)
from tests.recordings import altered, robot, SCARA
from tests.robots import states


@pytest.fixture(scope="module")
def scara():
    return altered(robot(SCARA), 0, armature=np.array([0.1, 0.2, 0.3]))


def all_bodies(model, terms, **options):
    return Unknowns(model, terms, tuple(range(model.nb)), **options)


@pytest.mark.parametrize("source", [SCARA, ARM7])
def test_columns_times_parameters_are_the_torque(source):
    model = robot(source) if source is SCARA else jaxdyn.load(source)
    parameters = all_bodies(model, TERMS).prior
    for q, qd, qdd in states(model, 3):
        Y = np.asarray(columns(model, q, qd, qdd))
        assert Y.shape == (model.nv, len(column_names(model)))
        tau = joint_torque(model, q, qd, qdd)
        np.testing.assert_allclose(Y @ parameters, tau, rtol=1e-12, atol=1e-12)


def test_friction_is_what_torque_has_beyond_inverse_dynamics(scara):
    q, qd, qdd = states(scara, 1)[0]
    friction = joint_torque(scara, q, qd, qdd) - jaxdyn.inverse_dynamics(
        scara, q, qd, qdd
    )
    expected = scara.damping * qd + scara.frictionloss * np.tanh(qd / WIDTH)
    np.testing.assert_allclose(friction, expected, rtol=1e-12, atol=1e-13)


def test_each_column_has_the_name_of_its_parameter(scara):
    names = column_names(scara)
    assert len(names) == 10 * scara.nb + 4 * scara.nv == len(set(names))
    assert names[20:30] == tuple(f"lower.{n}" for n in jaxdyn.INERTIAL_NAMES)
    assert names[-12:-9] == ("pan.Ia", "tilt.Ia", "reach.Ia")
    prior = dict(zip(names, all_bodies(scara, TERMS).prior, strict=True))
    assert prior["tool.m"] == 0.3
    assert prior["tilt.Ia"] == 0.2
    assert prior["reach.fv"] == scara.damping[2]
    assert prior["pan.fc"] == scara.frictionloss[0]


def test_a_body_that_a_joint_does_not_carry_has_no_effect_on_it(scara):
    q, qd, qdd = states(scara, 1)[0]
    Y = np.asarray(columns(scara, q, qd, qdd, ["inertia"])).reshape(3, 5, 10)
    felt = np.abs(Y).max(axis=2) > 0
    np.testing.assert_array_equal(
        felt, [[0, 1, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]]
    )


def test_the_order_of_terms_does_not_matter(scara):
    q, qd, qdd = states(scara, 1)[0]
    terms = ("offset", "fc", "Ia")
    for order in itertools.permutations(terms):
        assert column_names(scara, order) == column_names(scara, terms)
        np.testing.assert_array_equal(
            columns(scara, q, qd, qdd, order), columns(scara, q, qd, qdd, terms)
        )


def test_no_friction_at_rest_and_a_finite_slope_there(scara):
    def torque(qd):
        return joint_torque(scara, np.zeros(3), qd, np.zeros(3))

    still = torque(np.zeros(3))
    gravity = jaxdyn.gravity_force(scara, np.zeros(3))
    np.testing.assert_allclose(still, gravity, atol=1e-12)
    slope = jax.jacfwd(torque)(np.zeros(3))
    assert np.isfinite(slope).all()

    def of_friction(fc, qd):
        model = eqx.tree_at(lambda m: m.frictionloss, scara, fc)
        return joint_torque(model, np.zeros(3), qd, np.zeros(3))

    for qd in (np.zeros(3), np.full(3, 0.1)):
        slope = np.asarray(jax.jacfwd(of_friction)(scara.frictionloss, qd))
        np.testing.assert_allclose(slope, np.diag(np.tanh(qd / WIDTH)), atol=1e-12)


@pytest.mark.parametrize("terms", [[], ["inertia", "stiction"]])
def test_unknown_terms_are_refused(scara, terms, unchecked):
    with pytest.raises(ValueError, match="inertia, Ia, fv, fc, offset, but"):
        column_names(scara, terms)


@pytest.mark.parametrize("armature", [True, False])
@pytest.mark.parametrize(
    ("terms", "free"),
    [
        (("inertia", "fv"), None),
        (("inertia", "Ia", "offset"), ("tool",)),
        (("fv", "fc"), None),
    ],
)
def test_what_is_known_and_what_is_not_add_up(scara, terms, free, armature):
    unknowns = Unknowns(scara, terms, free_bodies(scara, free), armature=armature)
    places = np.concatenate([unknowns.inertial.ravel(), unknowns.joint])
    guess = unknowns.prior
    guess[places] += np.random.default_rng(0).normal(size=len(places))
    offsets = unknowns.split(guess).get("offset", 0)
    for q, qd, qdd in states(scara, 2):
        Y = np.asarray(columns(scara, q, qd, qdd, terms))
        known = joint_torque(unknowns.known, q, qd, qdd)
        total = joint_torque(unknowns.applied(guess), q, qd, qdd) + offsets
        np.testing.assert_allclose(
            known + Y[:, places] @ guess[places], total, rtol=1e-11, atol=1e-11
        )


def test_armature_that_does_not_count_is_gone_unless_it_is_estimated(scara):
    kept = all_bodies(scara, ("inertia",))
    left_out = all_bodies(scara, ("inertia",), armature=False)
    estimated = all_bodies(scara, ("inertia", "Ia"), armature=False)
    np.testing.assert_array_equal(kept.applied(kept.prior).armature, scara.armature)
    assert not left_out.applied(left_out.prior).armature.any()
    found = estimated.applied(estimated.prior)
    np.testing.assert_array_equal(found.armature, scara.armature)


def test_one_body_of_each_rigid_set_is_free(scara):
    assert [scara.body_names[b] for b in free_bodies(scara)] == ["upper", "lower", "rail"]
    hollow = np.array(scara.inertial)
    hollow[scara.body("rail")] = 0
    hollow = eqx.tree_at(lambda m: m.inertial, scara, hollow)
    assert hollow.body_names[free_bodies(hollow)[-1]] == "tool"
    assert free_bodies(scara, ["tool", "upper", "tool"]) == (1, 4)
    with pytest.raises(KeyError, match="Did you mean 'tool'"):
        free_bodies(scara, ["tol"])
