"""What is wrong with a log, or looks wrong, channel by channel."""

import dataclasses
from collections.abc import Iterator
from typing import Literal

import jax
import numpy as np
from jaxtyping import Float64
from scipy import integrate, signal

import jaxdyn

from ._log import Log


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that a log's numbers tell about how it was recorded."""

    level: Literal["error", "warning", "info"]
    """An error makes results meaningless; a warning limits what can be learnt."""
    message: str
    """What was found, in which channel, and what to do."""

    def __str__(self) -> str:
        return f"{self.level}: {self.message}"


def inspect(log: Log, model: jaxdyn.Model) -> tuple[Finding, ...]:
    """Signs of a wrong unit, order or sign in a log, and of channels without a signal.

    Looks for stamps that are not seconds, gaps, joints that never move, torques that
    are constant or coarse, positions beyond the model's limits, in degrees or swapped,
    velocities that are not the derivatives of their positions, and torques that follow
    the model's gravity with another sign, on another scale or in another order.

    Args:
        log: The log, its columns in the order of the model's joints.
        model: The robot, with the limits of its joints.
    """
    checks = (_stamps, _torques, _positions, _velocities, _gravity, _unread)
    return tuple(finding for check in checks for finding in check(log, model))


def _stamps(log: Log, model: jaxdyn.Model) -> Iterator[Finding]:
    steps = np.diff(log.t)
    typical, worst = float(np.median(steps)), int(np.argmax(steps))
    if typical >= 0.25:
        yield Finding(
            "error",
            f"{log.name}: time steps by {typical:.3g} s, too slow for a robot. If "
            "it is not in seconds, say so by `--time-unit ms`, `us` or `ns`, "
            "`read_log(..., time_unit=...)`.",
        )
    elif steps[worst] > 10 * typical:
        yield Finding(
            "warning",
            f"{log.name}: there is no sample for {steps[worst]:.3g} s after t = "
            f"{log.t[worst]:.6g} s (row {worst}); most are {typical:.3g} s apart.",
        )


def _torques(log: Log, model: jaxdyn.Model) -> Iterator[Finding]:
    for joint, tau in zip(log.joints, log.tau.T, strict=True):
        levels = len(np.unique(tau))
        if levels == 1:
            yield Finding(
                "warning",
                f"{log.name}: the torque of joint {joint!r} is constant, {tau[0]:g}; "
                "nothing can be learnt from it.",
            )
        elif levels < 64 <= len(tau) / 8:
            yield Finding(
                "warning",
                f"{log.name}: the torque of joint {joint!r} takes only {levels} "
                "values; its sensor is too coarse to learn much from it.",
            )


def _positions(log: Log, model: jaxdyn.Model) -> Iterator[Finding]:
    lowest, highest = log.q.min(axis=0), log.q.max(axis=0)
    for joint, low, high in zip(log.joints, lowest, highest, strict=True):
        if high - low < 1e-3:
            yield Finding(
                "warning",
                f"{log.name}: joint {joint!r} never moves (its position spans "
                f"{high - low:.1g}); its own inertia and friction are not excited.",
            )
    if _in_degrees(lowest, highest, model):
        yield Finding(
            "error",
            f"{log.name}: positions reach {np.abs(log.q).max():.4g} rad, far beyond "
            "the limits of the joints, but would be within them if they were degrees. "
            "Read the log with `--degrees`, `read_log(..., degrees=True)`.",
        )
        return
    fits = _fits(lowest, highest, model)
    for i in np.flatnonzero(~fits.diagonal()):
        joint, limits = log.joints[i], f"{model.lower[i]:.4g} to {model.upper[i]:.4g}"
        spans = f"{log.name}: the position of joint {joint!r} goes from {lowest[i]:.4g} "
        spans += f"to {highest[i]:.4g}, beyond its limits {limits}"
        swapped = [j for j in np.flatnonzero(fits[i] & fits[:, i]) if not fits[j, j]]
        if len(swapped) == 1:
            other = log.joints[swapped[0]]
            yield Finding(
                "error",
                f"{spans}, but within those of {other!r}, and the other way round: are "
                "these columns swapped? Give their order by `joints` or `columns`.",
            )
        else:
            yield Finding(
                "warning",
                f"{spans}. Check its unit, sign, gear ratio and zero, and the order of "
                "the columns.",
            )


def _in_degrees(
    lowest: Float64[np.ndarray, " nv"],
    highest: Float64[np.ndarray, " nv"],
    model: jaxdyn.Model,
) -> bool:
    """Whether positions are far beyond limits, and all within them as degrees."""
    hinge = np.array([kind == "hinge" for kind in model.joint_types])
    span = model.upper - model.lower
    reach = np.maximum(highest - model.upper, model.lower - lowest)
    beyond = hinge & (reach > np.maximum(span, 2 * np.pi))
    unit = np.where(hinge, np.pi / 180, 1.0)
    within = _fits(lowest * unit, highest * unit, model).diagonal()
    return bool(beyond.any() and within.all())


def _fits(
    lowest: Float64[np.ndarray, " nv"],
    highest: Float64[np.ndarray, " nv"],
    model: jaxdyn.Model,
    tolerance: float = 0.01,
) -> np.ndarray:
    """Entry `[i, j]`: the positions of joint `i` are within the limits of joint `j`."""
    above = lowest[:, None] >= model.lower - tolerance
    below = highest[:, None] <= model.upper + tolerance
    return above & below


def _velocities(log: Log, model: jaxdyn.Model) -> Iterator[Finding]:
    """Compare integrals of velocities with positions, which noise does not disturb."""
    if log.qd is None:
        return
    position = signal.detrend(log.q, axis=0)
    integral = integrate.cumulative_trapezoid(log.qd, log.t, axis=0, initial=0)
    integral = signal.detrend(integral, axis=0)
    moves = np.ptp(log.q, axis=0) > 1e-3
    alike = _correlation(integral, position) * moves
    for i in np.flatnonzero(moves):
        velocity = f"{log.name}: the velocity of joint {log.joints[i]!r}"
        j = int(np.argmax(np.abs(alike[i])))
        if abs(alike[i, i]) < 0.9 and abs(alike[i, j]) > 0.98:
            yield Finding(
                "error",
                f"{velocity} belongs to the position of {log.joints[j]!r}: are these "
                "columns swapped? Give their order by `joints` or `columns`.",
            )
        elif abs(alike[i, i]) < 0.9:
            yield Finding(
                "warning",
                f"{velocity} is not the derivative of its position (correlation "
                f"{alike[i, i]:.2f}). If it is not to be trusted, leave velocities out "
                "by `columns={'qd': []}`.",
            )
        else:
            gain = integral[:, i] @ position[:, i] / (position[:, i] @ position[:, i])
            if not 0.8 < gain < 1.25:
                yield Finding(
                    "error",
                    f"{velocity} is {gain:.4g} times the derivative of its position. "
                    "Check the sign and unit of both, and the unit of time.",
                )


def _gravity(log: Log, model: jaxdyn.Model) -> Iterator[Finding]:
    """Compare torques with those that hold the model against gravity.

    Only a close likeness speaks: motion may hide gravity, and the model may be wrong.
    """
    rows = np.linspace(0, len(log) - 1, min(len(log), 500)).astype(int)
    with jax.enable_x64(True):
        hold = jax.vmap(jaxdyn.gravity_force, (None, 0))(model, log.q[rows])
    hold = signal.detrend(np.asarray(hold), axis=0, type="constant")
    tau = signal.detrend(log.tau[rows], axis=0, type="constant")
    loads = np.linalg.norm(hold, axis=0)
    alike = _correlation(tau, hold) * (loads > 1e-6 * loads.max())
    for i in range(model.nv):
        torque = f"{log.name}: the torque of joint {log.joints[i]!r}"
        j = int(np.argmax(alike[i]))
        if alike[i, i] < 0.9 < min(alike[i, j], alike[j, i]):
            yield Finding(
                "warning",
                f"{torque} is what gravity asks of {log.joints[j]!r} in this model, "
                "and the other way round: are these columns swapped? Give their order "
                "by `joints` or `columns`.",
            )
        elif abs(alike[i, i]) > 0.9:
            gain = tau[:, i] @ hold[:, i] / loads[i] ** 2
            if not 1 / 3 < gain < 3:
                yield Finding(
                    "warning",
                    f"{torque} is {gain:.3g} times what gravity asks of this model. "
                    "Check its sign, unit and gear ratio, and gravity's direction.",
                )


def _correlation(
    x: Float64[np.ndarray, "N nv"], y: Float64[np.ndarray, "N nv"]
) -> Float64[np.ndarray, "nv nv"]:
    """Correlation of each column of `x` with each of `y`; zero for constant ones."""
    scale = np.outer(np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0))
    return x.T @ y / np.where(scale > 0, scale, np.inf)


def _unread(log: Log, model: jaxdyn.Model) -> Iterator[Finding]:
    if log.unread:
        yield Finding(
            "info", f"{log.name}: these columns were not read: {', '.join(log.unread)}."
        )
