"""Excitation stays within limits at all times, and its derivatives are exact."""

import dataclasses
import functools

import equinox as eqx
import jax
import numpy as np
import pytest

import jaxdyn
from identification import ACCELERATION, ARM7, fourier_trajectories, UNLIMITED, VELOCITY


SEEDS = range(12)


@pytest.fixture(scope="module")
def arm():
    return jaxdyn.load(ARM7)


def finely(trajectories, name):
    """One quantity of each motion over two periods, far finer than any grid."""
    t = np.linspace(0.0, 2 * float(trajectories.series.period[0]), 20_011)
    with jax.enable_x64(True):
        return np.asarray(_finely(trajectories.series, t, name))


@functools.partial(jax.jit, static_argnames="name")
def _finely(series, t, name):
    of_time = jax.vmap(lambda one, t: getattr(one, name)(t), (None, 0))
    return jax.vmap(of_time, (0, None))(series, t)


@pytest.mark.parametrize("seed", SEEDS)
def test_motions_are_within_limits_between_samples_too(arm, seed):
    motions = fourier_trajectories(
        jax.random.key(seed), 4, arm, harmonics=(3, 5)[seed % 2]
    )
    q = finely(motions, "position")
    assert (q > arm.lower).all()
    assert (q < arm.upper).all()
    assert np.abs(finely(motions, "velocity")).max() < VELOCITY["hinge"]
    assert np.abs(finely(motions, "acceleration")).max() < ACCELERATION["hinge"]


def test_some_limit_of_each_joint_is_reached_up_to_the_margin(arm):
    motions = fourier_trajectories(jax.random.key(0), 3, arm, margin=0.01)
    reach = np.maximum(
        np.ptp(finely(motions, "position"), axis=1) / (arm.upper - arm.lower),
        np.maximum(
            np.abs(finely(motions, "velocity")).max(axis=1) / VELOCITY["hinge"],
            np.abs(finely(motions, "acceleration")).max(axis=1) / ACCELERATION["hinge"],
        ),
    )
    # A range is used up where the series is symmetric; half of it, where one-sided.
    assert (reach > 0.5).all()
    assert np.median(reach) > 0.95


def test_limits_of_each_joint_can_be_given(arm):
    velocity, acceleration = np.linspace(0.1, 3, 7), np.linspace(0.4, 6, 7)
    motions = fourier_trajectories(
        jax.random.key(1), 5, arm, velocity=velocity, acceleration=acceleration
    )
    assert (np.abs(finely(motions, "velocity")) < velocity).all()
    assert (np.abs(finely(motions, "acceleration")) < acceleration).all()


def test_velocity_and_acceleration_are_the_exact_derivatives(arm):
    motions = fourier_trajectories(jax.random.key(2), 1, arm, duration=7.0)
    with jax.enable_x64(True):
        series = jax.tree.map(lambda leaf: leaf[0], motions.series)
        for t in (0.0, 0.3, 2.2, 6.9):
            _, qd = jax.jvp(series.position, (t,), (1.0,))
            _, qdd = jax.jvp(series.velocity, (t,), (1.0,))
            np.testing.assert_allclose(series.velocity(t), qd, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(
                series.acceleration(t), qdd, rtol=1e-12, atol=1e-12
            )


def test_samples_are_the_series_at_their_times(arm):
    motions = fourier_trajectories(jax.random.key(3), 2, arm, duration=4.0, rate=50.0)
    assert motions.q.shape == motions.qd.shape == motions.qdd.shape == (2, 200, 7)
    with jax.enable_x64(True):
        second = jax.tree.map(lambda leaf: leaf[1], motions.series)
        for i in (0, 17, 199):
            np.testing.assert_allclose(
                motions.q[1, i], second.position(motions.t[i]), rtol=1e-12
            )


def test_motions_repeat_and_begin_at_rest(arm):
    motions = fourier_trajectories(jax.random.key(4), 3, arm)
    with jax.enable_x64(True):
        at = lambda t: jax.vmap(lambda s: s.position(t))(motions.series)
        np.testing.assert_allclose(at(1.7), at(11.7), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(motions.qd[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(motions.qdd[:, 0], 0.0, atol=1e-12)


def test_equal_keys_give_equal_motions_and_others_do_not(arm):
    first, again, other = (
        fourier_trajectories(jax.random.key(seed), 2, arm).q for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1
    assert np.abs(first[0] - first[1]).max() > 0.1


def test_always_float64(arm):
    with jax.enable_x64(False):
        narrow = fourier_trajectories(jax.random.key(7), 1, arm)
    assert narrow.q.dtype == narrow.series.sine.dtype == np.float64
    wide = fourier_trajectories(jax.random.key(7), 1, arm)
    np.testing.assert_array_equal(narrow.q, wide.q)


def test_joints_without_limits_move_around_their_reference(arm):
    free = eqx.tree_at(
        lambda m: (m.lower, m.upper, m.ref),
        arm,
        (np.full(7, -np.inf), np.full(7, np.inf), np.linspace(-4, 4, 7)),
    )
    q = finely(fourier_trajectories(jax.random.key(8), 4, free), "position")
    assert (np.abs(q - free.ref) < UNLIMITED["hinge"]).all()


def test_a_joint_with_one_limit_stays_on_its_side(arm):
    one_sided = eqx.tree_at(lambda m: m.upper, arm, np.full(7, np.inf))
    q = finely(fourier_trajectories(jax.random.key(9), 4, one_sided), "position")
    assert (q > one_sided.lower).all()


def test_sliding_joints_have_defaults_of_their_own(arm):
    slides = dataclasses.replace(arm, joint_types=("slide",) * 7)
    motions = fourier_trajectories(jax.random.key(10), 4, slides)
    assert np.abs(motions.qd).max() < VELOCITY["slide"]


def test_a_joint_whose_limits_meet_stands_still(arm):
    fixed = eqx.tree_at(
        lambda m: (m.lower, m.upper), arm, (arm.lower * [0, *[1] * 6],) * 2
    )
    fixed = eqx.tree_at(lambda m: m.upper, fixed, np.r_[0.0, arm.upper[1:]])
    motions = fourier_trajectories(jax.random.key(11), 2, fixed)
    assert not motions.qd[..., 0].any()
    assert np.isfinite(motions.q).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"harmonics": 1}, "at least 2 harmonics"),
        ({"margin": 0.0}, "between 0 and 1"),
        ({"velocity": -1.0}, "velocity limit must be positive"),
        ({"acceleration": 0.0}, "acceleration limit must be positive"),
        ({"rate": 0.5}, "too few samples"),
    ],
)
def test_impossible_wishes_are_refused(arm, options, message):
    with pytest.raises(ValueError, match=message):
        fourier_trajectories(jax.random.key(0), 1, arm, **options)
