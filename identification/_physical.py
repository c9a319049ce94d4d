"""The most likely robot among those that can exist.

    minimise  ½ |A x − b|² + γ Σᵢ D(Jᵢ(x) ‖ Jᵢ⁰) − μ Σₖ log xₖ

over the inertial parameters of bodies, with the log-det divergence between their pseudo-
inertias `J` and those of the prior, and over friction and armature, which are positive.
The problem is convex, and Newton's method stays inside.
"""

import dataclasses
import itertools

import numpy as np
import scipy.linalg
from jaxtyping import Float64, Int64

import jaxdyn

from ._base import Base
from ._columns import Unknowns
from ._estimate import Estimate
from ._least_squares import wls
from ._reduce import Reduction


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
    prior_weight: float = 2.0,
    tolerance: float = 1e-9,
    max_steps: int = 200,
) -> Estimate:
    """Least squares, weighted as in `wls`, over robots that are physically consistent.

    Bodies stay near the prior in the log-det divergence, which depends on no unit and no
    frame, where the record does not say otherwise. Every iterate is consistent.

    The divergence is weighed against the mean over samples, not against their sum: what
    a rigid-body model does not explain of a real robot's torque is systematic, and does
    not average out over more samples.

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
    R, z = reduction.stacked(1 / free.sigma)
    samples = reduction.rows * len(reduction.R)
    problem, places = _problem(R @ base.K, z, unknowns, prior_weight * samples)

    x = problem.start(prior[places])
    for iterations in itertools.count(1):
        step, length = problem.newton(x)
        if length < tolerance:
            break
        if iterations == max_steps:
            raise RuntimeError(
                f"The physical fit has not ended after {max_steps} steps; the last was "
                f"{np.sqrt(length):.3g} standard deviations long. A larger "
                "`prior_weight` makes the problem easier."
            )
        x = x + problem.damping(x, step, length) * step
    parameters = prior.copy()
    parameters[places] = x
    return dataclasses.replace(
        free,
        method="physical",
        parameters=parameters,
        base=base.K @ parameters,
        iterations=iterations,
    )


def _problem(
    W: Float64[np.ndarray, "m p"],
    z: Float64[np.ndarray, " m"],
    unknowns: Unknowns,
    weight: float,
) -> tuple["_Problem", Int64[np.ndarray, " n"]]:
    """The problem in what is unknown and felt, and the places of that in all of it."""
    prior, numbers = unknowns.prior, unknowns.inertial
    norm = np.linalg.norm(W, axis=0)
    felt = norm > 1e-9 * norm.max(initial=0)
    joint = unknowns.joint[felt[unknowns.joint]]
    signed = np.array([unknowns.names[k].endswith(".offset") for k in joint], bool)
    places = np.concatenate([numbers.ravel(), joint])
    held = prior.copy()
    held[places] = 0
    bodies = unknowns.bodies if len(numbers) else ()
    problem = _Problem(
        A=W[:, places],
        b=z - W @ held,
        prior=np.array([_prior(unknowns.model, k) for k in bodies]).reshape(-1, 4, 4),
        positive=numbers.size + np.flatnonzero(~signed),
        weight=weight,
    )
    return problem, places


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


@dataclasses.dataclass(frozen=True, eq=False)
class _Problem:
    """The convex problem in `x`: ten numbers of each body, then those of joints."""

    A: Float64[np.ndarray, "m n"]
    b: Float64[np.ndarray, " m"]
    prior: Float64[np.ndarray, "bodies 4 4"]
    """Pseudo-inertia of each body's prior."""
    positive: Int64[np.ndarray, " _"]
    """Where friction and armature are."""
    weight: float

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

        With `J = L Lᵀ` the divergence has the gradient `⟨Mₖ, 1 − Lᵀ J₀⁻¹ L⟩`, negated,
        and the Hessian `⟨Mₖ, Mₗ⟩`, where `Mₖ = L⁻¹ Eₖ L⁻ᵀ`. So the step solves a least-
        squares problem, and no normal equations are formed.
        """
        L = np.linalg.cholesky(self._J(x))
        M = _congruent(L[:, None], _E).reshape(-1, 10, 16).swapaxes(1, 2)
        pull = np.eye(4) - L.swapaxes(1, 2) @ np.linalg.solve(self.prior, L)
        barrier = np.zeros((len(self.positive), len(x)))
        barrier[:, self.positive] = np.diag(1 / x[self.positive])
        bodies = scipy.linalg.block_diag(*M) if len(M) else np.zeros((0, 0))
        bodies = np.pad(bodies, ((0, 0), (0, len(x) - bodies.shape[1])))

        strength, mu = np.sqrt(self.weight), np.sqrt(_BARRIER)
        rows = np.vstack([self.A, strength * bodies, mu * barrier])
        residual = self.b - self.A @ x
        rhs = [residual, strength * pull.ravel(), np.full(len(barrier), mu)]
        scale = np.linalg.norm(rows, axis=0)
        step, *_ = scipy.linalg.lstsq(
            rows / scale, np.concatenate(rhs), lapack_driver="gelsy"
        )
        step = step / scale
        return step, float(np.sum((rows @ step) ** 2))

    def damping(self, x, step, length: float) -> float:
        """How much of a step to take: inside, and with sufficient decrease."""
        L = np.linalg.cholesky(self._J(x))
        shrinking = -np.linalg.eigvalsh(_congruent(L, self._J(step))).ravel()
        falling = -step[self.positive] / x[self.positive]
        fastest = max(shrinking.max(initial=0), falling.max(initial=0))
        t = 1.0 if fastest < 0.95 else 0.95 / fastest
        cost = self._cost(x)
        while self._cost(x + t * step) > cost - 0.1 * t * length and t > 1e-9:
            t /= 2
        return t

    def _J(self, x) -> Float64[np.ndarray, "bodies 4 4"]:
        pi = x[: 10 * len(self.prior)].reshape(-1, 10)
        return np.tensordot(pi, _E, axes=1)

    def _cost(self, x) -> float:
        L = np.linalg.cholesky(self._J(x))
        C = L.swapaxes(1, 2) @ np.linalg.solve(self.prior, L)
        divergence = np.trace(C, axis1=1, axis2=2) - np.linalg.slogdet(C)[1] - 4
        barrier = -np.log(x[self.positive]).sum()
        misfit = 0.5 * np.sum((self.A @ x - self.b) ** 2)
        return misfit + self.weight * divergence.sum() + _BARRIER * barrier


def _congruent(L, S):
    """`L⁻¹ S L⁻ᵀ`, for symmetric S."""
    half = np.linalg.solve(L, S)
    return np.linalg.solve(L, half.swapaxes(-1, -2))
