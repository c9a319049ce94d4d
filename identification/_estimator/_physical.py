"""The most likely robot that can exist.

    minimise  ½ Σⱼ |Rⱼ K π − zⱼ|² / σⱼ²  +  γ Σᵢ D(Jᵢ(π) ‖ Jᵢ⁰)  −  μ Σₖ log πₖ

over the inertial parameters of bodies, with the log-det divergence between their pseudo-
inertias and those of the prior, and over friction and armature, which are positive. The
problem is convex, and Newton's method stays inside.
"""

import dataclasses

import jaxdyn
import numpy as np
import scipy.linalg
from jaxtyping import Float64

from .._base import Base
from .._columns import Unknowns
from .._reduce import Reduction
from ._estimate import Estimate
from ._least_squares import wls


_BARRIER = 1e-2
"""Weight `μ` that keeps friction and armature positive; it moves them by less than a
tenth of a standard deviation."""

_UNITS = np.stack([jaxdyn.pseudo_inertia(unit) for unit in np.eye(10)])
"""Pseudo-inertia of each unit parameter."""


def physical(
    reduction: Reduction,
    base: Base,
    unknowns: Unknowns,
    *,
    prior_weight: float = 1.0,
    tolerance: float = 1e-9,
    max_steps: int = 200,
) -> Estimate:
    """Least squares, weighted as in `wls`, over robots that are physically consistent.

    Every iterate is consistent. Bodies stay near the prior in the log-det divergence,
    which depends on no unit or frame, where the record does not say otherwise.

    Args:
        reduction: The record.
        base: Base parameters of the unknowns.
        unknowns: What is to be estimated.
        prior_weight: Weight `γ` of the divergence.
        tolerance: Squared length, in standard deviations, of the last step.
        max_steps: Steps after which the search is given up.

    Raises:
        ValueError: If a body's prior is not physically consistent.
        RuntimeError: If the search does not end.

    References:
        Lee, Wensing & Park, *Geometric robot dynamic identification: a convex
        programming approach*, IEEE Transactions on Robotics 36(2), 2020.
    """
    free = wls(reduction, base, unknowns.prior)
    R, z = reduction.stacked(1 / free.sigma)
    problem = _Problem.of(R @ base.K, z, unknowns, prior_weight)
    x = problem.start()
    for steps in range(1, max_steps + 1):
        step, decrement = problem.newton(x)
        if decrement < tolerance:
            break
        x = x + problem.damping(x, step, decrement) * step
    else:
        raise RuntimeError(
            f"The physical fit has not ended after {max_steps} steps; the last was "
            f"{np.sqrt(decrement):.3g} standard deviations long. A larger "
            "`prior_weight` makes the problem easier."
        )
    parameters = problem.parameters.copy()
    parameters[problem.places] = x
    return dataclasses.replace(
        free,
        method="physical",
        parameters=parameters,
        base=base.K @ parameters,
        iterations=steps,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Problem:
    """The convex problem in the unknown parameters `x`."""

    A: Float64[np.ndarray, "m n"]
    b: Float64[np.ndarray, " m"]
    """Least squares: `½ |A x − b|²`."""
    bodies: np.ndarray
    """Where the ten numbers of each body are in `x`."""
    priors: Float64[np.ndarray, "k 4 4"]
    """Pseudo-inertia of each body's prior."""
    positive: np.ndarray
    """Where friction and armature are in `x`."""
    weight: float
    parameters: Float64[np.ndarray, " p"]
    """All parameters at the prior."""
    places: np.ndarray
    """Where `x` is among all parameters."""

    @staticmethod
    def of(W, z, unknowns: Unknowns, weight: float) -> "_Problem":
        prior, places = unknowns.prior, unknowns.places
        norm = np.linalg.norm(W, axis=0)
        felt = norm > 1e-9 * norm.max(initial=0)
        inertial = 10 * len(unknowns.bodies) if "inertia" in unknowns.terms else 0
        bodies = places[:inertial].reshape(-1, 10)
        scalars = places[inertial:][felt[places[inertial:]]]
        free = np.concatenate([places[:inertial], scalars])
        signed = [name.endswith(".offset") for name in unknowns.names]
        held = prior.copy()
        held[free] = 0
        J = np.array([_prior(unknowns.model, k) for k in unknowns.bodies])
        return _Problem(
            A=W[:, free],
            b=z - W @ held,
            bodies=np.arange(bodies.size).reshape(bodies.shape),
            priors=J[: len(bodies)].reshape(-1, 4, 4),
            positive=inertial + np.flatnonzero(~np.array(signed)[scalars]),
            weight=weight,
            parameters=prior,
            places=free,
        )

    def start(self) -> Float64[np.ndarray, " n"]:
        """The prior, with a little of each friction that it lacks."""
        x = self.parameters[self.places]
        little = 1 / np.linalg.norm(self.A[:, self.positive], axis=0)
        x[self.positive] = np.maximum(x[self.positive], little)
        for k, J in zip(self.bodies, self.priors, strict=True):
            x[k] = jaxdyn.inertial_from_pseudo_inertia(J)
        return x

    def cost(self, x) -> float:
        """The objective; infinite outside."""
        cost = 0.5 * np.sum((self.A @ x - self.b) ** 2)
        for k, J0 in zip(self.bodies, self.priors, strict=True):
            try:
                L = np.linalg.cholesky(jaxdyn.pseudo_inertia(x[k]))
            except np.linalg.LinAlgError:
                return np.inf
            C = L.T @ np.linalg.solve(J0, L)
            cost += self.weight * (np.trace(C) - np.linalg.slogdet(C)[1] - 4)
        if (x[self.positive] <= 0).any():
            return np.inf
        return float(cost - _BARRIER * np.log(x[self.positive]).sum())

    def newton(self, x) -> tuple[Float64[np.ndarray, " n"], float]:
        """Newton's step, and its squared length in the Hessian.

        With `J = L Lᵀ` the divergence has the gradient `⟨Mₖ, Lᵀ J₀⁻¹ L − 1⟩` and the
        Hessian `⟨Mₖ, Mₗ⟩`, `Mₖ = L⁻¹ Eₖ L⁻ᵀ`, so that the step is the solution of a
        least-squares problem, and no normal equations are formed.
        """
        rows, rhs = [self.A], [self.b - self.A @ x]
        for k, J0 in zip(self.bodies, self.priors, strict=True):
            L = np.linalg.cholesky(jaxdyn.pseudo_inertia(x[k]))
            M = _congruent(L, _UNITS).reshape(10, 16).T
            B = np.zeros((16, len(x)))
            B[:, k] = np.sqrt(self.weight) * M
            pull = np.eye(4) - L.T @ np.linalg.solve(J0, L)
            rows.append(B)
            rhs.append(np.sqrt(self.weight) * pull.ravel())
        B = np.zeros((len(self.positive), len(x)))
        at = np.arange(len(self.positive)), self.positive
        B[at] = np.sqrt(_BARRIER) / x[self.positive]
        rows.append(B)
        rhs.append(np.full(len(B), np.sqrt(_BARRIER)))
        M = np.vstack(rows)
        scale = np.linalg.norm(M, axis=0)
        step, *_ = scipy.linalg.lstsq(
            M / scale, np.concatenate(rhs), lapack_driver="gelsy", check_finite=False
        )
        step /= scale
        return step, float(np.sum((M @ step) ** 2))

    def damping(self, x, step, decrement) -> float:
        """How much of a step to take: inside, and with sufficient decrease."""
        shrinking = [0.0, *(-step[self.positive] / x[self.positive])]
        for k in self.bodies:
            L = np.linalg.cholesky(jaxdyn.pseudo_inertia(x[k]))
            S = _congruent(L, jaxdyn.pseudo_inertia(step[k]))
            shrinking.append(-np.linalg.eigvalsh(S)[0])
        t = min(1.0, 0.95 / max(max(shrinking), 1e-9))
        before = self.cost(x)
        while self.cost(x + t * step) > before - 0.1 * t * decrement:
            t /= 2
            if t < 1e-12:
                break
        return t


def _congruent(L, S):
    """`L⁻¹ S L⁻ᵀ`."""
    half = np.linalg.solve(L, S)
    return np.linalg.solve(L, half.swapaxes(-1, -2))


def _prior(model: jaxdyn.Model, body: int) -> Float64[np.ndarray, "4 4"]:
    """Pseudo-inertia of a body's prior, made a little thicker where it is flat."""
    name = model.body_names[body]
    faults = [x for x in jaxdyn.check_consistency(model) if x.body == name]
    if faults:
        raise ValueError(
            f"The inertial parameters that the model has for {faults[0]}. They cannot "
            "be the prior of a physical fit. Correct the robot's file, load it with "
            '`repair="nearest"`, or leave this body out of `free`.'
        )
    pi = jaxdyn.nearest_consistent(np.asarray(model.inertial, float)[body])
    return np.asarray(jaxdyn.pseudo_inertia(pi))
