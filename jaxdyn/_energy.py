"""Energies."""

from jaxtyping import Array, Float

from ._algebra import Motion, Pose
from ._joints import Position
from ._kinematics import forward_kinematics
from ._links import Link, links
from ._model import Model
from ._sample import sample_function
from ._tree import outward


@sample_function
def kinetic_energy(
    model: Model, q: Float[Array, "nq"], qd: Float[Array, "nv"]
) -> Float[Array, ""]:
    """Kinetic energy `½ qdᵀ M(q) qd`, that of the rotors (armature) included.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        qd: Joint velocities. [rad/s or m/s]

    Returns:
        The energy. [J]
    """
    tree = links(model).rooted()

    def move(parent: tuple[Pose, Motion], link: Link, x):
        X, v = parent
        q, qd, inertia = x
        X = X @ link.joint.pose(link.placement, q)
        v = v + link.joint.axis(X) * qd
        return (X, v), v.dot(inertia.seen_from(X) @ v)

    like = model.gravity[0]
    rest = Pose.identity(like), Motion.zero(like)
    twice = outward(tree, move, rest, (Position.of(q - model.ref), qd, tree.inertia))
    return (twice.sum() + (model.armature * qd * qd).sum()) / 2


@sample_function
def gravity_energy(model: Model, q: Float[Array, "nq"]) -> Float[Array, ""]:
    """Potential energy of weight, `U(q) = -Σ m gᵀc`; zero at the world's origin.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]

    Returns:
        The energy. [J]
    """
    poses = forward_kinematics(model, q)
    mass, h = model.inertial[:, 0], model.inertial[:, 1:4]
    moment = (poses[:, :3, :3] * h[:, None, :]).sum(-1) + mass[:, None] * poses[:, :3, 3]
    return -(moment.sum(0) * model.gravity).sum()
