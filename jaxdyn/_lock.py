"""Welding joints."""

import dataclasses
from collections.abc import Mapping

import mujoco
import numpy as np

from ._model import Model


def lock(model: Model, positions: Mapping[str, float]) -> Model:
    """The robot with some joints held: their bodies are welded where the joints stand.

    The ten numbers of each body, its name and its frame stay as they are.

    Args:
        model: The robot.
        positions: Position of each joint to be locked. [rad or m]

    Raises:
        KeyError: If there is no such joint; the message offers the closest name.
        ValueError: If a position is not finite.
    """
    held = {model.joint(name): float(q) for name, q in positions.items()}
    for j, q in held.items():
        if not np.isfinite(q):
            raise ValueError(
                f"Joint {model.joint_names[j]!r} can only be locked at a finite "
                f"position, but {q} came."
            )
    pos, quat = np.array(model.pos, float), np.array(model.quat, float)
    axis, anchor = np.array(model.axis, float), np.array(model.anchor, float)

    # With a joint held at X, what moved before it, J(q) X, is X J'(q): J seen from X.
    for j, q in held.items():
        b = model.joint_bodies[j]
        p, R = _displacement(model, j, axis[j], anchor[j], q)
        for k in range(j):
            if model.joint_bodies[k] == b:
                axis[k], anchor[k] = R.T @ axis[k], R.T @ (anchor[k] - p)
        pos[b] += _rotation(quat[b]) @ p
        quat[b] = _product(quat[b], R)

    free = [j for j in range(model.nj) if j not in held]
    kept = {name: np.asarray(getattr(model, name))[free] for name in _OF_JOINTS}
    return dataclasses.replace(
        model,
        pos=pos,
        quat=quat,
        **kept | {"axis": axis[free], "anchor": anchor[free]},
        joint_types=tuple(model.joint_types[j] for j in free),
        joint_bodies=tuple(model.joint_bodies[j] for j in free),
        joint_names=tuple(model.joint_names[j] for j in free),
    )


_OF_JOINTS = ("ref", "lower", "upper", "armature", "damping", "frictionloss")


def _displacement(
    model: Model, joint: int, axis: np.ndarray, anchor: np.ndarray, q: float
) -> tuple[np.ndarray, np.ndarray]:
    """What the joint does to its body at `q`: shift and rotation, in body axes."""
    axis = axis / np.linalg.norm(axis)
    moved = q - np.asarray(model.ref)[joint]
    if model.joint_types[joint] == "slide":
        return axis * moved, np.eye(3)
    turn = np.zeros(4)
    mujoco.mju_axisAngle2Quat(turn, axis.astype(np.float64), moved)
    R = _rotation(turn)
    return anchor - R @ anchor, R


def _rotation(quat: np.ndarray) -> np.ndarray:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quat / np.linalg.norm(quat))
    return R.reshape(3, 3)


def _product(quat: np.ndarray, R: np.ndarray) -> np.ndarray:
    turn, product = np.zeros(4), np.zeros(4)
    mujoco.mju_mat2Quat(turn, R.ravel())
    mujoco.mju_mulQuat(product, quat, turn)
    return product
