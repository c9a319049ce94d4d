"""The regressor: inverse dynamics as a linear function of the inertial parameters."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._algebra import Motion, Pose, Scalar, Vec
from ._joints import Flow, Position
from ._links import Link, links, rows
from ._model import Model, WORLD
from ._sample import sample_function
from ._tree import ancestry, outward


@sample_function
def torque_regressor(
    model: Model,
    q: Float[Array, "nq"],
    qd: Float[Array, "nv"],
    qdd: Float[Array, "nv"],
) -> Float[Array, "nv {10*model.nb}"]:
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
    X, flow, S_world = outward(tree, accelerate, world, motion)

    moving = [b for b, link in enumerate(tree.link_of_body) if link != WORLD]
    carrier = [tree.link_of_body[b] for b in moving]

    def regress(_, x):
        X, flow, placement = x
        regressor = _BodyRegressor.of(flow.carried(placement))
        return (), jax.lax.optimization_barrier((X @ placement, regressor))

    x = (rows(X, carrier), rows(flow, carrier), rows(tree.body_placement, moving))
    _, bodies = jax.lax.scan(regress, (), x)

    # One step for each joint and body that it moves: a dense product would be mostly
    # zeros, and an unrolled one would take a minute to compile for a humanoid.
    def write(Y, pair):
        joint, body, column = pair
        S = _row(S_world, joint)
        X, B = _row(bodies, body)
        S = Motion(X.R.back(S.ang), X.R.back(S.lin + S.ang.cross(X.p)))
        row = jax.lax.optimization_barrier(B.row(jax.lax.optimization_barrier(S)))
        return jax.lax.dynamic_update_slice(Y, jnp.stack(row)[None], (joint, column)), ()

    joint, body = np.nonzero(ancestry(tree.parents)[carrier].T)
    column = 10 * np.array(moving, int)[body]
    Y = jnp.zeros((model.nv, 10 * model.nb), like.dtype)
    if moving:
        Y, _ = jax.lax.scan(write, Y, (joint, body, column))
    return Y


def _row[T](tree: T, i: Array) -> T:
    return jax.tree.map(
        lambda x: jax.lax.dynamic_index_in_dim(x, i, keepdims=False), tree
    )


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
