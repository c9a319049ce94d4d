"""A robot's log: what its joints did and which torques drove them."""

import dataclasses
from typing import Final, Literal

import numpy as np
from jaxtyping import Real


Signal = Literal["t", "q", "qd", "qdd", "tau"]

SIGNALS: Final[dict[Signal, str]] = {
    "t": "time",
    "q": "position",
    "qd": "velocity",
    "qdd": "acceleration",
    "tau": "torque",
}
"""The fields of a log that hold samples, and what messages call them."""


@dataclasses.dataclass(frozen=True)
class Log:
    """Samples of time, position and torque, and of velocity and acceleration if given.

    Arrays have the shape `(samples, joints)`, time `(samples,)`, and become float64.
    Columns are in the order of `joints`. A slice of a log, `log[:8000]`, is a log.

    Raises:
        ValueError: If shapes disagree, a value is not finite, or time does not
            increase; the message names the joint and the row, counted from 0.
    """

    t: Real[np.ndarray, "..."]
    """Time, increasing; its steps may vary. [s]"""
    q: Real[np.ndarray, "..."]
    """Joint positions. [rad or m]"""
    tau: Real[np.ndarray, "..."]
    """Joint torques or forces. [N m or N]"""
    qd: Real[np.ndarray, "..."] | None = None
    """Joint velocities, if they were measured. [rad/s or m/s]"""
    qdd: Real[np.ndarray, "..."] | None = None
    """Joint accelerations, if they were measured. [rad/s² or m/s²]"""
    joints: tuple[str, ...] = ()
    """Name of the joint of each column; numbered if none are given."""
    name: str = "log"
    """What messages call this log."""
    unread: tuple[str, ...] = ()
    """Columns of the log's file that were not used."""

    def __post_init__(self):
        for signal in SIGNALS:
            if (samples := getattr(self, signal)) is not None:
                object.__setattr__(self, signal, np.asarray(samples, dtype=float))
        if not self.joints:
            numbered = tuple(f"joint{i}" for i in range(self.q.shape[-1]))
            object.__setattr__(self, "joints", numbered)
        _check_shapes(self)
        _check_values(self)
        _check_times(self)

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> "Log":
        samples = {signal: getattr(self, signal) for signal in SIGNALS}
        return dataclasses.replace(
            self, **{s: None if x is None else x[rows] for s, x in samples.items()}
        )


def _check_shapes(log: Log):
    if log.t.ndim != 1 or len(log.t) < 2:
        raise ValueError(
            f"{log.name}: time is a vector of at least two samples, but its shape is "
            f"{log.t.shape}."
        )
    wanted = (len(log.t), len(log.joints))
    for signal, word in SIGNALS.items():
        samples = getattr(log, signal)
        if signal != "t" and samples is not None and samples.shape != wanted:
            raise ValueError(
                f"{log.name}: {word} has shape {samples.shape}, but {wanted[0]} times "
                f"of {wanted[1]} joints need {wanted}."
            )


def _check_values(log: Log):
    for signal, word in SIGNALS.items():
        samples = getattr(log, signal)
        if samples is None or np.isfinite(samples).all():
            continue
        bad = np.argwhere(~np.isfinite(samples))
        row, *joint = map(int, bad[0])
        channel = f"{word} of joint {log.joints[joint[0]]!r}" if joint else word
        raise ValueError(
            f"{log.name}: {channel} is {samples[tuple(bad[0])]} in row {row}, one of "
            f"{len(bad)} such values of {word}. Remove or repair these samples."
        )


def _check_times(log: Log):
    steps = np.diff(log.t)
    if not (steps > 0).all():
        row = int(np.argmin(steps > 0))
        raise ValueError(
            f"{log.name}: time does not increase from row {row} ({log.t[row]:.9g} s) "
            f"to row {row + 1} ({log.t[row + 1]:.9g} s). Sort the rows by time and "
            "keep one for each."
        )
