"""Ordinary and weighted least squares in base parameters."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64

from ._base import Base
from ._estimate import Estimate
from ._reduce import Reduction


def ols(reduction: Reduction, base: Base, prior: Float64[np.ndarray, " p"]) -> Estimate:
    """Ordinary least squares: all joints' torques count alike.

    Args:
        reduction: The record.
        base: Base parameters.
        prior: All parameters as the robot's file has them; what the record does not
            determine stays as near to them as it can.
    """
    fit = _fit(reduction, base, prior, np.ones(len(reduction.R)))
    freedom = _freedom(reduction, base) * len(reduction.R)
    sigma = np.linalg.norm(reduction.misfit(fit.x)) / np.sqrt(freedom)
    return _estimate("ols", reduction, base, prior, fit, sigma, 1)


def wls(
    reduction: Reduction,
    base: Base,
    prior: Float64[np.ndarray, " p"],
    *,
    iterations: int = 5,
) -> Estimate:
    """Weighted least squares: each joint's torque counts by how well it is explained.

    Args:
        reduction: The record.
        base: Base parameters.
        prior: All parameters as the robot's file has them; what the record does not
            determine stays as near to them as it can.
        iterations: How often the weights are found anew, from the last residuals.

    References:
        Gautier, *Dynamic identification of robots with power model*, IEEE ICRA 1997.
    """
    sigma = np.ones(len(reduction.R))
    for _ in range(iterations):
        fit = _fit(reduction, base, prior, 1 / sigma)
        sigma = _sigma(reduction, base, fit.x)
    fit = _fit(reduction, base, prior, 1 / sigma)
    return _estimate("wls", reduction, base, prior, fit, sigma, iterations + 1)


class _Fit(NamedTuple):
    x: Float64[np.ndarray, " r"]
    inverse: Float64[np.ndarray, "r r"]
    """Inverse of the normal equations' matrix."""
    determined: Bool[np.ndarray, " r"]


def _fit(reduction: Reduction, base: Base, prior, weights) -> _Fit:
    """Least squares; what the record does not determine stays at the prior."""
    R, z = reduction.stacked(weights)
    start = base.K @ prior
    norm = np.linalg.norm(R, axis=0)
    felt = norm > 1e-9 * norm.max(initial=0)
    scale = np.where(felt, norm, 1)
    U, s, Vt = np.linalg.svd(np.where(felt, R, 0) / scale, full_matrices=False)
    strong = s > 1e-10 * s.max(initial=0)
    V = Vt[strong].T / s[strong]
    x = start + V @ (U[:, strong].T @ (z - R @ start)) / scale
    determined = np.linalg.norm(Vt[~strong], axis=0) < 1e-6
    inverse = V @ V.T / np.outer(scale, scale)
    return _Fit(x, inverse, determined)


def _estimate(method, reduction, base, prior, fit, sigma, iterations) -> Estimate:
    lifted = np.linalg.lstsq(base.K, fit.x - base.K @ prior)[0]
    covariance = fit.inverse * (sigma**2 if np.ndim(sigma) == 0 else 1.0)
    lost = np.flatnonzero(~fit.determined)
    covariance[lost, lost] = np.inf
    return Estimate(
        method=method,
        parameters=prior + lifted,
        base=fit.x,
        covariance=covariance,
        sigma=np.broadcast_to(sigma, len(reduction.R)).copy(),
        iterations=iterations,
        undetermined=tuple(base.names[k] for k in lost),
    )


def _sigma(reduction: Reduction, base: Base, x) -> Float64[np.ndarray, " nv"]:
    """Standard deviation of each joint's residual; not below rounding."""
    loudest = max(np.linalg.norm(z) for z in reduction.z)
    rounding = 1e-9 * loudest / np.sqrt(reduction.rows) + np.finfo(float).tiny
    sigma = reduction.misfit(x) / np.sqrt(_freedom(reduction, base))
    return np.maximum(sigma, rounding)


def _freedom(reduction: Reduction, base: Base) -> float:
    """Samples of each joint, less its share of the base parameters."""
    joints = len(reduction.R)
    freedom = reduction.rows - base.rank / joints
    if freedom <= 0:
        raise ValueError(
            f"{reduction.rows:.0f} decimated samples of {joints} joints cannot determine "
            f"{base.rank} base parameters. Use a longer log, or a higher cut-off, which "
            "keeps more of its samples."
        )
    return freedom
