"""Robots in MuJoCo's hands: copies with other parameters."""

import copy
from pathlib import Path

import mujoco
import numpy as np

from ._write_mjcf import principal


_NEUTRAL = {
    "inertiafromgeom": mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO,
    "balanceinertia": False,
    "boundmass": 0.0,
    "boundinertia": 0.0,
    "settotalmass": -1.0,
}
_FROM_GEOMS = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE


class Specification:
    """A copy of an `MjSpec`."""

    lacks: frozenset[str] = frozenset()

    def __init__(self, spec: mujoco.MjSpec):
        self.spec = spec.copy()
        self.bodies = self.spec.bodies[1:]

    def joints(self, body: mujoco.MjsBody) -> list[mujoco.MjsJoint]:
        """The joints that move a body."""
        return list(body.joints)

    def set_inertial(self, body: mujoco.MjsBody, pi: np.ndarray) -> None:
        """Give a body an explicit inertia."""
        body.mass, body.ipos, body.inertia, body.iquat = principal(pi)
        body.fullinertia = np.full(6, np.nan)
        body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
        body.explicitinertial = True

    def set_joint(self, joint: mujoco.MjsJoint, values: dict[str, float]) -> None:
        """Give a joint other values; high-order coefficients of damping stay."""
        for name, value in values.items():
            if name == "damping":
                joint.damping[0] = value
            else:
                setattr(joint, name, value)

    def neutralise(self) -> tuple[str, ...]:
        """Switch off what the compiler does to inertias, and name it."""
        compiler, named = self.spec.compiler, []
        for name, neutral in _NEUTRAL.items():
            value = getattr(compiler, name)
            from_geoms = name == "inertiafromgeom"
            if value == _FROM_GEOMS if from_geoms else value > 0:
                named.append(f'{name}="{"true" if from_geoms else value}"')
                setattr(compiler, name, neutral)
        return tuple(named)

    def save(self, path: Path) -> tuple[mujoco.MjSpec]:
        """The copy; nothing is written to a file."""
        return (self.spec,)


class Compiled:
    """A copy of an `MjModel`.

    It stays one, for MuJoCo has no way from a compiled model to a specification:
    `mj_copyBack` wants the one that the model was compiled from, `mj_saveLastXML` saves
    the file that was read last, whatever the model.
    """

    lacks: frozenset[str] = frozenset()

    def __init__(self, model: mujoco.MjModel):
        self.model = copy.copy(model)
        self.bodies = [self.model.body(i) for i in range(1, model.nbody)]

    def joints(self, body) -> list:
        """The joints that move a body."""
        first = body.jntadr[0]
        return [self.model.joint(j) for j in range(first, first + body.jntnum[0])]

    def set_inertial(self, body, pi: np.ndarray) -> None:
        """Change the inertia of a body, and what MuJoCo's shortcuts take from it."""
        if body.simple[0]:
            raise ValueError(
                f"Body {body.name!r} is compiled for a diagonal mass matrix, so its "
                "inertia cannot change in an MjModel. Give the file or mujoco.MjSpec "
                "that it was compiled from as `source`."
            )
        body.mass, body.ipos, body.inertia, body.iquat = principal(pi)
        model = self.model
        model.body_sameframe[body.id] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        for kind in ("geom", "site"):
            own = getattr(model, f"{kind}_bodyid") == body.id
            getattr(model, f"{kind}_sameframe")[own] = (
                mujoco.mjtSameFrame.mjSAMEFRAME_NONE
            )

    def set_joint(self, joint, values: dict[str, float]) -> None:
        """Give a joint other values."""
        for name, value in values.items():
            setattr(joint, name, value)

    def neutralise(self) -> tuple[str, ...]:
        """Nothing: what is compiled is not overridden."""
        return ()

    def save(self, path: Path) -> tuple[mujoco.MjModel]:
        """The copy, with the constants that depend on its inertias."""
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))
        return (self.model,)
