"""How well a robot explains logs that its fit has not seen, and whether it can exist."""

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

import jaxdyn

from ._base import random_positions
from ._batches import along
from ._columns import joint_torque, WIDTH
from ._identify import checked, Identification
from ._log import Log
from ._signals import LowPass, Motion, motion


_TRIM = 0.5
"""What is left out at each end of a log. [s]"""


@dataclasses.dataclass(frozen=True)
class JointValidation:
    """How well the torque of one joint is explained."""

    name: str
    """Name of the joint."""
    relative_error: float
    """Norm of the error over that of the torque, both filtered."""
    raw_relative_error: float
    """The same with the torque as measured."""
    nrmse: float
    """Root mean square of the error over the range of the torque, both filtered."""
    r2: float
    """Share of the filtered torque's variance that is explained."""
    rmse: float
    """Root mean square of the error, filtered. [N m or N]"""


@dataclasses.dataclass(frozen=True, eq=False)
class Curves:
    """Torques along one log."""

    name: str
    """Name of the log."""
    t: Float64[np.ndarray, " N"]
    """Time. [s]"""
    raw: Float64[np.ndarray, "N nv"]
    """As measured. [N m or N]"""
    measured: Float64[np.ndarray, "N nv"]
    """As measured, filtered. [N m or N]"""
    predicted: Float64[np.ndarray, "N nv"]
    """As predicted, filtered alike. [N m or N]"""


@dataclasses.dataclass(frozen=True, eq=False)
class Validation:
    """How well a robot explains logs, and whether it can exist."""

    relative_error: float
    """Norm of the error over that of the torque, of all joints and samples, filtered."""
    raw_relative_error: float
    """The same with the torque as measured."""
    prior_relative_error: float
    """The same as `relative_error`, of the robot as its file has it."""
    joints: tuple[JointValidation, ...]
    """The same for each joint."""
    positive_definite: float
    """Share of random poses in which the mass matrix is positive definite."""
    poses: int
    """How many random poses."""
    consistency: tuple[jaxdyn.Inconsistency, ...]
    """Bodies that are not physically consistent; empty if all are."""
    curves: tuple[Curves, ...]
    """Torques along each log."""


def validate(
    identified: Identification | jaxdyn.Model,
    logs: Log | Sequence[Log],
    *,
    cutoff: float | None = None,
    poses: int = 10_000,
    seed: int = 0,
) -> Validation:
    """How well a robot explains logs, best such as its fit has not seen.

    Measured and predicted torque pass the same filter, and half a second is left out at
    each end of a log.

    Args:
        identified: The identified robot, or any.
        logs: One log or several, their columns in the order of the robot's joints.
        cutoff: Of the filter; that of the fit by default, 5 Hz for a bare model. [Hz]
        poses: How many random poses, within the limits of the joints.
        seed: Of the random poses.
    """
    if isinstance(identified, jaxdyn.Model):
        model = prior = identified
        predict = functools.partial(_torque, model)
        cutoff = 5.0 if cutoff is None else cutoff
    else:
        model, prior = identified.model, identified.unknowns.model
        predict = identified.predict
        cutoff = identified.cutoff if cutoff is None else cutoff
    logs = checked(model, logs)

    curves, befores = [], []
    for log in logs:
        record = motion(log, cutoff=cutoff)
        lowpass, inner = _filter(log, record, cutoff)
        tau = predict(record), _torque(prior, record), record.tau
        predicted, before, measured = (lowpass(x)[inner] for x in tau)
        raw = record.tau[inner]
        curves.append(Curves(log.name, record.t[inner], raw, measured, predicted))
        befores.append(before)
    raw, measured, predicted = (
        np.concatenate([getattr(curve, name) for curve in curves])
        for name in ("raw", "measured", "predicted")
    )
    before = np.concatenate(befores)

    rng = np.random.default_rng(seed)
    M = along(jaxdyn.mass_matrix, model, random_positions(model, poses, rng))
    return Validation(
        relative_error=_relative(predicted, measured),
        raw_relative_error=_relative(predicted, raw),
        prior_relative_error=_relative(before, measured),
        joints=tuple(
            _joint(name, raw[:, j], measured[:, j], predicted[:, j])
            for j, name in enumerate(model.joint_names)
        ),
        positive_definite=float(np.mean(np.linalg.eigvalsh(M)[:, 0] > 0)),
        poses=poses,
        consistency=jaxdyn.check_consistency(model),
        curves=tuple(curves),
    )


def _torque(model: jaxdyn.Model, record: Motion) -> Float64[np.ndarray, "N nv"]:
    return along(joint_torque, model, record.q, record.qd, record.qdd, width=WIDTH)


def _filter(log: Log, record: Motion, cutoff: float | None):
    """The filter, and the samples to compare."""
    trim = round(_TRIM * record.rate)
    if len(record.t) <= 2 * trim:
        raise ValueError(
            f"{log.name} lasts {record.t[-1] - record.t[0]:.3g} s, of which {_TRIM} s at "
            "each end do not count: nothing is left to validate with. Use a longer log."
        )
    lowpass = (lambda x: x) if cutoff is None else LowPass(cutoff, record.rate).apply
    return lowpass, slice(trim, len(record.t) - trim)


def _joint(name: str, raw, measured, predicted) -> JointValidation:
    rmse = float(np.sqrt(np.mean((predicted - measured) ** 2)))
    return JointValidation(
        name=name,
        relative_error=_relative(predicted, measured),
        raw_relative_error=_relative(predicted, raw),
        nrmse=_ratio(rmse, float(np.ptp(measured))),
        r2=1 - _ratio(rmse**2, float(np.var(measured))),
        rmse=rmse,
    )


def _relative(predicted: np.ndarray, measured: np.ndarray) -> float:
    return _ratio(
        float(np.linalg.norm(predicted - measured)), float(np.linalg.norm(measured))
    )


def _ratio(error: float, size: float) -> float:
    return error / size if size else math.inf if error else 0.0
