"""Sine and cosine of many angles together, in double precision.

On the CPU XLA calls the C library once for each angle and function, which costs as much
as the rest of inverse dynamics. Elementwise arithmetic over the batch is eight times
faster.
"""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
from jax import Array


# π/2 as a sum of numbers short enough for their products with a count of quarter turns,
# up to 2²⁰, to be exact.
_HALF_PI = Fraction(3141592653589793238462643383279502884197169399375, 2 * 10**48)
_HIGH = math.ldexp(math.floor(_HALF_PI * 2**32), -32)
_MIDDLE = math.ldexp(math.floor((_HALF_PI - Fraction(_HIGH)) * 2**65), -65)
_LOW = float(_HALF_PI - Fraction(_HIGH) - Fraction(_MIDDLE))


def sincos(angle: Array) -> tuple[Array, Array]:
    """Sine and cosine, to rounding for angles below a million. [rad]"""
    if angle.dtype != jnp.float64:
        return jnp.sin(angle), jnp.cos(angle)
    return _sincos(angle)


@jax.custom_jvp
def _sincos(angle: Array) -> tuple[Array, Array]:
    quarters = jnp.round(angle / float(_HALF_PI))
    r = ((angle - quarters * _HIGH) - quarters * _MIDDLE) - quarters * _LOW
    sin, cos = r * _series(1, 15, r * r), _series(0, 16, r * r)

    quarters = quarters.astype(jnp.int32)
    odd = quarters & 1 == 1
    sin, cos = jnp.where(odd, cos, sin), jnp.where(odd, sin, cos)
    return (
        jnp.where(quarters & 2 == 2, -sin, sin),
        jnp.where((quarters + 1) & 2 == 2, -cos, cos),
    )


@_sincos.defjvp
def _sincos_jvp(angles, tangents):
    sin, cos = _sincos(*angles)
    (dot,) = tangents
    return (sin, cos), (cos * dot, -sin * dot)


def _series(first: int, last: int, square: Array) -> Array:
    """Taylor series of the sine over its argument, or of the cosine."""
    total = jnp.zeros_like(square)
    for n in range(last, first - 1, -2):
        total = total * square + (-1) ** (n // 2) / math.factorial(n)
    return total
