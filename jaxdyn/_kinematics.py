"""Where bodies and sites are, and how they move with the joints."""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._algebra import Motion, Pose
from ._joints import Position
from ._links import Link, Links, links, pose, rows
from ._model import Model, WORLD
from ._sample import sample_function
from ._tree import ancestry, outward


ReferenceFrame = Literal["world", "local", "local_world_aligned"]


@sample_function
def forward_kinematics(model: Model, q: Float[Array, "nq"]) -> Float[Array, "nb 4 4"]:
    """Pose of every body in the world, `T_world_body`.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]

    Returns:
        Homogeneous matrices, whose last column holds the origin of the body. [m]
    """
    tree = links(model)
    X, _ = _walk(tree, model, q)
    carriers = [link + 1 for link in tree.link_of_body]
    return (rows(X, carriers) @ tree.body_placement).matrix()


@sample_function
def frame_pose(model: Model, q: Float[Array, "nq"], frame: str) -> Float[Array, "4 4"]:
    """Pose of a body or site in the world, `T_world_frame`.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        frame: Name of the body or site; `"body:NAME"` or `"site:NAME"` where both exist.

    Returns:
        The homogeneous matrix, whose last column holds the origin of the frame. [m]

    Raises:
        KeyError: If there is no such frame; the message offers the closest name.
        ValueError: If a body and a site both have that name.
    """
    tree = links(model)
    X, _ = _walk(tree, model, q)
    return _frame(tree, model, X, frame)[1].matrix()


@sample_function
def frame_jacobian(
    model: Model, q: Float[Array, "nq"], frame: str, *, reference: ReferenceFrame
) -> Float[Array, "6 nv"]:
    """Jacobian of a body or site: its velocity is `J qd`, linear rows first.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        frame: Name of the body or site; `"body:NAME"` or `"site:NAME"` where both exist.
        reference: Which point's linear velocity, in whose axes, as in Pinocchio:
            `"world"`, that of the point of the frame now at the world's origin, world
            axes; `"local"`, that of the frame's origin, frame axes;
            `"local_world_aligned"`, that of the frame's origin, world axes, as in
            MuJoCo's `mj_jac`.

    Returns:
        The Jacobian. [m/rad or 1 above, rad/rad or rad/m below]

    Raises:
        KeyError: If there is no such frame; the message offers the closest name.
        ValueError: If a body and a site both have that name, or the reference is none
            of the three.
    """
    tree = links(model)
    X, S = _walk(tree, model, q)
    link, T = _frame(tree, model, X, frame)
    moves = ancestry(tree.parents)[link] if link != WORLD else np.zeros(model.nv, bool)
    J = jax.tree.map(lambda x: jnp.where(moves, x, 0), S)
    match reference:
        case "world":
            pass
        case "local_world_aligned":
            J = Motion(J.ang, J.lin + J.ang.cross(T.p))
        case "local":
            lin = J.lin + J.ang.cross(T.p)
            J = Motion(T.R.back(J.ang), T.R.back(lin))
        case _:
            raise ValueError(
                "The reference of a Jacobian is 'world', 'local' or "
                f"'local_world_aligned', but {reference!r} came."
            )
    return jnp.stack([*J.lin, *J.ang])


def _walk(tree: Links, model: Model, q: Array) -> tuple[Pose, Motion]:
    """Poses of the world and of all links in the world, and the axes of all joints."""

    def place(parent: Pose, link: Link, q: Position):
        X = parent @ link.joint.pose(link.placement, q)
        return X, (X, link.joint.axis(X))

    world = Pose.identity(model.gravity[0])
    X, S = outward(tree, place, world, Position.of(q - model.ref))
    join = lambda one, all: jnp.concatenate([one[None], all])
    return jax.tree.map(join, world, X), S


def _frame(tree: Links, model: Model, X: Pose, frame: str) -> tuple[int, Pose]:
    """The link that a frame belongs to, and the pose of the frame in the world."""
    kind, b = _find(model, frame)
    T = Pose.identity(model.gravity[0])
    if kind == "site":
        T = pose(model.site_pos[b], model.site_quat[b])
        b = model.site_bodies[b]
    if b == WORLD:
        return WORLD, T
    link = tree.link_of_body[b]
    at = lambda poses, i: jax.tree.map(lambda x: x[i], poses)
    return link, at(X, link + 1) @ at(tree.body_placement, b) @ T


def _find(model: Model, frame: str) -> tuple[str, int]:
    kind, colon, name = frame.partition(":")
    if colon and kind in ("body", "site"):
        return kind, getattr(model, kind)(name)
    is_body, is_site = frame in model.body_names, frame in model.site_names
    if is_body and is_site:
        raise ValueError(
            f"Both a body and a site are called {frame!r}. Say 'body:{frame}' or "
            f"'site:{frame}'."
        )
    return ("site", model.site(frame)) if is_site else ("body", model.body(frame))
