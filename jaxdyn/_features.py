"""What of MuJoCo's models is not represented, by name."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import mujoco
import numpy as np


class _Feature(NamedTuple):
    what: str
    joints: tuple[str, ...] = ()
    """The joints without which it says nothing; none if it says something anyway."""


def ignored_features(
    model: mujoco.MjModel, locked: Collection[str] = ()
) -> tuple[str, ...]:
    """Features that change the equations of motion and are not represented.

    What only concerns joints that are locked does not change them.
    """
    return tuple(
        feature.what
        for feature in _features(model)
        if not feature.joints or not set(feature.joints) <= set(locked)
    )


def set_aside_features(model: mujoco.MjModel) -> tuple[str, ...]:
    """Features that do not enter the equations of motion of a tree of bodies."""
    counts = {
        "geoms that can collide": (model.geom_contype | model.geom_conaffinity).sum(),
        "limits of joints": np.count_nonzero(model.jnt_limited),
        "limits of tendons": np.count_nonzero(model.tendon_limited),
        "joints with dry friction": np.count_nonzero(model.dof_frictionloss),
        "tendons with dry friction": np.count_nonzero(model.tendon_frictionloss),
        "equalities that are off": model.neq - len(_active_equalities(model)),
        "actuators": model.nu,
        "sensors": model.nsensor,
        "bodies moved by mocap": model.nmocap,
    }
    return tuple(f"{n} {what}" for what, n in counts.items() if n)


def disabled(model: mujoco.MjModel, flag: str) -> bool:
    """Whether a part of MuJoCo's computation is switched off in the model's options."""
    return bool(model.opt.disableflags & getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))


def _features(model: mujoco.MjModel) -> Iterator[_Feature]:
    kinds = {mujoco.mjtJoint.mjJNT_BALL: "ball", mujoco.mjtJoint.mjJNT_FREE: "free"}
    for kind, name in kinds.items():
        yield from _each(model, f"{name} joint", "joint", model.jnt_type == kind)
    for i in _active_equalities(model):
        yield _equality(model, int(i))
    if not disabled(model, "SPRING"):
        springs = (model.jnt_stiffness != 0) | model.jnt_stiffnesspoly.any(axis=1)
        yield from _of_joints(model, "spring of joint", np.flatnonzero(springs))
    if not disabled(model, "DAMPER"):
        joints = model.dof_jntid[model.dof_dampingpoly.any(axis=1)]
        yield from _of_joints(model, "nonlinear damping of joint", joints)
    passive = (
        (model.tendon_stiffness != 0)
        | (model.tendon_damping != 0)
        | (model.tendon_armature != 0)
        | model.tendon_stiffnesspoly.any(axis=1)
        | model.tendon_dampingpoly.any(axis=1)
    )
    yield from _each(model, "passive tendon", "tendon", passive)
    compensated = model.body_gravcomp != 0
    yield from _each(model, "gravity compensation of body", "body", compensated)
    rotors = model.actuator_armature != 0
    yield from _each(model, "rotor inertia of actuator", "actuator", rotors)
    yield from _each(model, "flex", "flex", np.ones(model.nflex, bool))
    yield from _each(model, "plugin", "plugin", np.ones(model.nplugin, bool))
    if model.opt.density or model.opt.viscosity:
        yield _Feature(
            f"fluid of density {model.opt.density:g} kg/m³ and viscosity "
            f"{model.opt.viscosity:g} Pa s"
        )


def _active_equalities(model: mujoco.MjModel) -> np.ndarray:
    if disabled(model, "EQUALITY") or disabled(model, "CONSTRAINT"):
        return np.zeros(0, int)
    return np.flatnonzero(model.eq_active0)


def _equality(model: mujoco.MjModel, i: int) -> _Feature:
    what = f"equality {_name(model, 'equality', i)}"
    if model.eq_type[i] != mujoco.mjtEq.mjEQ_JOINT:
        return _Feature(what)
    ids = [int(j) for j in (model.eq_obj1id[i], model.eq_obj2id[i]) if j >= 0]
    joints = " and ".join(_name(model, "joint", j) for j in ids)
    names = tuple(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in ids)
    return _Feature(f"{what}, of joint {joints}", names if all(names) else ())


def _of_joints(model: mujoco.MjModel, what: str, ids: np.ndarray) -> Iterator[_Feature]:
    for j in ids.tolist():
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j)
        yield _Feature(f"{what} {_name(model, 'joint', j)}", (name,) if name else ())


def _each(
    model: mujoco.MjModel, what: str, kind: str, mask: np.ndarray
) -> Iterator[_Feature]:
    for i in np.flatnonzero(mask):
        yield _Feature(f"{what} {_name(model, kind, int(i))}")


def _name(model: mujoco.MjModel, kind: str, i: int) -> str:
    name = mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), i)
    return repr(name) if name else f"number {i}"
