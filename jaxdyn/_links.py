"""From the bodies of a file to the links of the equations of motion.

A link is what one joint moves rigidly: a body, or nothing where the body has further
joints, and all that is welded to it. Link `i` belongs to joint `i` and is described in
the frame of that joint.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ._algebra import Inertia, Mat, Pose, Vec
from ._joints import Either, Hinge, Joint, Slide
from ._model import WORLD, Model


class Link(NamedTuple):
    """How a link hangs on its parent; or several links of one chain, stacked."""

    joint: Joint
    placement: Pose
    """The link in its parent, joint at `ref`."""


class Links(NamedTuple):
    """All links of a model, and where its bodies are in them."""

    parents: tuple[int, ...]
    """Link that carries each link; `-1` is the world."""
    types: tuple[str, ...]
    """Type of the joint of each link."""
    placement: Pose
    """Each link in its parent, joint at `ref`."""
    armature: Array
    """Rotor inertia at each joint."""
    link_of_body: tuple[int, ...]
    """Link that each body belongs to; `-1` is the world."""
    body_placement: Pose
    """Each body in its link, or in the world."""
    body_inertia: Inertia
    """Each body in its own frame."""

    @property
    def inertia(self) -> Inertia:
        """Each link, with all that is welded to it, in its own frame."""
        bodies = self.body_inertia.seen_from(self.body_placement)
        if self.link_of_body == tuple(range(len(self.parents))):
            return bodies
        link = np.array(self.link_of_body, int) % (len(self.parents) + 1)
        total = jnp.zeros((len(self.parents) + 1, 10), self.armature.dtype)
        total = total.at[link].add(bodies.parameters())[:-1]
        return Inertia.from_parameters(total)

    def rooted(self) -> "Links":
        """The same links, the origin of each tree being that of its first link.

        Where a tree stands makes no difference to its dynamics, but rounding grows with
        the distance from the origin.
        """
        root = np.equal(self.parents, WORLD)
        p = jax.tree.map(lambda p: jnp.where(root, 0, p), self.placement.p)
        return self._replace(placement=self.placement._replace(p=p))

    def chain(self, links: slice) -> Link:
        """The links of one chain."""
        kinds = set(self.types[links])
        match sorted(kinds):
            case ["hinge"]:
                joint = Hinge()
            case ["slide"]:
                joint = Slide()
            case _:
                turns = [kind == "hinge" for kind in self.types[links]]
                joint = Either(jnp.asarray(turns, self.armature.dtype))
        return Link(
            joint,
            jax.tree.map(lambda x: x[links], self.placement),
        )


def links(model: Model) -> Links:
    """The links of a model."""
    body = pose(model.pos, model.quat)
    frame = Pose(_along_z(model.axis), Vec.of(model.anchor))
    last_joint = {b: j for j, b in enumerate(model.joint_bodies)}

    # Poses of known frames in their links. Row 0 is the world in itself; row j + 1 is
    # the body of joint j, which the frame of the joint is fixed in; then come the bodies
    # that are welded, those nearest to a link first.
    known = _joined(Pose.identity(jnp.zeros(1, model.pos.dtype)), frame.inverse())
    row = {WORLD: 0} | {b: j + 1 for b, j in last_joint.items()}
    link = {WORLD: WORLD} | last_joint
    welded = [b for b in range(model.nb) if b not in row]
    while welded:
        near = [b for b in welded if model.parents[b] in row]
        above = [model.parents[b] for b in near]
        poses = rows(known, [row[p] for p in above]) @ rows(body, near)
        row |= {b: known.p.x.shape[0] + i for i, b in enumerate(near)}
        link |= {b: link[p] for b, p in zip(near, above, strict=True)}
        known = _joined(known, poses)
        welded = [b for b in welded if b not in row]

    # The first joint of a body stands where its body is in the parent, a further joint
    # in the body as the one before has moved it.
    first = [b not in model.joint_bodies[:j] for j, b in enumerate(model.joint_bodies)]
    parent = [model.parents[b] for b in model.joint_bodies]
    carrier = [row[p] if f else j for j, (p, f) in enumerate(zip(parent, first, strict=True))]
    base = rows(known, carrier)
    placed = rows(body, list(model.joint_bodies))
    if not all(first):
        stays = np.asarray(first)
        identity = Pose.identity(jnp.zeros(1, model.pos.dtype))
        placed = jax.tree.map(lambda x, one: jnp.where(stays, x, one), placed, identity)

    return Links(
        parents=tuple(
            link[p] if f else j - 1
            for j, (p, f) in enumerate(zip(parent, first, strict=True))
        ),
        types=model.joint_types,
        placement=base @ placed @ frame,
        armature=model.armature,
        link_of_body=tuple(link[b] for b in range(model.nb)),
        body_placement=rows(known, [row[b] for b in range(model.nb)]),
        body_inertia=Inertia.from_parameters(model.inertial),
    )


def rows[T](tree: T, index: Sequence[int]) -> T:
    """Some rows of all leaves, by slices: a batched gather costs more than arithmetic."""
    cuts = np.flatnonzero(np.diff(index) != 1) + 1
    runs = [slice(run[0], run[-1] + 1) for run in np.split(np.array(index), cuts) if run.size]
    return jax.tree.map(
        lambda x: x[runs[0]] if len(runs) == 1 else jnp.concatenate([x[:0], *(x[r] for r in runs)]), tree
    )


def pose(pos: Array, quat: Array) -> Pose:
    """Frames at positions and quaternions, the latter of any length."""
    return Pose(_rotation(quat), Vec.of(pos))


def _joined(*poses: Pose) -> Pose:
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *poses)


def _rotation(quat: Array) -> Mat:
    """Rotation matrices of quaternions of any length."""
    w, x, y, z = (quat[..., k] for k in range(4))
    s = 2 / (w * w + x * x + y * y + z * z)
    return Mat(
        Vec(1 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)),
        Vec(s * (x * y - w * z), 1 - s * (x * x + z * z), s * (y * z + w * x)),
        Vec(s * (x * z + w * y), s * (y * z - w * x), 1 - s * (x * x + y * y)),
    )


def _along_z(axis: Array) -> Mat:
    """Rotation matrices whose z is along an axis of any length; 1 for z itself.

    References:
        Duff, Burgess, Christensen, Hery, Kensler, Liani, Villemin, *Building an
        Orthonormal Basis, Revisited*, Journal of Computer Graphics Techniques, 2017.
    """
    z = Vec.of(axis)
    z = z * (1 / jnp.sqrt(z.dot(z)))
    sign = jnp.where(z.z < 0, -1, 1).astype(axis.dtype)
    a = -1 / (sign + z.z)
    b = z.x * z.y * a
    x = Vec(1 + sign * z.x * z.x * a, sign * b, -sign * z.x)
    y = Vec(b, sign + z.y * z.y * a, -z.y)
    return Mat(x, y, z)
