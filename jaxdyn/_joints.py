"""What a joint does to the link that it carries.

Every joint has a frame of its own, fixed in the link: origin on the joint's axis, z along
it. A link is described in that frame, so that the joint's axis is always `z`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from ._algebra import Force, Inertia, Mat, Motion, Numbers, Pose, Scalar, Vec
from ._sincos import sincos


class Flow(NamedTuple):
    """How a link moves: velocities and accelerations, in its own axes."""

    w: Vec
    """Angular velocity. [rad/s]"""
    dw: Vec
    """Angular acceleration. [rad/s²]"""
    a: Vec
    """Acceleration of the origin, less that of free fall. [m/s²]"""

    @staticmethod
    def of_world(gravity: Numbers) -> "Flow":
        """The world at rest, which does not fall."""
        zero = Vec.zero(gravity[0])
        return Flow(zero, zero, -Vec.of(gravity))

    def gradient(self) -> Mat:
        """`K = [dw]× + [w]×[w]×`: the point `r` of the link accelerates by `a + K r`."""
        w, dw = self.w, self.dw
        xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
        xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
        return Mat(
            Vec(-yy - zz, xy + dw.z, xz - dw.y),
            Vec(xy - dw.z, -xx - zz, yz + dw.x),
            Vec(xz + dw.y, yz - dw.x, -xx - yy),
        )

    def carried(self, X: Pose) -> "Flow":
        """The same motion at the origin and in the axes of a frame at `X`."""
        a = self.a + self.gradient() @ X.p
        return Flow(X.R.back(self.w), X.R.back(self.dw), X.R.back(a))

    def force(self, body: Inertia) -> Force:
        """Force that moves a body so: `f = ∫ a + K r dm`, `n = ∫ r × (a + K r) dm`."""
        K = self.gradient()
        x, y, z = K.T
        S = body.second
        Sx, Sy, Sz = Vec(S.xx, S.xy, S.xz), Vec(S.xy, S.yy, S.yz), Vec(S.xz, S.yz, S.zz)
        turning = Vec(z.dot(Sy) - y.dot(Sz), x.dot(Sz) - z.dot(Sx), y.dot(Sx) - x.dot(Sy))
        return Force(turning + body.h.cross(self.a), self.a * body.mass + K @ body.h)


class Position(NamedTuple):
    """Displacement of a joint from its placement, with its cosine and sine.

    Taken once for all joints, before the walk: XLA would compute them anew for each use.
    """

    q: Array
    cos: Array
    sin: Array

    @staticmethod
    def of(q: Array) -> "Position":
        """Of displacements [rad or m]."""
        sin, cos = sincos(q)
        return jax.lax.optimization_barrier(Position(q, cos, sin))


class Hinge(NamedTuple):
    """Rotation about z."""

    def pose(self, placement: Pose, q: Position) -> Pose:
        """The link in its parent, displaced by `q` from its placement."""
        R = placement.R.turned_about_z(q.cos, q.sin)
        return Pose(R, placement.p)

    def moved(self, carried: Flow, qd: Scalar, qdd: Scalar) -> Flow:
        """The flow of the link, that of its parent at the same place being known."""
        w, dw, a = carried
        dw = Vec(dw.x + w.y * qd, dw.y - w.x * qd, dw.z + qdd)
        return Flow(Vec(w.x, w.y, w.z + qd), dw, a)

    def axis(self, X: Pose) -> Motion:
        """Motion of the link at unit speed, in the frame in which `X` is its pose."""
        return Motion(X.R.z, X.p.cross(X.R.z))

    def effort(self, f: Force) -> Scalar:
        """What the joint exerts of a force on the link, in the link's frame."""
        return f.ang.z


class Slide(NamedTuple):
    """Translation along z."""

    def pose(self, placement: Pose, q: Position) -> Pose:
        """The link in its parent, displaced by `q` from its placement."""
        return Pose(placement.R, placement.p + placement.R.z * q.q)

    def moved(self, carried: Flow, qd: Scalar, qdd: Scalar) -> Flow:
        """The flow of the link, that of its parent at the same place being known."""
        w, dw, a = carried
        a = Vec(a.x + 2 * w.y * qd, a.y - 2 * w.x * qd, a.z + qdd)
        return Flow(w, dw, a)

    def axis(self, X: Pose) -> Motion:
        """Motion of the link at unit speed, in the frame in which `X` is its pose."""
        zero = jnp.zeros_like(X.R.z.x)
        return Motion(Vec(zero, zero, zero), X.R.z)

    def effort(self, f: Force) -> Scalar:
        """What the joint exerts of a force on the link, in the link's frame."""
        return f.lin.z


class Either(NamedTuple):
    """A hinge where `turns` is 1, a slide where it is 0: for chains that mix them."""

    turns: Scalar

    def _split(self, x: Scalar) -> tuple[Scalar, Scalar]:
        return self.turns * x, (1 - self.turns) * x

    def pose(self, placement: Pose, q: Position) -> Pose:
        """The link in its parent, displaced by `q` from its placement."""
        turned, shifted = Hinge().pose(placement, q), Slide().pose(placement, q)
        mix = lambda hinge, slide: jnp.where(self.turns == 1, hinge, slide)
        return jax.tree.map(mix, turned, shifted)

    def moved(self, carried: Flow, qd: Scalar, qdd: Scalar) -> Flow:
        """The flow of the link, that of its parent at the same place being known."""
        (spin, speed), (dspin, dspeed) = self._split(qd), self._split(qdd)
        return Hinge().moved(Slide().moved(carried, speed, dspeed), spin, dspin)

    def axis(self, X: Pose) -> Motion:
        """Motion of the link at unit speed, in the frame in which `X` is its pose."""
        hinge, slide = Hinge().axis(X), Slide().axis(X)
        return hinge * self.turns + slide * (1 - self.turns)

    def effort(self, f: Force) -> Scalar:
        """What the joint exerts of a force on the link, in the link's frame."""
        return self.turns * f.ang.z + (1 - self.turns) * f.lin.z


type Joint = Hinge | Slide | Either
