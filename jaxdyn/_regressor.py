"""The regressor: inverse dynamics as a linear function of the inertial parameters."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._algebra import Motion, Pose, Scalar, Vec
from ._joints import Flow, Position
from ._links import Link, links, rows
from ._model import Model
from ._sample import sample_function
from ._tree import ancestry, chains, outward


@sample_function
def torque_regressor(
    model: Model,
    q: Float[Array, "nq"],
    qd: Float[Array, "nv"],
    qdd: Float[Array, "nv"],
) -> Float[Array, "nv 10*nb"]:
    """Matrix `Y` of inverse dynamics as a linear function of the inertial parameters.

    `inverse_dynamics(model, q, qd, qdd) = Y model.inertial.ravel() + armature qdd`. The
    ten columns of a body are `Jᵀ B`: `B` its own regressor, the force on the body for
    each parameter at unit value, and `J` the Jacobian of its frame.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        qd: Joint velocities. [rad/s or m/s]
        qdd: Joint accelerations. [rad/s² or m/s²]

    Returns:
        The regressor, ten columns for each body in the order of `model.inertial`; zero
        where a joint does not carry a body.

    References:
        Atkeson, An, Hollerbach, *Estimation of inertial parameters of manipulator loads
        and links*, International Journal of Robotics Research, 1986.
    """
    tree = links(model).rooted()

    def accelerate(parent: tuple[Pose, Flow], link: Link, x):
        above, flow = parent
        q, qd, qdd = x
        step = link.joint.pose(link.placement, q)
        X = above @ step
        flow = link.joint.moved(flow.carried(step), qd, qdd)
        return (X, flow), (X, flow, link.joint.axis(X))

    like = model.gravity[0]
    world = Pose.identity(like), Flow.of_world(model.gravity)
    motion = (Position.of(q - model.ref), qd, qdd)
    X, flow, S = outward(tree, accelerate, world, motion)

    Y = jnp.zeros((model.nv, 10 * model.nb), like.dtype)
    for group in _groups(tree.parents, tree.link_of_body):
        axes = [jax.tree.map(lambda x: x[j], S) for j in group.joints]  # noqa: B023

        def write(Y, x, axes=axes, joints=group.joints):
            X, flow, placement, moves, column = x
            forces = _BodyRegressor.of(flow.carried(placement))
            X = X @ placement
            J = [_seen_from_body(S, X, moves[i]) for i, S in enumerate(axes)]
            J, forces = jax.lax.optimization_barrier((J, forces))
            block = jax.lax.optimization_barrier([forces.row(S) for S in J])
            block = jnp.stack(jax.tree.leaves(block)).reshape(len(axes), 10)
            for run in _runs(joints):
                part = block[joints.index(run[0]) :][: len(run)]
                Y = jax.lax.dynamic_update_slice(Y, part, (run[0], column))
            return Y, ()

        carriers = [tree.link_of_body[b] for b in group.bodies]
        moves = ancestry(tree.parents)[np.ix_(carriers, group.joints)]
        columns = 10 * np.array(group.bodies)
        placement = rows(tree.body_placement, group.bodies)
        x = (rows(X, carriers), rows(flow, carriers), placement, moves, columns)
        Y, _ = jax.lax.scan(write, Y, x)
    return Y


class _Group(NamedTuple):
    """Bodies on a few successive links of a chain, and the joints that move them."""

    bodies: list[int]
    joints: list[int]


def _groups(
    parents: tuple[int, ...], link_of_body: tuple[int, ...], most: int = 4
) -> list[_Group]:
    """All moving bodies, in groups over at most so many links of a chain.

    One scan handles a group, and computes a row for each joint that moves any of its
    bodies: long groups waste rows, short ones compile longer.
    """
    groups = []
    for chain in chains(parents):
        pieces = -(-(chain.stop - chain.start) // most)
        for links in np.array_split(np.arange(chain.start, chain.stop), pieces):
            bodies = [b for b, link in enumerate(link_of_body) if link in links]
            joints = np.flatnonzero(ancestry(parents)[links[-1]]).tolist()
            groups.append(_Group(bodies, joints))
    return [group for group in groups if group.bodies]


def _runs(index: list[int]) -> list[list[int]]:
    """An increasing list cut where it skips a number."""
    cuts = np.flatnonzero(np.diff(index) != 1) + 1
    return [run.tolist() for run in np.split(np.array(index), cuts)]


def _seen_from_body(S: Motion, X: Pose, moves: Array) -> Motion:
    """A joint's axis in the frame of a body at `X`; zero if it does not move it."""
    S = jax.tree.map(lambda x: jnp.where(moves, x, 0), S)
    return Motion(X.R.back(S.ang), X.R.back(S.lin + S.ang.cross(X.p)))


class _BodyRegressor(NamedTuple):
    """Force on a body for each of its parameters: `B` with `[f; n] = B pi`."""

    a: Vec
    K: tuple[Vec, Vec, Vec]
    moments: tuple[Vec, ...]

    @staticmethod
    def of(flow: Flow) -> "_BodyRegressor":
        """Of a body whose frame moves so."""
        w, dw, a = flow
        xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
        xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
        moments = (
            Vec(dw.x, xz, -xy),
            Vec(dw.y - xz, dw.x + yz, xx - yy),
            Vec(-yz, dw.y, xy),
            Vec(dw.z + xy, zz - xx, dw.x - yz),
            Vec(yy - zz, dw.z - xy, dw.y + xz),
            Vec(yz, -xz, dw.z),
        )
        return _BodyRegressor(a, tuple(flow.gradient()), moments)

    def row(self, S: Motion) -> tuple[Scalar, ...]:
        """Power of the force on a motion of the body, for each of the ten parameters."""
        first = [k.dot(S.lin) for k in self.K]
        turning = self.a.cross(S.ang)
        return (
            self.a.dot(S.lin),
            first[0] + turning.x,
            first[1] + turning.y,
            first[2] + turning.z,
            *(e.dot(S.ang) for e in self.moments),
        )
