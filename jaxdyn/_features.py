"""What of MuJoCo's models is not represented, by name."""

from collections.abc import Iterable, Iterator

import mujoco
import numpy as np


def ignored_features(model: mujoco.MjModel) -> tuple[str, ...]:
    """Features that change the equations of motion and are not represented."""
    return tuple(_ignored(model))


def set_aside_features(model: mujoco.MjModel) -> tuple[str, ...]:
    """Features that do not enter the equations of motion of a tree of bodies."""
    contacts = np.logical_or(model.geom_contype, model.geom_conaffinity).sum()
    tendon_friction = np.count_nonzero(model.tendon_frictionloss)
    counts = {
        "geoms that can collide": contacts,
        "limits of joints": np.count_nonzero(model.jnt_limited),
        "limits of tendons": np.count_nonzero(model.tendon_limited),
        "joints with dry friction": np.count_nonzero(model.dof_frictionloss),
        "tendons with dry friction": tendon_friction,
        "equalities that are off": model.neq - len(_active_equalities(model)),
        "actuators": model.nu,
        "sensors": model.nsensor,
        "bodies moved by mocap": model.nmocap,
    }
    return tuple(f"{n} {what}" for what, n in counts.items() if n)


def disabled(model: mujoco.MjModel, flag: str) -> bool:
    """Whether a part of MuJoCo's computation is switched off in the model's options."""
    return bool(model.opt.disableflags & getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))


def _ignored(model: mujoco.MjModel) -> Iterator[str]:
    kinds = {mujoco.mjtJoint.mjJNT_BALL: "ball", mujoco.mjtJoint.mjJNT_FREE: "free"}
    for kind, name in kinds.items():
        joints = np.flatnonzero(model.jnt_type == kind)
        yield from _named(model, f"{name} joint", mujoco.mjtObj.mjOBJ_JOINT, joints)
    yield from _named(
        model, "equality", mujoco.mjtObj.mjOBJ_EQUALITY, _active_equalities(model)
    )
    if not disabled(model, "SPRING"):
        springs = model.jnt_stiffness.astype(bool) | model.jnt_stiffnesspoly.any(axis=1)
        yield from _named(
            model, "spring of joint", mujoco.mjtObj.mjOBJ_JOINT, np.flatnonzero(springs)
        )
    if not disabled(model, "DAMPER"):
        joints = model.dof_jntid[model.dof_dampingpoly.any(axis=1)]
        yield from _named(
            model, "nonlinear damping of joint", mujoco.mjtObj.mjOBJ_JOINT, joints
        )
    passive = (
        model.tendon_stiffness.astype(bool)
        | model.tendon_damping.astype(bool)
        | model.tendon_armature.astype(bool)
        | model.tendon_stiffnesspoly.any(axis=1)
        | model.tendon_dampingpoly.any(axis=1)
    )
    yield from _named(
        model, "passive tendon", mujoco.mjtObj.mjOBJ_TENDON, np.flatnonzero(passive)
    )
    yield from _named(
        model,
        "gravity compensation of body",
        mujoco.mjtObj.mjOBJ_BODY,
        np.flatnonzero(model.body_gravcomp),
    )
    yield from _named(
        model,
        "rotor inertia of actuator",
        mujoco.mjtObj.mjOBJ_ACTUATOR,
        np.flatnonzero(model.actuator_armature),
    )
    yield from _named(model, "flex", mujoco.mjtObj.mjOBJ_FLEX, range(model.nflex))
    yield from _named(model, "plugin", mujoco.mjtObj.mjOBJ_PLUGIN, range(model.nplugin))
    if model.opt.density or model.opt.viscosity:
        yield (
            f"fluid of density {model.opt.density:g} kg/m³ and viscosity "
            f"{model.opt.viscosity:g} Pa s"
        )


def _active_equalities(model: mujoco.MjModel) -> np.ndarray:
    if disabled(model, "EQUALITY") or disabled(model, "CONSTRAINT"):
        return np.zeros(0, int)
    return np.flatnonzero(model.eq_active0)


def _named(
    model: mujoco.MjModel, what: str, kind: mujoco.mjtObj, ids: Iterable[int]
) -> Iterator[str]:
    for i in ids:
        name = mujoco.mj_id2name(model, kind, int(i))
        yield f"{what} {name!r}" if name else f"{what} number {i}"
