"""Trajectories that excite the parameters of a robot: random finite Fourier series.

Sums of harmonics have exact derivatives, repeat without a seam, and can be kept within
limits with certainty.
"""

import dataclasses
import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from jaxdyn import Model


UNLIMITED = {"hinge": math.pi, "slide": 0.5}
"""Half the range that a joint without limits is given, around its `ref`. [rad or m]"""
VELOCITY = {"hinge": 2.0, "slide": 0.5}
"""Velocity limit of a joint, by type, where none is given. [rad/s or m/s]"""
ACCELERATION = {"hinge": 8.0, "slide": 2.0}
"""Acceleration limit of a joint, by type, where none is given. [rad/s² or m/s²]"""

_GRID = 32
"""Points of the grid for each half wave of the highest harmonic, at least 2."""


class FourierSeries(eqx.Module):
    """The motion of `nv` joints as a sum of `nh` harmonics.

    `qd(t) = Σ sine[l] cos(l ω t) + cosine[l] sin(l ω t)`, for `l = 1 … nh`, and `q` is
    its integral around `centre`.

    References:
        Swevers et al., *Optimal robot excitation and identification*, IEEE Transactions
        on Robotics and Automation 13(5), 1997.
    """

    centre: Float[Array, "nv"]
    """Mean position of each joint. [rad or m]"""
    sine: Float[Array, "nh nv"]
    """Velocity amplitude of each sine in position. [rad/s or m/s]"""
    cosine: Float[Array, "nh nv"]
    """Velocity amplitude of each cosine in position, sign changed. [rad/s or m/s]"""
    period: Float[Array, ""]
    """Duration after which the motion repeats. [s]"""

    def position(self, t: Float[Array, ""] | float) -> Float[Array, "nv"]:
        """Joint positions at time `t`, in rad or m."""
        w, sin, cos = self._harmonics(t)
        return self.centre + (sin / w) @ self.sine - (cos / w) @ self.cosine

    def velocity(self, t: Float[Array, ""] | float) -> Float[Array, "nv"]:
        """Joint velocities at time `t`, in rad/s or m/s: the exact derivative."""
        _, sin, cos = self._harmonics(t)
        return cos @ self.sine + sin @ self.cosine

    def acceleration(self, t: Float[Array, ""] | float) -> Float[Array, "nv"]:
        """Joint accelerations at time `t`, in rad/s² or m/s²: exact as well."""
        w, sin, cos = self._harmonics(t)
        return (w * cos) @ self.cosine - (w * sin) @ self.sine

    def _harmonics(self, t):
        order = jnp.arange(1, len(self.sine) + 1, dtype=self.sine.dtype)
        w = 2 * jnp.pi / self.period * order
        return w, jnp.sin(w * t), jnp.cos(w * t)


@dataclasses.dataclass(frozen=True)
class Trajectories:
    """A batch of motions on a common clock, each repeating after its `duration`."""

    t: Float[np.ndarray, "time"]
    """Time of each sample. [s]"""
    q: Float[np.ndarray, "batch time nv"]
    """Joint positions. [rad or m]"""
    qd: Float[np.ndarray, "batch time nv"]
    """Joint velocities. [rad/s or m/s]"""
    qdd: Float[np.ndarray, "batch time nv"]
    """Joint accelerations. [rad/s² or m/s²]"""
    series: FourierSeries
    """The motions as functions of time, their leaves with a leading batch axis."""


def fourier_trajectories(
    key: Key[Array, ""] | UInt32[Array, "2"],
    batch: int,
    model: Model,
    *,
    duration: float = 10.0,
    rate: float = 200.0,
    harmonics: int = 5,
    velocity: Float[np.ndarray, "nv"] | float | None = None,
    acceleration: Float[np.ndarray, "nv"] | float | None = None,
    margin: float = 0.05,
) -> Trajectories:
    """Random motions within the robot's limits at all times, from rest to rest.

    Amplitudes are drawn at random and scaled until the first limit of position,
    velocity or acceleration is touched; then the centre of motion is drawn from what
    room is left. Limits hold at every instant, not only at the samples, because a sum
    of `n` harmonics exceeds its largest value on `m` grid points by a factor of at most
    `1 / cos(π n / m)`.

    Args:
        key: Random key of JAX; equal keys give equal motions.
        batch: How many motions.
        model: The robot. Its joint limits hold; a joint without moves within
            `UNLIMITED` of its `ref`.
        duration: Period of the motion, and length of the record. [s]
        rate: Samples in a second. [Hz]
        harmonics: How many harmonics, at least 2; the highest is `harmonics / duration`
            in Hz.
        velocity: Velocity limit, of each joint or of all; `VELOCITY` if not given.
            [rad/s or m/s]
        acceleration: Acceleration limit, of each joint or of all; `ACCELERATION` if not
            given. [rad/s² or m/s²]
        margin: Share of every limit that is left free.

    References:
        Ehlich & Zeller, *Schwankung von Polynomen zwischen Gitterpunkten*,
        Mathematische Zeitschrift 86, 1964.
    """
    _check(duration=duration, rate=rate, harmonics=harmonics, margin=margin)
    lower, upper = _positions(model)
    inner = margin / 2 * (upper - lower)
    qd_max = (1 - margin) * _limit(velocity, VELOCITY, model, "velocity")
    qdd_max = (1 - margin) * _limit(acceleration, ACCELERATION, model, "acceleration")
    with jax.enable_x64(True):
        series = _draw(
            jax.random.split(key, batch),
            harmonics,
            jnp.asarray(duration, float),
            (lower + inner, upper - inner, qd_max, qdd_max),
        )
        t = jnp.arange(0.0, round(duration * rate)) / rate
        q, qd, qdd = _sample(series, t)
    return Trajectories(*map(np.asarray, (t, q, qd, qdd)), series=series)


@functools.partial(jax.jit, static_argnums=1)
@functools.partial(jax.vmap, in_axes=(0, None, None, None))
def _draw(key, harmonics, period, limits) -> FourierSeries:
    """A random motion from rest to rest, as large as the limits allow."""
    lower, upper, qd_max, qdd_max = limits
    key_sine, key_cosine, key_centre = jax.random.split(key, 3)
    order = jnp.arange(1.0, harmonics + 1)[:, None]
    shape = (harmonics, len(lower))
    sine = jax.random.normal(key_sine, shape)
    cosine = jax.random.normal(key_cosine, shape)
    sine -= sine.mean(axis=0, keepdims=True)  # the velocity at the start,
    slope = (order * cosine).sum(axis=0, keepdims=True)  # and the acceleration, are 0
    cosine -= order * slope / (order**2).sum()
    unit = FourierSeries(jnp.zeros(shape[1]), sine, cosine, period)

    peak_q, peak_qd, peak_qdd = _peaks(unit)
    room = (upper - lower) / 2
    scale = jnp.minimum(room / peak_q, jnp.minimum(qd_max / peak_qd, qdd_max / peak_qdd))
    reach = scale * peak_q
    aside = jax.random.uniform(key_centre, room.shape, minval=-1.0, maxval=1.0)
    centre = (lower + upper) / 2 + aside * (room - reach)
    return FourierSeries(centre, scale[None] * sine, scale[None] * cosine, period)


def _peaks(series: FourierSeries):
    """Upper bounds of |q|, |qd| and |qdd| over all times, for a series around zero."""
    points = 2 * _GRID * len(series.sine)
    t = series.period / points * jnp.arange(points, dtype=series.sine.dtype)
    q, qd, qdd = _motion(series, t)
    beyond = 1 / math.cos(math.pi / (2 * _GRID))
    return [beyond * jnp.abs(x).max(axis=0) for x in (q, qd, qdd)]


def _motion(series: FourierSeries, t: Float[Array, "time"]):
    return (
        jax.vmap(series.position)(t),
        jax.vmap(series.velocity)(t),
        jax.vmap(series.acceleration)(t),
    )


_sample = jax.jit(jax.vmap(_motion, in_axes=(0, None)))


def _positions(model: Model):
    """Position limits of each joint, with a default range for those without."""
    ref = np.asarray(model.ref)
    half = np.array([UNLIMITED[kind] for kind in model.joint_types])
    lower, upper = np.asarray(model.lower), np.asarray(model.upper)
    return (
        np.where(np.isfinite(lower), lower, np.minimum(ref - half, upper - 2 * half)),
        np.where(np.isfinite(upper), upper, np.maximum(ref + half, lower + 2 * half)),
    )


def _limit(value, default, model: Model, what: str) -> np.ndarray:
    if value is None:
        return np.array([default[kind] for kind in model.joint_types])
    limit = np.broadcast_to(np.asarray(value, float), (model.nv,))
    if not (limit > 0).all():
        raise ValueError(f"A {what} limit must be positive, but came {limit.tolist()}.")
    return limit


def _check(*, duration: float, rate: float, harmonics: int, margin: float):
    if harmonics < 2:
        raise ValueError(
            f"Motions from rest to rest need at least 2 harmonics, not {harmonics}."
        )
    if not 0 < margin < 1:
        raise ValueError(f"The margin is a share between 0 and 1, but came {margin}.")
    if duration * rate <= 2 * harmonics:
        raise ValueError(
            f"{rate} Hz over {duration} s gives too few samples for {harmonics} "
            "harmonics. Raise the rate or the duration."
        )
