"""Estimators: closed forms, the physical fit, gradients, and what error bars promise."""

import dataclasses

import equinox as eqx
import numpy as np
import optax
import pytest

import jaxdyn
from identification import (
    _reduce,
    base_parameters,
    columns,
    free_bodies,
    joint_torque,
    LowPass,
    Motion,
    motion,
    ols,
    optax_fit,
    physical,
    reduce,
    Unknowns,
    WIDTH,
    wls,
)
from identification._batches import along
from identification._physical import posed
from identification._reduce import samples
from tests.recordings import altered, record, robot, SCARA


TERMS = ("inertia", "fv", "fc", "offset")
NOISE = np.array([0.2, 0.05, 0.5])
OFFSET = np.array([0.3, -0.2, 0.0])


@dataclasses.dataclass
class Problem:
    """A robot, another that moved, and what its logs became."""

    unknowns: Unknowns
    base: object
    truth: np.ndarray
    motions: list[Motion]
    cutoff: float | None = 5.0

    @property
    def reduction(self):
        return reduce(self.unknowns, self.base, self.motions, cutoff=self.cutoff)

    @property
    def given(self):
        return self.reduction, self.base, self.unknowns.prior

    @property
    def base_truth(self):
        return self.base.K @ self.truth

    def z(self, estimate):
        """Errors in standard deviations."""
        return (estimate.base - self.base_truth) / estimate.std


def problem(
    *, terms=TERMS, free=None, count=2, seed=0, noise=NOISE, **options
) -> Problem:
    model = robot(SCARA)
    robot_that_moved = altered(model, 1)
    unknowns = Unknowns(model, terms, free_bodies(model, free))
    truth = dataclasses.replace(unknowns, model=robot_that_moved).prior
    if "offset" in terms:
        truth[-3:] = OFFSET
    base = base_parameters(model, terms, bodies=unknowns.bodies)
    logs = record(robot_that_moved, count, seed, noise=noise, offset=OFFSET, **options)
    return Problem(unknowns, base, truth, [motion(log, cutoff=5.0) for log in logs])


@pytest.fixture(scope="module")
def noisy():
    return problem()


@pytest.fixture(scope="module")
def exact():
    return problem(noise=0.0)


def random_motion(count: int) -> Motion:
    q, qd, qdd, tau = np.random.default_rng(0).normal(size=(4, count, 3))
    return Motion(np.arange(count) / 1e3, q, qd, qdd, tau, 1e3)


@pytest.mark.parametrize("cutoff", [None, 20.0])
def test_triangles_say_what_the_rows_say(noisy, cutoff):
    motions = [random_motion(6000), random_motion(2500)]
    given = noisy.unknowns, noisy.base, motions
    lines = []
    reduction = reduce(*given, cutoff=cutoff, progress=lines.append)
    W, y = samples(*given, cutoff=cutoff)
    x = np.random.default_rng(1).normal(size=noisy.base.rank)
    for j, (R, z) in enumerate(zip(reduction.R, reduction.z, strict=True)):
        np.testing.assert_allclose(R.T @ R, W[:, j].T @ W[:, j], rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(R.T @ z, W[:, j].T @ y[:, j], rtol=1e-9, atol=1e-7)
    misfit = np.linalg.norm(W @ x - y, axis=0)
    np.testing.assert_allclose(reduction.misfit(x), misfit, rtol=1e-10)
    assert len(lines) == 2
    if cutoff is None:
        assert reduction.rows == 8500
        tau = np.concatenate([m.tau for m in motions])
        state = [
            np.concatenate([getattr(m, s) for m in motions]) for s in ("q", "qd", "qdd")
        ]
        known = along(joint_torque, noisy.unknowns.known, *state, width=WIDTH)
        np.testing.assert_allclose(y, tau - known, atol=1e-10)
        Y = along(columns, noisy.unknowns.model, *state, terms=TERMS, width=WIDTH)
        np.testing.assert_allclose(W, Y[:, :, noisy.base.independent], atol=1e-8)


def test_blocks_leave_no_seams(noisy, monkeypatch):
    given = noisy.unknowns, noisy.base, [random_motion(9000)]
    lowpass = LowPass(20.0, 1e3)
    in_blocks = reduce(*given, cutoff=20.0)
    monkeypatch.setattr(_reduce, "_BLOCK", 10**6)
    at_once = reduce(*given, cutoff=20.0)
    for one, other in zip(in_blocks.R, at_once.R, strict=True):
        np.testing.assert_allclose(one.T @ one, other.T @ other, rtol=1e-9, atol=1e-9)
    inner = 9000 - 2 * lowpass.trim
    assert in_blocks.rows == pytest.approx(inner * np.sum(lowpass.kernel**2), rel=1e-2)


def test_torque_and_columns_are_filtered_alike(exact):
    """So that noise-free data give the exact parameters, and no bias of the filter."""
    W, _ = samples(exact.unknowns, exact.base, exact.motions, cutoff=5.0)
    tau = W @ exact.base_truth
    for estimator in (ols, wls):
        estimate = estimator(*exact.given)
        error = np.linalg.norm(W @ estimate.base - tau) / np.linalg.norm(tau)
        assert error < 5e-4  # gains are one within a percent, and mostly far closer
        np.testing.assert_allclose(
            exact.base.K @ estimate.parameters, estimate.base, rtol=1e-9, atol=1e-9
        )


def test_ordinary_least_squares(noisy):
    W, y = samples(noisy.unknowns, noisy.base, noisy.motions, cutoff=5.0)
    rows = W.reshape(-1, noisy.base.rank)
    x, (squares,), *_ = np.linalg.lstsq(rows, y.ravel())
    estimate = ols(*noisy.given)
    np.testing.assert_allclose(estimate.base, x, rtol=1e-8, atol=1e-10)
    freedom = noisy.reduction.rows * 3 - noisy.base.rank
    np.testing.assert_allclose(estimate.sigma**2, squares / freedom, rtol=1e-9)
    covariance = squares / freedom * np.linalg.inv(rows.T @ rows)
    np.testing.assert_allclose(estimate.std, np.sqrt(np.diag(covariance)), rtol=1e-7)
    np.testing.assert_allclose(
        estimate.relative_std, 100 * estimate.std / np.abs(estimate.base)
    )


def test_weighted_least_squares_finds_each_joints_noise(noisy):
    estimate = wls(*noisy.given)
    in_band = NOISE * np.sqrt(5.0 / 100)  # of the noise up to half the sampling rate
    np.testing.assert_allclose(estimate.sigma, in_band, rtol=0.25)
    W, y = samples(noisy.unknowns, noisy.base, noisy.motions, cutoff=5.0)
    rows = (W / estimate.sigma[:, None]).reshape(-1, noisy.base.rank)
    x = np.linalg.lstsq(rows, (y / estimate.sigma).ravel())[0]
    np.testing.assert_allclose(
        estimate.base, x, rtol=1e-3, atol=1e-3 * estimate.std.min()
    )


@pytest.fixture(scope="module")
def repeated():
    """The same with other motions and noise, many times."""
    return [problem(seed=seed) for seed in range(40)]


@pytest.mark.parametrize("estimator", [ols, wls])
def test_error_bars_tell_the_truth(repeated, estimator):
    """With noise alike in all joints for OLS, which takes it for that."""
    z = np.concatenate([p.z(wls(*p.given)) for p in repeated])
    assert 0.93 < np.mean(np.abs(z) < 1.96) < 0.975
    assert 0.9 < np.sqrt(np.mean(z**2)) < 1.15


def test_weights_pay(repeated):
    error = {
        fit: np.sqrt(
            np.mean([(fit(*p.given).base - p.base_truth) ** 2 for p in repeated])
        )
        for fit in (ols, wls)
    }
    assert error[wls] < 0.9 * error[ols]


def test_what_a_log_says_nothing_of_stays_at_the_prior(noisy):
    still = [
        dataclasses.replace(m, qd=m.qd * [0, 1, 1], qdd=m.qdd * [0, 1, 1])
        for m in noisy.motions
    ]
    silent = dataclasses.replace(noisy, motions=still)
    for estimate in (
        ols(*silent.given),
        wls(*silent.given),
        physical(silent.reduction, silent.base, silent.unknowns),
    ):
        assert {"pan.fv", "pan.fc"} <= set(estimate.undetermined)
        values = dict(zip(silent.unknowns.names, estimate.parameters, strict=True))
        assert values["pan.fv"] == pytest.approx(0.6, rel=1e-9)
        assert values["pan.fc"] == pytest.approx(0.8, rel=1e-9)
        lost = np.isin(silent.base.names, estimate.undetermined)
        assert np.isinf(estimate.std[lost]).all()
        assert np.isfinite(estimate.std[~lost]).all()
        assert np.isfinite(estimate.base).all()
        others = silent.z(estimate)[[n.startswith("tilt.") for n in silent.base.names]]
        assert np.abs(others).max() < 4


def test_a_log_that_is_too_short_is_refused(noisy):
    short = dataclasses.replace(noisy, motions=[random_motion(6)], cutoff=None)
    with pytest.raises(ValueError, match="6 decimated samples of 3 joints cannot"):
        wls(*short.given)


def consistent(model) -> bool:
    return jaxdyn.check_consistency(model) == ()


def test_the_physical_fit_is_feasible_at_every_step(noisy):
    sigma = wls(*noisy.given).sigma
    convex, places = posed(noisy.reduction, noisy.base, noisy.unknowns, sigma, 1e-4)
    x = convex.start(noisy.unknowns.prior[places])
    costs = [convex.cost(x)]
    for _ in range(30):
        assert np.linalg.eigvalsh(convex.pseudo_inertia(x)).min() > 0
        assert x[convex.positive].min() > 0
        step, length = convex.newton(x)
        x = x + convex.damping(x, step, length) * step
        costs.append(convex.cost(x))
    assert length < 1e-12
    assert (np.diff(costs) <= 1e-9 * np.abs(costs[:-1])).all()


def test_the_physical_fit_ends_where_its_gradient_vanishes(noisy):
    sigma = wls(*noisy.given).sigma
    convex, places = posed(noisy.reduction, noisy.base, noisy.unknowns, sigma, 0.5)
    found = physical(noisy.reduction, noisy.base, noisy.unknowns, prior_weight=0.5)
    x = found.parameters[places]
    cost = convex.cost(x)
    rng = np.random.default_rng(0)
    std = np.sqrt(np.diag(np.linalg.inv(convex.root(x).T @ convex.root(x))))
    for direction in rng.normal(size=(50, len(x))):
        step = 1e-2 * std * direction
        assert convex.cost(x + step) > cost


def test_error_bars_of_the_physical_fit_count_the_pull_of_the_prior(repeated):
    fits = [physical(p.reduction, p.base, p.unknowns) for p in repeated[:20]]
    z = np.concatenate([p.z(fit) for p, fit in zip(repeated, fits, strict=False)])
    assert 0.9 < np.mean(np.abs(z) < 1.96) < 1.0
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.2
    for p, fit in zip(repeated, fits, strict=False):
        assert consistent(p.unknowns.applied(fit.parameters))
        assert (fit.parameters[p.unknowns.joint][:6] > 0).all()


def test_a_strong_prior_wins_and_a_weak_one_loses(exact):
    given = exact.reduction, exact.base, exact.unknowns
    strong = physical(*given, prior_weight=1e12)
    bodies = exact.unknowns.inertial
    np.testing.assert_allclose(
        strong.parameters[bodies], exact.unknowns.prior[bodies], rtol=1e-4, atol=1e-6
    )
    weak = physical(*given, prior_weight=1e-3)
    np.testing.assert_allclose(weak.base, exact.base_truth, rtol=1e-2, atol=1e-3)
    assert consistent(exact.unknowns.applied(weak.parameters))


@pytest.mark.parametrize("seed", range(3))
def test_hardly_any_motion_and_much_noise_still_give_a_robot(seed):
    poor = problem(
        noise=30 * NOISE,
        count=1,
        seed=seed,
        duration=5.0,
        velocity=0.02,
        acceleration=0.1,
    )
    wild = poor.unknowns.applied(wls(*poor.given).parameters)
    assert not consistent(wild)
    estimate = physical(poor.reduction, poor.base, poor.unknowns)
    assert np.isfinite(estimate.parameters).all()
    found = poor.unknowns.applied(estimate.parameters)
    assert consistent(found)
    poses = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    M = along(jaxdyn.mass_matrix, found, poses)
    assert np.linalg.eigvalsh(M).min() > 0


def test_a_prior_that_no_body_has_is_refused_by_name(noisy):
    inertial = np.array(robot(SCARA).inertial)
    inertial[2, 6] = -0.1
    model = eqx.tree_at(lambda m: m.inertial, robot(SCARA), inertial)
    wrong = dataclasses.replace(noisy.unknowns, model=model)
    with pytest.raises(ValueError, match=r"lower: .*negative") as error:
        physical(noisy.reduction, noisy.base, wrong)
    assert 'repair="nearest"' in str(error.value)
    others = dataclasses.replace(wrong, bodies=(1, 3))
    base = base_parameters(model, TERMS, bodies=others.bodies)
    physical(reduce(others, base, noisy.motions, cutoff=5.0), base, others)


def test_welded_bodies_are_held_unless_they_are_set_free(noisy):
    tool, rail = (robot(SCARA).body(name) for name in ("tool", "rail"))

    def change(p):
        found = physical(p.reduction, p.base, p.unknowns).parameters
        return np.abs(p.unknowns.split(found)["inertia"] - robot(SCARA).inertial).max(1)

    by_default = change(noisy)
    assert by_default[tool] == by_default[0] == 0
    assert by_default[rail] > 0
    freed = change(problem(free=["tool"]))
    assert freed[tool] > 0
    assert freed[[0, 1, 2, 3]].max() == 0


def test_friction_alone(noisy):
    alone = problem(terms=("fv", "fc"))
    alone.motions = [
        dataclasses.replace(m, tau=_with_inertia_of_prior(m)) for m in alone.motions
    ]
    for estimate in (
        wls(*alone.given),
        physical(alone.reduction, alone.base, alone.unknowns),
        fitted(alone, coordinates="log_cholesky"),
    ):
        np.testing.assert_allclose(estimate.base, alone.truth, rtol=2e-2)
        assert estimate.undetermined == ()


def _with_inertia_of_prior(m: Motion) -> np.ndarray:
    truth = altered(robot(SCARA), 1, inertial=robot(SCARA).inertial)
    return along(joint_torque, truth, m.q, m.qd, m.qdd, width=WIDTH)


def fitted(p: Problem, **options):
    return optax_fit(
        p.reduction, p.base, p.unknowns, p.motions, cutoff=p.cutoff, **options
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"optimizer": optax.sgd(0.5)},
        {"optimizer": optax.sgd(0.2), "batch": 64},
        {"optimizer": optax.adam(optax.exponential_decay(30.0, 100, 0.5))},
    ],
    ids=["lbfgs", "descent", "batches", "adam"],
)
def test_gradients_reach_the_closed_form(noisy, options):
    estimate = fitted(noisy, passes=3000, **options)
    expected = wls(*noisy.given)
    np.testing.assert_allclose(estimate.base, expected.base, rtol=1e-6)
    assert estimate.method == "optax"
    again = fitted(noisy, passes=3000, **options)
    np.testing.assert_array_equal(estimate.parameters, again.parameters)


def test_log_cholesky_coordinates_reach_the_physical_fit(noisy):
    estimate = fitted(noisy, coordinates="log_cholesky", passes=3000)
    expected = physical(noisy.reduction, noisy.base, noisy.unknowns)
    assert np.abs((estimate.base - expected.base) / expected.std).max() < 1e-3
    assert consistent(noisy.unknowns.applied(estimate.parameters))
    np.testing.assert_allclose(estimate.std, expected.std, rtol=1e-3)


def test_a_fit_that_has_not_ended_says_so(noisy):
    with pytest.warns(UserWarning, match="After 3 passes over the samples"):
        fitted(noisy, optimizer=optax.sgd(1e-3), passes=3)
    with pytest.raises(RuntimeError, match="has not ended after 2 steps"):
        physical(noisy.reduction, noisy.base, noisy.unknowns, max_steps=2)


def test_unknown_coordinates_are_refused(noisy, unchecked):
    with pytest.raises(ValueError, match="'linear' or 'log_cholesky'"):
        fitted(noisy, coordinates="cartesian")
