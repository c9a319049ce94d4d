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

from ._algebra import Inertia, Mat, Numbers, Pose, Vec
from ._inertia import pseudo_inertia
from ._joints import Either, Hinge, Joint, Slide
from ._model import Model, WORLD


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
    inertia: Inertia
    """Each link, with all that is welded to it, in its own frame."""
    link_of_body: tuple[int, ...]
    """Link that each body belongs to; `-1` is the world."""
    body_placement: Pose
    """Each body in its link, or in the world."""

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
                joint = Either(jnp.asarray(turns, jnp.result_type(self.placement.p.x)))
        return Link(
            joint,
            jax.tree.map(lambda x: x[links], self.placement),
        )


def links(model: Model) -> Links:
    """The links of a model."""
    T_body = pose(model.pos, model.quat).matrix()
    T_joint = Pose(_along_z(model.axis), Vec.of(model.anchor))
    last_joint = {b: j for j, b in enumerate(model.joint_bodies)}

    # Bodies in their links. Row 0 is the world in itself; row j + 1 is the body of joint
    # j, which the frame of the joint is fixed in; then come the bodies that are welded,
    # those nearest to a link first.
    known = jnp.concatenate(
        [jnp.eye(4, dtype=model.pos.dtype)[None], T_joint.inverse().matrix()]
    )
    row = {WORLD: 0} | {b: j + 1 for b, j in last_joint.items()}
    link = {WORLD: WORLD} | last_joint
    welded = [b for b in range(model.nb) if b not in row]
    while welded:
        near = [b for b in welded if model.parents[b] in row]
        above = [model.parents[b] for b in near]
        placed = _product(rows(known, [row[p] for p in above]), rows(T_body, near))
        row |= {b: known.shape[0] + i for i, b in enumerate(near)}
        link |= {b: link[p] for b, p in zip(near, above, strict=True)}
        known = jnp.concatenate([known, placed])
        welded = [b for b in welded if b not in row]

    # The first joint of a body stands where the body is in its parent; a further one
    # stands in the body itself, as the joint before has moved it.
    parents, bases, placed = [], [], []
    for j, b in enumerate(model.joint_bodies):
        first = b not in model.joint_bodies[:j]
        parents.append(link[model.parents[b]] if first else j - 1)
        bases.append(row[model.parents[b]] if first else j)
        placed.append(b if first else model.nb)
    T_body = jnp.concatenate([T_body, known[:1]])
    base = _product(rows(known, bases), rows(T_body, placed))

    link_of_body = tuple(link[b] for b in range(model.nb))
    body_placement = rows(known, [row[b] for b in range(model.nb)])
    J = jax.vmap(pseudo_inertia)(model.inertial)
    J = _product(_product(body_placement, J), jnp.swapaxes(body_placement, 1, 2))
    if link_of_body != tuple(range(model.nj)):
        last = np.array(link_of_body, int) % (model.nj + 1)
        J = jnp.zeros((model.nj + 1, 4, 4), J.dtype).at[last].add(J)[:-1]
    return Links(
        parents=tuple(parents),
        types=model.joint_types,
        placement=Pose.of(_product(base, T_joint.matrix())),
        inertia=Inertia.of(J),
        link_of_body=link_of_body,
        body_placement=Pose.of(body_placement),
    )


def rows[T](tree: T, index: Sequence[int]) -> T:
    """Some rows of all leaves, by slices: a batched gather costs more than arithmetic."""
    cuts = np.flatnonzero(np.diff(index) != 1) + 1
    runs = [run for run in np.split(np.array(index, int), cuts) if run.size]
    parts = [slice(run[0], run[-1] + 1) for run in runs] or [slice(0, 0)]
    if len(parts) == 1:
        return jax.tree.map(lambda x: x[parts[0]], tree)
    return jax.tree.map(lambda x: jnp.concatenate([x[part] for part in parts]), tree)


def pose(pos: Numbers, quat: Numbers) -> Pose:
    """Frames at positions and quaternions, the latter of any length."""
    return Pose(_rotation(quat), Vec.of(pos))


def _product(A: Numbers, B: Numbers) -> Array:
    """Products of stacked matrices; elementwise, as XLA has no fast small ones."""
    return (jnp.expand_dims(A, -1) * jnp.expand_dims(B, -3)).sum(-2)


def _rotation(quat: Numbers) -> Mat:
    """Rotation matrices of quaternions of any length."""
    w, x, y, z = (quat[..., k] for k in range(4))
    s = 2 / (w * w + x * x + y * y + z * z)
    return Mat(
        Vec(1 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)),
        Vec(s * (x * y - w * z), 1 - s * (x * x + z * z), s * (y * z + w * x)),
        Vec(s * (x * z + w * y), s * (y * z - w * x), 1 - s * (x * x + y * y)),
    )


def _along_z(axis: Numbers) -> Mat:
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
