"""What is known of a robot: the text of `jaxdyn info`."""

import numpy as np

from jaxdyn import check_consistency, convert_inertial, Model

from ._table import Table


def info(model: Model) -> str:
    """Bodies, joints and limits of a robot, and all that was amiss in its file.

    Args:
        model: The robot, best loaded with `strict=False` so that nothing stops it.
    """
    mass = np.asarray(model.inertial)[:, 0].sum()
    report, found = model.report, check_consistency(model)
    repaired = () if found else report.inertia
    sections = [
        f"{model.nb} bodies, {model.nj} joints, {model.nv} degrees of freedom, "
        f"{mass:.4g} kg, gravity {_vector(model.gravity)} m/s²",
        f"Bodies [kg, m, kg m² about the centre of mass]\n\n{bodies(model)}",
        "Joints [rad or m, kg m² or kg, N m s/rad or N s/m, N m or N]\n\n"
        f"{joints(model) if model.nj else 'none'}",
        _listed("Mass and inertia that the compiler filled in", report.filled),
        _listed(
            "NOT REPRESENTED: `jaxdyn.load` refuses this robot unless `strict=False`, "
            "and then leaves out",
            report.ignored,
        ),
        _listed(
            "Set aside, as they do not enter the equations of motion", report.set_aside
        ),
        _listed("Inertias of no rigid body, replaced by the nearest", repaired),
        _listed("INCONSISTENT: no rigid body has these inertias", found)
        or "Every body is physically consistent.",
    ]
    return "\n\n".join(filter(None, sections))


def bodies(model: Model) -> Table:
    """Mass, centre of mass, principal moments and consistency of each body."""
    wrong = {problem.body for problem in check_consistency(model)}
    rows = []
    for i, name in enumerate(model.body_names):
        parent = model.parents[i]
        m, *c = convert_inertial(np.asarray(model.inertial[i]), "pinocchio", "mujoco")[:4]
        rows.append(
            (
                name,
                "world" if parent < 0 else model.body_names[parent],
                _joint_of(model, i),
                float(m),
                *map(float, c),
                *_principal_moments(np.asarray(model.inertial[i])),
                "no" if name in wrong else "yes",
            )
        )
    header = ("body", "parent", "by", "mass", "x", "y", "z", "I1", "I2", "I3")
    return Table((*header, "consistent"), tuple(rows))


def joints(model: Model) -> Table:
    """Type, limits, armature and friction of each joint."""
    columns = ("lower", "upper", "armature", "damping", "frictionloss")
    rows = tuple(
        (
            name,
            model.joint_types[j],
            model.body_names[model.joint_bodies[j]],
            *(float(getattr(model, column)[j]) for column in columns),
        )
        for j, name in enumerate(model.joint_names)
    )
    return Table(("joint", "type", "moves", *columns), rows)


def _joint_of(model: Model, body: int) -> str:
    names = zip(model.joint_names, model.joint_bodies, strict=True)
    return ", ".join(name for name, of in names if of == body) or "welded"


def _principal_moments(pi: np.ndarray) -> list[float]:
    xx, yy, zz, xy, xz, yz = convert_inertial(pi, "pinocchio", "mujoco")[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.linalg.eigvalsh(I).tolist() if np.isfinite(I).all() else [np.nan] * 3


def _listed(title: str, lines) -> str:
    return "\n".join([f"{title}:", *(f"  - {line}" for line in lines)]) if lines else ""


def _vector(x) -> str:
    return " ".join(f"{value:.4g}" for value in np.asarray(x))
