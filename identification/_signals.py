"""From stamped samples to smooth motion: even sampling, derivatives, low-pass filters.

Every filter is a symmetric kernel of finite length. Its phase is zero, blocks that
overlap by half a kernel give exactly what the whole record gives, and how far the ends
of a record reach into it is known.
"""

import dataclasses
import functools
import math
from typing import Literal

import numpy as np
from jaxtyping import Float, Float64
from scipy import interpolate, signal

from ._log import Log


_REACH = 1.4
"""Half length of a low-pass kernel, in periods of the width of its transition band: a
Kaiser window of this length has ripples below half a percent."""

_STENCIL = 8
"""Samples on each side of a central difference: exact to 0.2 % at a quarter of the
sampling rate, and far closer below."""


@dataclasses.dataclass(frozen=True)
class Motion:
    """Evenly sampled motion and torque of a robot's joints.

    Positions, velocities and accelerations are derivatives of one another and hold
    nothing above three times the cut-off; their gain is one, within 1 %, up to it. Near
    the ends (see `LowPass.trim`) they lean on a record extended by point reflection.
    """

    t: Float64[np.ndarray, " N"]
    """Time, evenly spaced. [s]"""
    q: Float64[np.ndarray, "N nv"]
    """Joint positions. [rad or m]"""
    qd: Float64[np.ndarray, "N nv"]
    """Joint velocities. [rad/s or m/s]"""
    qdd: Float64[np.ndarray, "N nv"]
    """Joint accelerations. [rad/s² or m/s²]"""
    tau: Float64[np.ndarray, "N nv"]
    """Joint torques or forces as measured, not filtered. [N m or N]"""
    rate: float
    """Samples per second. [Hz]"""


@dataclasses.dataclass(frozen=True)
class LowPass:
    """Zero-phase low-pass filter whose gain is one half at the cut-off.

    A sinc under a Kaiser window: the gain is above 0.99 below half the cut-off and
    below 0.01 beyond one and a half times the cut-off, at any sampling rate.

    Args:
        cutoff: Frequency where the gain is one half. [Hz]
        rate: Samples per second, at least four times the cut-off. [Hz]

    Raises:
        ValueError: If the rate is too low; the message gives the highest cut-off.

    References:
        Oppenheim & Schafer, *Discrete-Time Signal Processing*, 3rd ed. (2010), ch. 7.
    """

    cutoff: float
    rate: float

    def __post_init__(self):
        if not (math.isfinite(self.cutoff) and self.cutoff > 0):
            raise ValueError(
                f"The cut-off is a positive frequency in Hz, but it is {self.cutoff}."
            )
        if self.rate < 4 * self.cutoff * (1 - 1e-6):
            raise ValueError(
                f"A cut-off of {self.cutoff:g} Hz needs {4 * self.cutoff:g} samples a "
                f"second, but there are {self.rate:.5g}. Choose a cut-off of at most "
                f"{math.floor(self.rate * 250) / 1000:g} Hz."
            )

    @functools.cached_property
    def kernel(self) -> Float64[np.ndarray, " taps"]:
        """Impulse response, symmetric, of odd length and unit sum."""
        return _sinc_kernel(self.cutoff, self.cutoff, self.rate)

    @property
    def margin(self) -> int:
        """Samples on each side of a sample that its filtered value depends on."""
        return len(self.kernel) // 2

    @functools.cached_property
    def trim(self) -> int:
        """Samples at each end of a filtered record that depend on how it is extended.

        Counts the reach of this filter and of the derivatives in `motion`.
        """
        smooth = _smoothing_kernel(self.cutoff, self.rate)
        return self.margin + len(smooth) // 2 + _STENCIL

    @property
    def decimate(self) -> int:
        """Step between the samples to keep: 2.5 or more in a period of the cut-off."""
        return max(1, int(self.rate / (2.5 * self.cutoff)))

    def apply(self, x: Float[np.ndarray, "N ..."]) -> Float64[np.ndarray, "N ..."]:
        """Filter along the first axis; both ends are extended by point reflection."""
        return _convolve(x, self.kernel)

    def reduce(self, x: Float[np.ndarray, "N ..."]) -> Float64[np.ndarray, "n ..."]:
        """Filter along the first axis and keep every `decimate`-th sample.

        Args:
            x: Samples, `margin` more at each end than shall come out.

        Returns:
            The filtered samples number `margin`, `margin + decimate`, … up to the last
            that `x` determines; none rests on an extension of `x`.
        """
        step, reach = self.decimate, 2 * self.margin
        delay = -reach % step  # so that what is kept falls on the steps
        kernel = np.pad(self.kernel, (delay, 0))
        first = (reach + delay) // step
        kept = max(0, -(-(len(x) - reach) // step))
        return signal.upfirdn(kernel, x, down=step, axis=0)[first : first + kept]


def motion(log: Log, *, cutoff: float | None) -> Motion:
    """Even samples of a log's motion, with velocities and accelerations.

    Uneven stamps are resampled at their median rate, by cubic splines through the
    measured times. Positions are smoothed with a pass band that goes beyond the cut-off
    and differentiated by central differences of order 16; velocities and accelerations
    that the log holds are used instead.

    Args:
        log: The log.
        cutoff: Frequency up to which the motion must be true; `None` takes the samples
            as they are, of a log that holds velocities and accelerations. [Hz]

    Raises:
        ValueError: If the cut-off is too high for the sampling rate, the log too short,
            or its stamps leave a gap of more than half a period of the cut-off; if there
            is no cut-off, and velocities or accelerations are missing.
    """
    if cutoff is None:
        return _as_it_is(log)
    t, rate = _even_times(log.t)
    _check(log, LowPass(cutoff, rate))
    smooth = _smoothing_kernel(cutoff, rate)

    def derivative(x, order):
        return _convolve(
            _resample(log.t, x, t), np.convolve(smooth, _difference(order, rate))
        )

    if log.qd is None:
        qd, qdd = derivative(log.q, 1), derivative(log.q, 2)
    else:
        qd, qdd = derivative(log.qd, 0), derivative(log.qd, 1)
    if log.qdd is not None:
        qdd = derivative(log.qdd, 0)
    tau = _resample(log.t, log.tau, t)
    return Motion(t, derivative(log.q, 0), qd, qdd, tau, rate)


def _as_it_is(log: Log) -> Motion:
    if log.qd is None or log.qdd is None:
        raise ValueError(
            f"{log.name} has no {'accelerations' if log.qd is not None else 'velocities'}"
            ", and without a low-pass filter they cannot be had from positions. Give a "
            "cut-off in Hz."
        )
    rate = 1 / float(np.median(np.diff(log.t)))
    return Motion(log.t, log.q, log.qd, log.qdd, log.tau, rate)


def _check(log: Log, lowpass: LowPass):
    needed, lasts = 2 * lowpass.trim / lowpass.rate, log.t[-1] - log.t[0]
    if lasts <= needed:
        raise ValueError(
            f"{log.name} lasts {lasts:.3g} s, but a cut-off of {lowpass.cutoff:g} Hz "
            f"needs more than {needed:.3g} s. Record longer or raise the cut-off."
        )
    gap = np.diff(log.t)
    worst = int(np.argmax(gap))
    if gap[worst] > 0.5 / lowpass.cutoff:
        raise ValueError(
            f"{log.name} has no sample for {gap[worst]:.3g} s after "
            f"t = {log.t[worst]:.6g} s, longer than half a period of the cut-off, "
            f"{lowpass.cutoff:g} Hz. Make two logs of it, `log[:{worst + 1}]` and "
            f"`log[{worst + 1}:]`, or choose a cut-off below {0.5 / gap[worst]:.3g} Hz."
        )


def _even_times(
    t: Float64[np.ndarray, " n"],
) -> tuple[Float64[np.ndarray, " N"], float]:
    """Even times at the median rate, and the rate; even stamps stay as they are."""
    period = float(np.median(np.diff(t)))
    even = np.linspace(t[0], t[-1], len(t))
    if np.max(np.abs(t - even)) < 1e-3 * period:
        return even, (len(t) - 1) / (t[-1] - t[0])
    steps = math.floor((t[-1] - t[0]) / period)
    return t[0] + period * np.arange(steps + 1), 1 / period


def _resample(
    t: Float64[np.ndarray, " n"],
    x: Float64[np.ndarray, "n nv"],
    even: Float64[np.ndarray, " N"],
) -> Float64[np.ndarray, "N nv"]:
    """Values at even times, by a cubic spline.

    Stamps that follow another in less than a tenth of a period, as of messages that
    arrive in bursts, say nothing of when they were measured and are left out.
    """
    if len(t) == len(even) and np.max(np.abs(t - even)) < 1e-3 * (even[1] - even[0]):
        return x
    kept = np.diff(t, prepend=-np.inf) > 0.1 * (even[1] - even[0])
    y = np.empty((len(even), x.shape[1]))
    for j in range(x.shape[1]):
        y[:, j] = interpolate.CubicSpline(t[kept], x[kept, j])(even)
    return y


def _smoothing_kernel(cutoff: float, rate: float) -> Float64[np.ndarray, " taps"]:
    """Low-pass before differentiation: passes 1.5, stops 3 times the cut-off.

    Where half the sampling rate is lower than that, it stops there and passes half.
    """
    stop = min(3 * cutoff, rate / 2)
    return _sinc_kernel(0.75 * stop, 0.5 * stop, rate)


def _sinc_kernel(
    centre: float, width: float, rate: float
) -> Float64[np.ndarray, " taps"]:
    """Low-pass whose gain falls from one to zero over `width` about `centre`, in Hz."""
    reach = math.ceil(_REACH * rate / width)
    return signal.firwin(2 * reach + 1, centre, width=width, fs=rate)


def _difference(order: Literal[0, 1, 2], rate: float) -> Float64[np.ndarray, " taps"]:
    """Convolution kernel of a derivative, by the central difference of highest order.

    References:
        Fornberg, *Generation of finite difference formulas on arbitrarily spaced
        grids*, Mathematics of Computation 51 (1988).
    """
    if order == 0:
        return np.ones(1)
    n, k = _STENCIL, np.arange(1, _STENCIL + 1)
    weight = np.array([math.comb(2 * n, n + i) / math.comb(2 * n, n) for i in k])
    side = order * -((-1.0) ** k) * weight / k**order
    centre = 0.0 if order == 1 else -2 * side.sum()
    return rate**order * np.concatenate([side[::-1], [centre], (-1) ** order * side])


def _convolve(
    x: Float[np.ndarray, "N ..."], kernel: Float64[np.ndarray, " taps"]
) -> Float64[np.ndarray, "N ..."]:
    """Convolution along the first axis, the ends extended by point reflection."""
    y = np.empty(x.shape)
    for channel in np.ndindex(x.shape[1:]):
        index = (slice(None), *channel)
        extended = np.pad(x[index], len(kernel) // 2, mode="reflect", reflect_type="odd")
        y[index] = signal.oaconvolve(extended, kernel, mode="valid")
    return y
