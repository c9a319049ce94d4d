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
    variance = np.mean(residual_std(reduction, base, fit.x) ** 2)
    sigma = np.full(len(reduction.R), np.sqrt(variance))
    fit = fit._replace(covariance=variance * fit.covariance)
    return _estimate("ols", base, prior, fit, sigma, 1)


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
        sigma = residual_std(reduction, base, fit.x)
    fit = _fit(reduction, base, prior, 1 / sigma)
    return _estimate("wls", base, prior, fit, sigma, iterations + 1)


class _Fit(NamedTuple):
    x: Float64[np.ndarray, " r"]
    covariance: Float64[np.ndarray, "r r"]
    """For rows whose errors have unit variance."""


def _fit(reduction: Reduction, base: Base, prior, weights) -> _Fit:
    """Least squares; what the record does not determine stays at the prior."""
    R, z = reduction.stacked(weights)
    start = base.K @ prior
    V, told = determined(R)
    x = start + V @ ((R @ V).T @ (z - R @ start))
    covariance = V @ V.T
    covariance[~told, ~told] = np.inf
    return _Fit(x, covariance)


def determined(
    R: Float64[np.ndarray, "m r"],
) -> tuple[Float64[np.ndarray, "r k"], Bool[np.ndarray, " r"]]:
    """What the product `R x` tells of `x`.

    Returns:
        Directions `V`, scaled so that `R V` is orthonormal, and which entries of `x` lie
        in them.
    """
    norm = np.linalg.norm(R, axis=0)
    felt = norm > 1e-9 * norm.max(initial=0)
    scale = np.where(felt, norm, 1)
    _, s, Vt = np.linalg.svd(np.where(felt, R, 0) / scale, full_matrices=False)
    strong = s > 1e-10 * s.max(initial=0)
    Vt, s = Vt[strong], s[strong]
    return Vt.T / s / scale[:, None], np.linalg.norm(Vt, axis=0) > 1 - 1e-12


def residual_std(reduction: Reduction, base: Base, x) -> Float64[np.ndarray, " nv"]:
    """Standard deviation of each joint's residual.

    It is not put below 1e-4 of the joint's torque, which no sensor and no filter is as
    true to, nor below rounding.
    """
    torque = np.array([np.linalg.norm(z) for z in reduction.z]) / np.sqrt(reduction.rows)
    least = np.maximum(1e-4 * torque, 1e-9 * torque.max() + np.finfo(float).tiny)
    return np.maximum(reduction.misfit(x) / np.sqrt(_freedom(reduction, base)), least)


def lifted(
    base: Base, prior: Float64[np.ndarray, " p"], x: Float64[np.ndarray, " r"]
) -> Float64[np.ndarray, " p"]:
    """All parameters, nearest to the prior, of which `x` are the base parameters."""
    return prior + np.linalg.lstsq(base.K, x - base.K @ prior)[0]


def _estimate(method, base, prior, fit: _Fit, sigma, iterations) -> Estimate:
    lost = np.isinf(np.diagonal(fit.covariance))
    return Estimate(
        method=method,
        parameters=lifted(base, prior, fit.x),
        base=fit.x,
        covariance=fit.covariance,
        sigma=sigma,
        iterations=iterations,
        undetermined=tuple(np.array(base.names)[lost].tolist()),
    )


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
