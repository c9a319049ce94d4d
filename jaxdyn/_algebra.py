"""Spatial algebra by components, for one body at a time.

A vector is three scalars, not an array of three. Under `jax.vmap`, and along a scan, each
scalar becomes one contiguous array over the batch, and XLA sees elementwise arithmetic
alone; batched products of 3×3 arrays are ten times slower on a CPU.

Motions are `(angular, linear)`, with the linear part that of the body-fixed point now at
the origin. Forces are `(moment about the origin, force)`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


type Scalar = Array | np.ndarray | float
type Numbers = Array | np.ndarray
"""Leaves of a model are NumPy arrays until JAX takes them up."""


class Vec(NamedTuple):
    """A vector in space."""

    x: Scalar
    y: Scalar
    z: Scalar

    @staticmethod
    def zero(like: Numbers) -> "Vec":
        """The zero vector, of the shape and type of an array."""
        return Vec(*3 * [jnp.zeros_like(like)])

    @staticmethod
    def of(array: Numbers) -> "Vec":
        """The vector whose components are on the last axis of an array."""
        return Vec(array[..., 0], array[..., 1], array[..., 2])

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: "Vec") -> "Vec":
        return Vec(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y, -self.z)

    def __mul__(self, s: Scalar) -> "Vec":
        return Vec(self.x * s, self.y * s, self.z * s)

    __rmul__ = __mul__

    def dot(self, other: "Vec") -> Scalar:
        """Inner product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: "Vec") -> "Vec":
        """Vector product."""
        return Vec(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )


class Mat(NamedTuple):
    """A 3×3 matrix, by columns; mostly a rotation."""

    x: Vec
    y: Vec
    z: Vec

    @classmethod
    def identity(cls, like: Numbers) -> "Mat":
        """The unit matrix, of the shape and type of an array."""
        one, zero = jnp.ones_like(like), jnp.zeros_like(like)
        return Mat(Vec(one, zero, zero), Vec(zero, one, zero), Vec(zero, zero, one))

    @staticmethod
    def rows(x: Vec, y: Vec, z: Vec) -> "Mat":
        """The matrix with these rows."""
        return Mat(Vec(x.x, y.x, z.x), Vec(x.y, y.y, z.y), Vec(x.z, y.z, z.z))

    @property
    def T(self) -> "Mat":
        """Transpose; the inverse of a rotation."""
        return Mat.rows(self.x, self.y, self.z)

    def __add__(self, other: "Mat") -> "Mat":
        return Mat(self.x + other.x, self.y + other.y, self.z + other.z)

    def __matmul__(self, v: Vec) -> Vec:
        return self.x * v.x + self.y * v.y + self.z * v.z

    def times(self, other: "Mat") -> "Mat":
        """Matrix product."""
        return Mat(self @ other.x, self @ other.y, self @ other.z)

    def back(self, v: Vec) -> Vec:
        """Product of the transpose with a vector."""
        return Vec(self.x.dot(v), self.y.dot(v), self.z.dot(v))

    def turned_about_z(self, cos: Scalar, sin: Scalar) -> "Mat":
        """Product with a rotation about z by the angle of this cosine and sine."""
        return Mat(self.x * cos + self.y * sin, self.y * cos - self.x * sin, self.z)


class Sym(NamedTuple):
    """A symmetric 3×3 matrix."""

    xx: Scalar
    xy: Scalar
    yy: Scalar
    xz: Scalar
    yz: Scalar
    zz: Scalar

    def __add__(self, other: "Sym") -> "Sym":
        return Sym(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: "Sym") -> "Sym":
        return Sym(*(a - b for a, b in zip(self, other, strict=True)))

    def __mul__(self, s: Scalar) -> "Sym":
        return Sym(*(a * s for a in self))

    def __matmul__(self, v: Vec) -> Vec:
        return Vec(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    @property
    def trace(self) -> Scalar:
        """Sum of the diagonal."""
        return self.xx + self.yy + self.zz

    def turned(self, R: Mat) -> "Sym":
        """The same tensor after a rotation: `R S Rᵀ`."""
        x, y, z = R.T
        Sx, Sy, Sz = self @ x, self @ y, self @ z
        return Sym(x.dot(Sx), x.dot(Sy), y.dot(Sy), x.dot(Sz), y.dot(Sz), z.dot(Sz))

    def complement(self) -> "Sym":
        """`tr(S) 1 - S`: rotational inertia from the second moments of mass."""
        return Sym(
            self.yy + self.zz,
            -self.xy,
            self.xx + self.zz,
            -self.xz,
            -self.yz,
            self.xx + self.yy,
        )


def outer(v: Vec) -> Sym:
    """`v vᵀ`."""
    return Sym(v.x * v.x, v.x * v.y, v.y * v.y, v.x * v.z, v.y * v.z, v.z * v.z)


def mixed_outer(u: Vec, v: Vec) -> Sym:
    """`u vᵀ + v uᵀ`."""
    return Sym(
        2 * u.x * v.x,
        u.x * v.y + u.y * v.x,
        2 * u.y * v.y,
        u.x * v.z + u.z * v.x,
        u.y * v.z + u.z * v.y,
        2 * u.z * v.z,
    )


class Pose(NamedTuple):
    """Where a frame is in another: orientation `R` and origin `p`."""

    R: Mat
    p: Vec

    @staticmethod
    def identity(like: Numbers) -> "Pose":
        """A frame in itself, of the shape and type of an array."""
        return Pose(Mat.identity(like), Vec.zero(like))

    @staticmethod
    def of(matrix: Array) -> "Pose":
        """From homogeneous 4×4 matrices on the two last axes."""
        x, y, z, p = (Vec.of(matrix[..., k]) for k in range(4))
        return Pose(Mat(x, y, z), p)

    def __matmul__(self, other: "Pose") -> "Pose":
        return Pose(self.R.times(other.R), self.p + self.R @ other.p)

    def inverse(self) -> "Pose":
        """Where the other frame is in this one."""
        return Pose(self.R.T, -self.R.back(self.p))

    def matrix(self) -> Array:
        """The homogeneous 4×4 matrix, on the two last axes."""
        zero = jnp.zeros_like(self.p.x)
        columns = [
            jnp.stack([*column, last], axis=-1)
            for column, last in [
                (self.R.x, zero),
                (self.R.y, zero),
                (self.R.z, zero),
                (self.p, zero + 1),
            ]
        ]
        return jnp.stack(columns, axis=-1)


class Motion(NamedTuple):
    """A spatial velocity, acceleration or axis."""

    ang: Vec
    lin: Vec

    @staticmethod
    def zero(like: Numbers) -> "Motion":
        """Rest, of the shape and type of an array."""
        return Motion(Vec.zero(like), Vec.zero(like))

    def __add__(self, other: "Motion") -> "Motion":
        return Motion(self.ang + other.ang, self.lin + other.lin)

    def __mul__(self, s: Scalar) -> "Motion":
        return Motion(self.ang * s, self.lin * s)

    def cross(self, m: "Motion") -> "Motion":
        """Rate of change of a motion `m` that is carried along with this one."""
        return Motion(
            self.ang.cross(m.ang), self.ang.cross(m.lin) + self.lin.cross(m.ang)
        )

    def cross_force(self, f: "Force") -> "Force":
        """Rate of change of a force `f` that is carried along with this motion."""
        return Force(self.ang.cross(f.ang) + self.lin.cross(f.lin), self.ang.cross(f.lin))

    def dot(self, f: "Force") -> Scalar:
        """Power of a force on this motion."""
        return self.ang.dot(f.ang) + self.lin.dot(f.lin)

    def across(self) -> "Motion":
        """Several motions side by side: a row of them."""
        return jax.tree.map(lambda x: x[None, :], self)


class Force(NamedTuple):
    """A spatial force or momentum: moment about the origin, and force."""

    ang: Vec
    lin: Vec

    @staticmethod
    def zero(like: Numbers) -> "Force":
        """No force, of the shape and type of an array."""
        return Force(Vec.zero(like), Vec.zero(like))

    def __add__(self, other: "Force") -> "Force":
        return Force(self.ang + other.ang, self.lin + other.lin)

    def __mul__(self, s: Scalar) -> "Force":
        return Force(self.ang * s, self.lin * s)

    def down(self) -> "Force":
        """Several forces one below the other: a column of them."""
        return jax.tree.map(lambda x: x[:, None], self)

    def seen_from(self, X: Pose) -> "Force":
        """The same force in the frame in which `X` is the pose of the present one."""
        f = X.R @ self.lin
        return Force(X.R @ self.ang + X.p.cross(f), f)


class Inertia(NamedTuple):
    """Mass, first and second moments of mass: the pseudo-inertia of a rigid body."""

    mass: Scalar
    h: Vec
    second: Sym

    def __add__(self, other: "Inertia") -> "Inertia":
        return Inertia(
            self.mass + other.mass, self.h + other.h, self.second + other.second
        )

    @staticmethod
    def of(pseudo_inertia: Array) -> "Inertia":
        """From 4×4 pseudo-inertias on the two last axes."""
        J = lambda i, j: pseudo_inertia[..., i, j]
        second = Sym(J(0, 0), J(0, 1), J(1, 1), J(0, 2), J(1, 2), J(2, 2))
        return Inertia(J(3, 3), Vec(J(0, 3), J(1, 3), J(2, 3)), second)

    def seen_from(self, X: Pose) -> "Inertia":
        """The same body in the frame in which `X` is the pose of the present one."""
        h = X.R @ self.h
        second = self.second.turned(X.R) + mixed_outer(X.p, h) + outer(X.p) * self.mass
        return Inertia(self.mass, h + X.p * self.mass, second)

    @staticmethod
    def zero(like: Numbers) -> "Inertia":
        """No body, of the shape and type of an array."""
        zero = jnp.zeros_like(like)
        return Inertia(zero, Vec.zero(like), Sym(*6 * [zero]))

    def __matmul__(self, v: Motion) -> Force:
        """Momentum of the body at a velocity."""
        I = self.second.complement()
        return Force(
            I @ v.ang + self.h.cross(v.lin), v.lin * self.mass - self.h.cross(v.ang)
        )


class ArticulatedInertia(NamedTuple):
    """How the force on a link grows with its acceleration, joints beyond it being free.

    A symmetric 6×6 matrix `[[I, H], [Hᵀ, M]]`, angular part first.
    """

    I: Sym
    H: Mat
    M: Sym

    @staticmethod
    def of(body: Inertia) -> "ArticulatedInertia":
        """A rigid body."""
        zero, h, m = jnp.zeros_like(body.mass), body.h, body.mass
        H = Mat(Vec(zero, h.z, -h.y), Vec(-h.z, zero, h.x), Vec(h.y, -h.x, zero))
        return ArticulatedInertia(
            body.second.complement(), H, Sym(m, zero, m, zero, zero, m)
        )

    @staticmethod
    def zero(like: Numbers) -> "ArticulatedInertia":
        """No inertia, of the shape and type of an array."""
        return ArticulatedInertia.of(Inertia.zero(like))

    def __add__(self, other: "ArticulatedInertia") -> "ArticulatedInertia":
        return ArticulatedInertia(self.I + other.I, self.H + other.H, self.M + other.M)

    def __matmul__(self, a: Motion) -> Force:
        """Force at an acceleration."""
        return Force(self.I @ a.ang + self.H @ a.lin, self.H.back(a.ang) + self.M @ a.lin)

    def yielding(self, U: Force, D: Scalar) -> "ArticulatedInertia":
        """What is left of it when a joint yields: `I - U Uᵀ / D`."""
        n, f = U.ang, U.lin
        g = f * (-1 / D)
        return ArticulatedInertia(
            self.I - outer(n) * (1 / D),
            self.H + Mat(n * g.x, n * g.y, n * g.z),
            self.M - outer(f) * (1 / D),
        )
