"""Least squares by gradients, with any optimizer of Optax.

Coordinates `u` are such that the loss grows alike in every direction, at least near the
start: a step of length one costs as much as an error of one standard deviation.
"""

import dataclasses
import functools
import warnings
from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

import jaxdyn

from ._base import Base
from ._columns import Unknowns
from ._estimate import Estimate
from ._least_squares import determined, residual_std, wls
from ._physical import consistent, ConvexProblem, posed, PRIOR_WEIGHT
from ._reduce import Reduction, samples
from ._signals import Motion


LBFGS = optax.lbfgs()


def optax_fit(
    reduction: Reduction,
    base: Base,
    unknowns: Unknowns,
    motions: Sequence[Motion],
    *,
    cutoff: float | None,
    optimizer: optax.GradientTransformation = LBFGS,
    coordinates: Literal["linear", "log_cholesky"] = "linear",
    batch: int | None = None,
    passes: int = 1000,
    tolerance: float = 1e-8,
    prior_weight: float = PRIOR_WEIGHT,
    seed: int = 0,
) -> Estimate:
    """Least squares, weighted as in `wls`, by gradient descent on the samples.

    Where there is a closed form, it is sooner there; this is the place to start from for
    a loss or a friction of one's own.

    Args:
        reduction: The record, for weights and the scale of coordinates.
        base: Base parameters of the unknowns.
        unknowns: What is to be estimated.
        motions: The record, for its samples.
        cutoff: Of the low-pass filter, as in `reduce`. [Hz]
        optimizer: An optimizer of Optax; `optax.lbfgs()` by default.
        coordinates: `"linear"`, in which the minimum is that of `wls`; or
            `"log_cholesky"`, in which every body is physically consistent and all
            friction positive, and the minimum is that of `physical`.
        batch: Samples that each step looks at; all by default, which L-BFGS needs.
        passes: How often every sample is looked at, at most.
        tolerance: Norm of the gradient at which to end, in standard deviations.
        prior_weight: As in `physical`, for log-Cholesky coordinates.
        seed: Of the order of samples.

    Warns:
        UserWarning: If the gradient is still longer than a hundredth of a standard
            deviation after the last pass.

    References:
        Johnson & Zhang, *Accelerating stochastic gradient descent using predictive
        variance reduction*, NeurIPS 2013.

        Rucker & Wensing, *Smooth parameterization of rigid-body inertia*, IEEE RA-L
        7(2), 2022.
    """
    free = wls(reduction, base, unknowns.prior)
    W, y = samples(unknowns, base, motions, cutoff=cutoff)
    # Optax's L-BFGS adds integers of different widths.
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        match coordinates:
            case "linear":
                chart = _linear(reduction, base, unknowns, free)
            case "log_cholesky":
                chart = _log_cholesky(reduction, base, unknowns, free, prior_weight)
            case _:
                raise ValueError(
                    f"There are no coordinates {coordinates!r}. Choose 'linear' or "
                    "'log_cholesky'."
                )
        problem = _Problem(W / free.sigma[:, None], y / free.sigma, base.K, chart)
        key, size = jax.random.key(seed), min(batch or len(y), len(y))
        u, left, count = _descend(problem, key, passes, tolerance, optimizer, size)
        left = float(left)
        if isinstance(chart, _LogCholesky):
            x = np.asarray(chart.unknowns(u))
            given = chart.convex, np.asarray(chart.places), x
            found = consistent(reduction, base, unknowns, free, *given)
        else:
            parameters = np.asarray(chart.parameters(u))
            x = base.K @ parameters
            sigma = residual_std(reduction, base, x)
            found = dataclasses.replace(free, parameters=parameters, base=x, sigma=sigma)
    if not left < 1e-2:
        warnings.warn(
            f"After {passes} passes over the samples, the gradient is still {left:.2g} "
            "standard deviations long. Allow more `passes`, or choose another "
            "`optimizer`.",
            stacklevel=2,
        )
    return dataclasses.replace(found, method="optax", iterations=int(count))


@functools.partial(jax.jit, static_argnames=("optimizer", "size"))
def _descend(problem: "_Problem", key, passes, tolerance, optimizer, size: int):
    """Coordinates at the minimum, the norm of the gradient there, and passes taken.

    The slope of each batch's loss is corrected by what it differed from that of all
    samples before the pass, so that steps vanish with the gradient.
    """
    count = len(problem.y)
    optimizer = optax.with_extra_args_support(optimizer)
    slope = jax.grad(problem.loss)

    def one_pass(carry):
        start, state, gradient, passed = carry

        def step(carry, rows):
            u, state = carry
            correction = gradient - slope(start, rows)
            loss = lambda u: problem.loss(u, rows) + correction @ u
            value, grad = jax.value_and_grad(loss)(u)
            updates, state = optimizer.update(
                grad, state, u, value=value, grad=grad, value_fn=loss
            )
            return (optax.apply_updates(u, updates), state), None

        order = jax.random.permutation(jax.random.fold_in(key, passed), count)
        batches = order[: count // size * size].reshape(-1, size)
        (u, state), _ = jax.lax.scan(step, (start, state), batches)
        return u, state, slope(u, jnp.arange(count)), passed + 1

    def going(carry):
        _, _, gradient, passed = carry
        return (jnp.linalg.norm(gradient) > tolerance) & (passed < passes)

    u = jnp.zeros(problem.chart.size)
    start = u, optimizer.init(u), slope(u, jnp.arange(count)), jnp.zeros((), int)
    u, _, gradient, passed = jax.lax.while_loop(going, one_pass, start)
    return u, jnp.linalg.norm(gradient), passed


class _Linear(eqx.Module):
    """Parameters as a linear function of coordinates."""

    prior: Float[Array | np.ndarray, "p"]
    directions: Float[Array | np.ndarray, "p k"]

    @property
    def size(self) -> int:
        return self.directions.shape[1]

    def parameters(self, u: Float[Array, "k"]) -> Float[Array, "p"]:
        return jnp.asarray(self.prior) + self.directions @ u

    def penalty(self, u: Float[Array, "k"]) -> Float[Array, ""]:
        return jnp.zeros_like(u, shape=())


class _LogCholesky(eqx.Module):
    """Log-Cholesky coordinates of bodies and logarithms of frictions, to scale."""

    prior: Float[Array | np.ndarray, "p"]
    places: Int[Array | np.ndarray, "n"]
    """Where what is searched for is among all parameters."""
    convex: ConvexProblem
    """The same search in the parameters themselves."""
    origin: Float[Array | np.ndarray, "n"]
    scale: Float[Array | np.ndarray, "n n"]

    @property
    def size(self) -> int:
        return len(self.origin)

    def unknowns(self, u: Float[Array, "n"]) -> Float[Array, "n"]:
        theta = self.origin + self.scale @ u
        bodies, joints = jnp.split(theta, [10 * len(self.convex.prior)])
        pi = jax.vmap(jaxdyn.inertial_from_log_cholesky)(bodies.reshape(-1, 10))
        x = jnp.concatenate([pi.ravel(), joints])
        return x.at[self.convex.positive].set(jnp.exp(theta[self.convex.positive]))

    def parameters(self, u: Float[Array, "n"]) -> Float[Array, "p"]:
        return jnp.asarray(self.prior).at[self.places].set(self.unknowns(u))

    def penalty(self, u: Float[Array, "n"]) -> Float[Array, ""]:
        return jnp.asarray(self.convex.penalty(self.unknowns(u)))


class _Problem(eqx.Module):
    W: Float[Array | np.ndarray, "N nv r"]
    """Base parameters' columns, over each joint's standard deviation."""
    y: Float[Array | np.ndarray, "N nv"]
    """Torque, over each joint's standard deviation."""
    K: Float[Array | np.ndarray, "r p"]
    chart: _Linear | _LogCholesky

    def loss(self, u: Float[Array, "k"], rows: Int[Array, "n"]) -> Float[Array, ""]:
        """Half the squared error of some samples, scaled up to all, and the penalty."""
        W, y = jnp.asarray(self.W)[rows], jnp.asarray(self.y)[rows]
        error = W @ (self.K @ self.chart.parameters(u)) - y
        share = len(rows) / len(self.y)
        return 0.5 * jnp.sum(error**2) / share + self.chart.penalty(u)


def _linear(
    reduction: Reduction, base: Base, unknowns: Unknowns, free: Estimate
) -> _Linear:
    R, _ = reduction.stacked(1 / free.sigma)
    V, _ = determined(R)
    return _Linear(unknowns.prior, np.linalg.pinv(base.K) @ V)


def _log_cholesky(
    reduction: Reduction,
    base: Base,
    unknowns: Unknowns,
    free: Estimate,
    prior_weight: float,
) -> _LogCholesky:
    """The chart around the prior, but with the frictions of `free`, where positive."""
    convex, places = posed(reduction, base, unknowns, free.sigma, prior_weight)
    guess = unknowns.prior
    guess[unknowns.joint] = free.parameters[unknowns.joint]
    x = convex.start(guess[places])
    bodies, theta = 10 * len(convex.prior), x.copy()
    theta[:bodies] = jax.vmap(jaxdyn.log_cholesky)(x[:bodies].reshape(-1, 10)).ravel()
    theta[convex.positive] = np.log(x[convex.positive])
    chart = _LogCholesky(unknowns.prior, places, convex, theta, np.eye(len(x)))
    slope = jax.jacobian(chart.unknowns)(jnp.zeros(len(x)))
    R = np.linalg.qr(convex.root(x) @ slope, mode="r")
    return dataclasses.replace(chart, scale=np.linalg.inv(R))
