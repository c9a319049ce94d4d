"""The equations of motion, both ways: `tau = M(q) qdd + b(q, qd)`."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._algebra import ArticulatedInertia, Force, Inertia, Motion, Pose, Vec
from ._joints import Flow, Position
from ._links import Link, links
from ._model import Model
from ._sample import sample_function
from ._tree import ancestry, inward, outward


@sample_function
def inverse_dynamics(
    model: Model,
    q: Float[Array, "nq"],
    qd: Float[Array, "nv"],
    qdd: Float[Array, "nv"],
    *,
    passive: bool = False,
) -> Float[Array, "nv"]:
    """Joint forces that produce a given motion: `tau = M(q) qdd + b(q, qd)`.

    The recursive Newton-Euler algorithm (RNEA), each link in its own frame. Linear in
    `model.inertial` and `model.armature`; the exact inverse of `forward_dynamics`.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        qd: Joint velocities. [rad/s or m/s]
        qdd: Joint accelerations. [rad/s² or m/s²]
        passive: Whether the joints' damping acts too.

    Returns:
        Joint torques or forces. [N m or N]

    References:
        Luh, Walker, Paul, *On-line computational scheme for mechanical manipulators*,
        Journal of Dynamic Systems, Measurement, and Control, 1980.
        Featherstone, *Rigid Body Dynamics Algorithms*, 2008, chapter 5.
    """
    tree = links(model)

    def accelerate(parent: Flow, link: Link, x):
        q, qd, qdd, inertia = x
        X = link.joint.pose(link.placement, q)
        flow = link.joint.moved(parent.carried(X), qd, qdd)
        return flow, (X, flow.force(inertia))

    def transmit(children: Force, link: Link, x):
        X, own = x
        f = own + children
        return f.seen_from(X), link.joint.effort(f)

    falling = Flow.of_world(model.gravity)
    X, f = outward(
        tree, accelerate, falling, (Position.of(q - model.ref), qd, qdd, tree.inertia)
    )
    tau = inward(tree, transmit, Force.zero(model.gravity[0]), (X, f))
    tau = tau + model.armature * qdd
    return tau - passive_force(model, qd) if passive else tau


def passive_force(model: Model, qd: Float[Array, "nv"]) -> Float[Array, "nv"]:
    """Forces that the joints exert by themselves: viscous damping. [N m or N]"""
    return -qd * model.damping


@sample_function
def bias_force(
    model: Model, q: Float[Array, "nq"], qd: Float[Array, "nv"]
) -> Float[Array, "nv"]:
    """Coriolis, centrifugal and gravity forces: `b(q, qd) = C(q, qd) qd + g(q)`.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        qd: Joint velocities. [rad/s or m/s]

    Returns:
        Joint torques or forces at zero acceleration. [N m or N]
    """
    return inverse_dynamics(model, q, qd, jnp.zeros_like(qd))


@sample_function
def gravity_force(model: Model, q: Float[Array, "nq"]) -> Float[Array, "nv"]:
    """Forces that hold the robot at rest: `g(q) = ∂U/∂q`, U the gravity energy.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]

    Returns:
        Joint torques or forces. [N m or N]
    """
    rest = jnp.zeros(model.nv, q.dtype)
    return inverse_dynamics(model, q, rest, rest)


@sample_function
def mass_matrix(model: Model, q: Float[Array, "nq"]) -> Float[Array, "nv nv"]:
    """Joint-space inertia `M(q)`, armature included; exactly symmetric.

    The composite-rigid-body algorithm (CRBA), in axes of the world at the root of each
    tree: `M[i, j] = S_j · I_i S_i` for `j` that carries `i`, `I_i` the inertia of all
    that `i` carries.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]

    Returns:
        The mass matrix. [kg m², kg m or kg]

    References:
        Featherstone, *Rigid Body Dynamics Algorithms*, 2008, chapter 6.
    """
    tree = links(model).rooted()

    def place(parent: Pose, link: Link, x):
        q, inertia = x
        X = parent @ link.joint.pose(link.placement, q)
        return X, (link.joint.axis(X), inertia.seen_from(X))

    def compose(children: Inertia, link: Link, x):
        S, own = x
        composite = own + children
        return composite, composite @ S

    world = Pose.identity(model.gravity[0])
    S, I = outward(tree, place, world, (Position.of(q - model.ref), tree.inertia))
    F = inward(tree, compose, Inertia.zero(model.gravity[0]), (S, I))

    carries = ancestry(tree.parents)
    M = jax.lax.optimization_barrier(S.across().dot(F.down()))
    M = jnp.where(carries, M, jnp.where(carries.T, M.T, 0))
    return M + jnp.diag(model.armature)


@sample_function
def forward_dynamics(
    model: Model,
    q: Float[Array, "nq"],
    qd: Float[Array, "nv"],
    tau: Float[Array, "nv"],
    *,
    passive: bool = False,
) -> Float[Array, "nv"]:
    """Accelerations that joint forces produce: `qdd = M(q)⁻¹ (tau - b(q, qd))`.

    The articulated-body algorithm (ABA), in axes of the world at the root of each tree.
    The exact inverse of `inverse_dynamics`.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        qd: Joint velocities. [rad/s or m/s]
        tau: Joint torques or forces. [N m or N]
        passive: Whether the joints' damping acts too.

    Returns:
        Joint accelerations. [rad/s² or m/s²]

    References:
        Featherstone, *Rigid Body Dynamics Algorithms*, 2008, chapter 7.
    """
    tree = links(model).rooted()

    def place(parent: tuple[Pose, Motion], link: Link, x):
        X, v = parent
        q, qd, inertia = x
        X = X @ link.joint.pose(link.placement, q)
        S = link.joint.axis(X)
        vJ = S * qd
        v = v + vJ
        I = inertia.seen_from(X)
        return (X, v), (S, v.cross(vJ), I, v.cross_force(I @ v))

    def yielding(children: tuple[ArticulatedInertia, Force], link: Link, x):
        S, c, I, p, tau, armature = x
        I, p = ArticulatedInertia.of(I) + children[0], p + children[1]
        U = I @ S
        D = S.dot(U) + armature
        u = tau - S.dot(p)
        I = I.yielding(U, D)
        p = p + I @ c + U * (u / D)
        return (I, p), (S, c, U, 1 / D, u)

    def accelerate(parent: Motion, link: Link, x):
        S, c, U, D_inverse, u = x
        a = parent + c
        qdd = (u - a.dot(U)) * D_inverse
        return a + S * qdd, qdd

    if passive:
        tau = tau + passive_force(model, qd)
    like = model.gravity[0]
    rest = Pose.identity(like), Motion.zero(like)
    S, c, I, p = outward(
        tree, place, rest, (Position.of(q - model.ref), qd, tree.inertia)
    )
    nothing = ArticulatedInertia.zero(like), Force.zero(like)
    joints = inward(tree, yielding, nothing, (S, c, I, p, tau, model.armature))
    falling = Motion(Vec.zero(like), -Vec.of(model.gravity))
    return outward(tree, accelerate, falling, joints)
