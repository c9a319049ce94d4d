"""Compiling a specification whose inertias MuJoCo would not accept."""

import mujoco
import numpy as np

from ._inertia import convert_inertial


_SMALLEST = 1e-14
"""Mass [kg] and inertia [kg m²] that a body made of massless geoms compiles with; just
above what MuJoCo takes for zero."""


def compile_spec(
    spec: mujoco.MjSpec,
) -> tuple[mujoco.MjModel, np.ndarray, tuple[str, ...]]:
    """Compile a specification, whatever its inertias.

    MuJoCo refuses a moving body without mass, and inertias of no rigid body. Then bodies
    are compiled with an inertia of one in place of their own, and their own ten numbers
    are read from the specification.

    Args:
        spec: The specification; it is not changed.

    Returns:
        The compiled model, whose inertias are not to be used; the inertial parameters of
        all bodies but the world; remarks on the bodies whose inertia the file does not
        give.

    Raises:
        ValueError: If MuJoCo refuses the specification for another reason.
    """
    spec = spec.copy()
    from_geoms = [
        f"{body.name or 'an unnamed body'}: mass and inertia come from its geoms"
        for body in spec.bodies[1:]
        if len(body.geoms) and not _explicit(spec, body)
    ]
    try:
        model = spec.copy().compile()
        return model, compiled_inertial(model), tuple(from_geoms)
    except ValueError as error:
        refusal = error

    own = {}
    for i, body in enumerate(spec.bodies[1:]):
        if _explicit(spec, body):
            own[i] = (body.mass, np.array(body.inertia), np.array(body.fullinertia))
        elif not len(body.geoms):
            own[i] = (0.0, np.zeros(3), np.full(6, np.nan))
            body.explicitinertial = True
            body.ipos = np.zeros(3)
        if i in own:
            body.mass = 1
            body.inertia = np.ones(3)
            body.fullinertia = np.full(6, np.nan)
    spec.compiler.boundmass = spec.compiler.boundinertia = _SMALLEST
    spec.compiler.settotalmass = -1
    spec.compiler.balanceinertia = False
    try:
        model = spec.compile()
    except ValueError:
        raise ValueError(f"MuJoCo cannot compile this robot: {refusal}") from refusal

    inertial = compiled_inertial(model)
    inertial[model.body_mass[1:] <= _SMALLEST] = 0
    for i, (mass, diagonal, full) in own.items():
        xx, yy, zz, xy, xz, yz = full
        moments = np.diag(diagonal)
        if np.isfinite(full[0]):
            moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertial[i] = _about_origin(
            mass, model.body_ipos[i + 1], model.body_iquat[i + 1], moments
        )
    return model, inertial, tuple(from_geoms)


def compiled_inertial(model: mujoco.MjModel) -> np.ndarray:
    """Inertial parameters of all bodies of a compiled model but the world."""
    bodies = zip(
        model.body_mass,
        model.body_ipos,
        model.body_iquat,
        model.body_inertia,
        strict=True,
    )
    rows = [_about_origin(m, c, quat, np.diag(I)) for m, c, quat, I in bodies]
    return np.array(rows[1:]).reshape(-1, 10)


def _explicit(spec: mujoco.MjSpec, body) -> bool:
    always = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    return body.explicitinertial and spec.compiler.inertiafromgeom != always


def _about_origin(
    mass: float, center: np.ndarray, quat: np.ndarray, moments: np.ndarray
) -> np.ndarray:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quat)
    R = R.reshape(3, 3)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = R @ moments @ R.T
    about_center = np.array([mass, *center, xx, yy, zz, xy, xz, yz])
    return np.asarray(convert_inertial(about_center, "mujoco", "pinocchio"))
