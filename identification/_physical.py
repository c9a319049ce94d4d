"""The most likely robot among those that can exist.

    minimise  ½ |A x − b|² + γ Σᵢ D(Jᵢ(x) ‖ Jᵢ⁰) − μ Σₖ log xₖ

over the inertial parameters of bodies, with the log-det divergence between their pseudo-
inertias `J` and those of the prior, and over friction and armature, which are positive.
The problem is convex, and Newton's method stays inside.
"""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float, Float64, Int, Int64

import jaxdyn

from ._base import Base
from ._columns import Unknowns
from ._estimate import Estimate
from ._least_squares import residual_std, wls
from ._reduce import Reduction


PRIOR_WEIGHT = 1.5
"""Weight of the divergence, against half the mean square of the residuals."""

_LIGHTER = 4.0
"""Factor by which the prior becomes lighter from stage to stage of the search."""

_BARRIER = 1e-2
"""Weight `μ` that keeps friction and armature positive; it moves them by less than a
tenth of a standard deviation."""

_E = np.stack([np.asarray(jaxdyn.pseudo_inertia(unit)) for unit in np.eye(10)])
"""Pseudo-inertia of each unit parameter."""


def physical(
    reduction: Reduction,
    base: Base,
    unknowns: Unknowns,
    *,
    prior_weight: float = PRIOR_WEIGHT,
    tolerance: float = 1e-9,
    max_steps: int = 2000,
) -> Estimate:
    """Least squares, weighted as in `wls`, over robots that are physically consistent.

    Bodies stay near the prior in the log-det divergence, which depends on no unit and no
    frame, where the record does not say otherwise. Every iterate is consistent.

    The divergence is weighed against the mean over samples, not against their sum: what
    a rigid-body model does not explain of a real robot's torque is systematic, and does
    not average out over more samples. So the prior pulls by more than noise would move
    the estimate. Standard deviations count both, the pull by how far, on average, the
    estimate is from the prior where the record determines it.

    Args:
        reduction: The record.
        base: Base parameters of the unknowns.
        unknowns: What is to be estimated.
        prior_weight: Weight of the divergence, against half the mean square of the
            residuals in standard deviations.
        tolerance: Squared length of the last step, in standard deviations.
        max_steps: Steps after which the search is given up.

    Raises:
        ValueError: If the prior of a body is not physically consistent.
        RuntimeError: If the search does not end.

    References:
        Lee, Wensing & Park, *Geometric robot dynamic identification: a convex
        programming approach*, IEEE Transactions on Robotics 36(2), 2020.
    """
    prior = unknowns.prior
    free = wls(reduction, base, prior)
    problem, places = posed(reduction, base, unknowns, free.sigma, prior_weight)

    x, steps = _minimum(problem, problem.start(prior[places]), tolerance, max_steps)
    found = consistent(reduction, base, unknowns, free, problem, places, x)
    return dataclasses.replace(found, method="physical", iterations=steps)


def _minimum(problem: "ConvexProblem", x, tolerance: float, max_steps: int):
    """The minimum, and Newton's steps to it.

    A prior that weighs as much as the misfit comes first, and becomes lighter stage by
    stage, so that the search does not get stuck where bodies nearly cease to exist.
    """
    _, length = problem.newton(x)
    stages = math.ceil(math.log(max(length / problem.weight, 1), _LIGHTER))
    steps = 0
    for stage in range(stages, -1, -1):
        now = dataclasses.replace(problem, weight=problem.weight * _LIGHTER**stage)
        enough = 0.1 * now.weight if stage else tolerance
        while True:
            step, length = now.newton(x)
            if length < enough:
                break
            if steps == max_steps:
                raise RuntimeError(
                    f"The physical fit has not ended after {max_steps} steps; the last "
                    f"was {math.sqrt(length):.3g} standard deviations long. A larger "
                    "`prior_weight` makes the problem easier."
                )
            x = x + now.damping(x, step, length) * step
            steps += 1
    return x, steps


def posed(
    reduction: Reduction,
    base: Base,
    unknowns: Unknowns,
    sigma: Float64[np.ndarray, " nv"],
    prior_weight: float,
) -> tuple["ConvexProblem", Int64[np.ndarray, " n"]]:
    """The problem in what is unknown and felt, and the places of that in all of it."""
    R, z = reduction.stacked(1 / sigma)
    W = R @ base.K
    norm = np.linalg.norm(W, axis=0)
    felt = norm > 1e-9 * norm.max(initial=0)
    numbers, joint = unknowns.inertial, unknowns.joint[felt[unknowns.joint]]
    signed = np.array([unknowns.names[k].endswith(".offset") for k in joint], bool)
    places = np.concatenate([numbers.ravel(), joint])
    held = unknowns.prior
    held[places] = 0
    bodies = unknowns.bodies if len(numbers) else ()
    problem = ConvexProblem(
        A=W[:, places],
        b=z - W @ held,
        prior=np.array([_prior(unknowns.model, k) for k in bodies]).reshape(-1, 4, 4),
        positive=numbers.size + np.flatnonzero(~signed),
        weight=prior_weight * reduction.rows * len(reduction.R),
    )
    return problem, places


def consistent(
    reduction: Reduction,
    base: Base,
    unknowns: Unknowns,
    free: Estimate,
    problem: "ConvexProblem",
    places: Int64[np.ndarray, " n"],
    x: Float64[np.ndarray, " n"],
) -> Estimate:
    """The estimate that a solution of the convex problem is."""
    parameters = unknowns.prior
    parameters[places] = x
    K = base.K[:, places]
    covariance = K @ problem.covariance(x) @ K.T
    lost = np.isinf(np.diagonal(free.covariance))
    covariance[lost, lost] = np.inf
    return dataclasses.replace(
        free,
        parameters=parameters,
        base=base.K @ parameters,
        covariance=covariance,
        sigma=residual_std(reduction, base, base.K @ parameters),
    )


def _prior(model: jaxdyn.Model, body: int) -> Float64[np.ndarray, "4 4"]:
    """Pseudo-inertia of a body's prior, made a little thicker where it is flat."""
    name = model.body_names[body]
    for fault in jaxdyn.check_consistency(model):
        if fault.body == name:
            raise ValueError(
                f"The inertial parameters of {fault} cannot be the prior of a physical "
                'fit. Correct the robot\'s file, load it with `repair="nearest"`, or '
                "leave this body out of `free`."
            )
    pi = jaxdyn.nearest_consistent(np.asarray(model.inertial, float)[body])
    return np.asarray(jaxdyn.pseudo_inertia(pi))


class ConvexProblem(eqx.Module):
    """The problem in `x`: ten numbers of each body, then those of joints."""

    A: Float[Array | np.ndarray, "m n"]
    b: Float[Array | np.ndarray, "m"]
    prior: Float[Array | np.ndarray, "bodies 4 4"]
    """Pseudo-inertia of each body's prior."""
    positive: Int[Array | np.ndarray, "_"]
    """Where friction and armature are."""
    weight: float | Float[Array, ""]

    def start(self, x: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """The prior, with a little of each friction and armature that it lacks."""
        little = 1 / np.linalg.norm(self.A[:, self.positive], axis=0)
        bodies = [jaxdyn.inertial_from_pseudo_inertia(J) for J in self.prior]
        start = x.copy()
        start[: 10 * len(bodies)] = np.ravel(bodies)
        start[self.positive] = np.maximum(x[self.positive], little)
        return start

    def newton(self, x: Float64[np.ndarray, " n"]):
        """Newton's step, and its squared length in the metric of the Hessian.

        The step solves a least-squares problem, and no normal equations are formed.
        """
        L = np.linalg.cholesky(self.pseudo_inertia(x))
        pull = np.eye(4) - L.swapaxes(1, 2) @ np.linalg.solve(self.prior, L)
        rest = [
            self.b - self.A @ x,
            np.sqrt(self.weight) * pull.ravel(),
            np.full(len(self.positive), np.sqrt(_BARRIER)),
        ]
        rows = self.root(x)
        scale = np.linalg.norm(rows, axis=0)
        step, *_ = scipy.linalg.lstsq(
            rows / scale, np.concatenate(rest), lapack_driver="gelsy"
        )
        step = step / scale
        return step, float(np.sum((rows @ step) ** 2))

    def root(self, x: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, "_ n"]:
        """Rows whose inner products are the Hessian.

        With `J = L Lᵀ` the divergence has the gradient `⟨Mₖ, Lᵀ J₀⁻¹ L − 1⟩` and the
        Hessian `⟨Mₖ, Mₗ⟩`, where `Mₖ = L⁻¹ Eₖ L⁻ᵀ`.
        """
        L = np.linalg.cholesky(self.pseudo_inertia(x))
        M = _congruent(L[:, None], _E).reshape(-1, 10, 16).swapaxes(1, 2)
        bodies = scipy.linalg.block_diag(*M) if len(M) else np.zeros((0, 0))
        bodies = np.pad(bodies, ((0, 0), (0, len(x) - bodies.shape[1])))
        barrier = np.zeros((len(self.positive), len(x)))
        barrier[:, self.positive] = np.diag(1 / x[self.positive])
        strength = np.sqrt(self.weight), np.sqrt(_BARRIER)
        return np.vstack([self.A, strength[0] * bodies, strength[1] * barrier])

    def covariance(self, x: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, "n n"]:
        """Covariance of the minimum, for noise in `b` and a prior that is not the truth.

        Noise has unit variance. The truth is taken to lie about the prior with a variance
        in the metric of the divergence that is found from the minimum: its divergence is
        half that variance for each direction that `A` determines.
        """
        rows = self.root(x)
        scale = np.linalg.norm(rows, axis=0)
        T = np.linalg.inv(np.linalg.qr(rows / scale, mode="r")) / scale[:, None]
        data, prior, _ = np.split(rows @ T, np.cumsum([len(self.A), self.prior.size]))
        told = 10 * len(self.prior) - np.sum(prior**2)
        spread = 2 * self.divergence(x).sum() / max(told, 1.0)
        inner = data.T @ data + self.weight * spread * prior.T @ prior
        return T @ inner @ T.T

    def damping(self, x, step, length: float) -> float:
        """How much of a step to take: inside, and with sufficient decrease."""
        L = np.linalg.cholesky(self.pseudo_inertia(x))
        shrinking = -np.linalg.eigvalsh(_congruent(L, self.pseudo_inertia(step))).ravel()
        falling = -step[self.positive] / x[self.positive]
        fastest = max(shrinking.max(initial=0), falling.max(initial=0))
        t = 1.0 if fastest < 0.95 else 0.95 / fastest
        cost = self.cost(x)
        while self.cost(x + t * step) > cost - 0.1 * t * length and t > 1e-9:
            t /= 2
        return t

    def cost(self, x: Float64[np.ndarray, " n"]) -> float:
        """What is to be least."""
        return float(0.5 * np.sum((self.A @ x - self.b) ** 2) + self.penalty(x))

    def penalty(self, x: Float[Array | np.ndarray, "n"]) -> Float[Array, ""] | float:
        """What keeps `x` inside, and near the prior."""
        xp = jnp if isinstance(x, jax.Array) else np
        barrier = -xp.log(x[self.positive]).sum()
        return self.weight * self.divergence(x).sum() + _BARRIER * barrier

    def divergence(
        self, x: Float[Array | np.ndarray, "n"]
    ) -> Float[Array | np.ndarray, "bodies"]:
        """Log-det divergence of each body from its prior."""
        xp = jnp if isinstance(x, jax.Array) else np
        C = xp.linalg.solve(self.prior, self.pseudo_inertia(x))
        return xp.trace(C, axis1=1, axis2=2) - xp.linalg.slogdet(C)[1] - 4

    def pseudo_inertia(
        self, x: Float[Array | np.ndarray, "n"]
    ) -> Float[Array | np.ndarray, "bodies 4 4"]:
        """Pseudo-inertia of each body."""
        pi = x[: 10 * len(self.prior)].reshape(-1, 10)
        return (pi @ _E.reshape(10, 16)).reshape(-1, 4, 4)


def _congruent(L, S):
    """`L⁻¹ S L⁻ᵀ`, for symmetric S."""
    half = np.linalg.solve(L, S)
    return np.linalg.solve(L, half.swapaxes(-1, -2))
