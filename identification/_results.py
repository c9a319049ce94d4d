"""Results of an identification: tables for people, JSON for programs."""

import dataclasses
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping

import numpy as np
from jaxtyping import Float64

import jaxdyn

from ._identify import Identification
from ._table import Table
from ._validate import Validation


_LIBRARIES = ("jaxdyn", "jax", "equinox", "mujoco", "numpy", "scipy", "polars", "optax")


def as_text(
    identified: Identification,
    validation: Validation,
    *,
    truth: jaxdyn.Model | None = None,
) -> str:
    """An identification and its validation, to be read in a terminal.

    Args:
        identified: The identified robot.
        validation: Its validation.
        truth: The robot that the logs are of, where it is known as they are simulated.
    """
    base = base_table(identified, width=40, truth=truth)
    bodies = body_table(identified, validation)
    unknowns = identified.unknowns
    free = unknowns.bodies if "inertia" in unknowns.terms else ()
    logs = ", ".join(curves.name for curves in validation.curves)
    sections = [
        summary(identified),
        _titled("Base inertial parameters [kg, m]", base, range(identified.rank)),
        _titled("Joints [N, m, kg, s, rad]", joint_table(identified)),
        _titled("Bodies [kg, m]", bodies, free),
        _titled(f"Validation with {logs}", validation_table(validation)),
        verdict(validation),
    ]
    if truth is not None:
        sections.append(
            f"{percent(covered(identified, truth))} of the {identified.base.rank} base "
            "parameters are within 1.96 standard deviations of the truth; 95 % should be."
        )
    if identified.remarks:
        remarks = (f"- {remark}" for remark in identified.remarks)
        sections.append("\n".join(("Remarks", "", *remarks)))
    return "\n\n".join(filter(None, sections))


def as_json(
    identified: Identification,
    validation: Validation,
    *,
    provenance: Mapping[str, object] | None = None,
) -> str:
    """All numbers of an identification and its validation, as strict JSON.

    Numbers that are not finite, such as standard deviations of what the logs say nothing
    of, are null.

    Args:
        identified: The identified robot.
        validation: Its validation.
        provenance: What else is to be kept, such as inputs and settings.
    """
    model, estimate, base = identified.model, identified.estimate, identified.base
    wrong = {problem.body: problem for problem in validation.consistency}
    results = {
        "validation": {
            "relative_error": validation.relative_error,
            "raw_relative_error": validation.raw_relative_error,
            "prior_relative_error": validation.prior_relative_error,
            "joints": {
                joint.name: {
                    "relative_error": joint.relative_error,
                    "raw_relative_error": joint.raw_relative_error,
                    "nrmse": joint.nrmse,
                    "r2": joint.r2,
                    "rmse": joint.rmse,
                }
                for joint in validation.joints
            },
            "logs": [curves.name for curves in validation.curves],
            "positive_definite": validation.positive_definite,
            "poses": validation.poses,
        },
        "base": {
            "rank": identified.rank,
            "names": base.names,
            "expressions": base.expressions(),
            "file": base_values(identified, identified.unknowns.model),
            "value": estimate.base,
            "std": estimate.std,
            "relative_std": estimate.relative_std,
            "undetermined": estimate.undetermined,
            "gap": base.gap,
        },
        "consistency": {
            "consistent": not wrong,
            "bodies": {
                body: {
                    "consistent": body not in wrong,
                    "reason": wrong[body].reason if body in wrong else None,
                }
                for body in model.body_names
            },
        },
        "parameters": _parameters(identified),
        "fit": {
            "method": estimate.method,
            "iterations": estimate.iterations,
            "terms": identified.unknowns.terms,
            "free": [model.body_names[b] for b in identified.unknowns.bodies],
            "cutoff": identified.cutoff,
            "width": identified.unknowns.width,
            "samples": identified.samples,
            "residual_std": dict(zip(model.joint_names, estimate.sigma, strict=True)),
        },
        "remarks": identified.remarks,
        **(provenance or {}),
        "versions": versions(),
    }
    return json.dumps(_strict(results), indent=2, allow_nan=False, ensure_ascii=False)


def versions() -> dict[str, str]:
    """Versions of what computes."""
    return {"python": platform.python_version()} | {
        library: importlib.metadata.version(library) for library in _LIBRARIES
    }


def summary(identified: Identification) -> str:
    """What was fitted to what."""
    estimate, joints = identified.estimate, identified.base.rank - identified.rank
    cutoff = "no filter" if identified.cutoff is None else f"{identified.cutoff:g} Hz"
    return (
        f"{estimate.method}: {identified.rank} base inertial parameters and {joints} "
        f"others, from {identified.samples:.0f} independent samples of "
        f"{identified.model.nv} joints, cut-off {cutoff}"
    )


def verdict(validation: Validation) -> str:
    """How well the robot explains what its fit has not seen, and whether it can exist."""
    definite = round(validation.positive_definite * validation.poses)
    lines = [
        f"{percent(validation.relative_error)} of the torque is not explained, "
        f"{percent(validation.raw_relative_error)} of the unfiltered torque. By the "
        f"robot's file, {percent(validation.prior_relative_error)} is not.",
        f"The mass matrix is positive definite in {definite} of {validation.poses} "
        "random poses.",
    ]
    poor = [joint.name for joint in validation.joints if joint.r2 < 0.5]
    if poor:
        lines.append(
            f"The torque of {', '.join(poor)} is hardly explained (R² < 0.5): what was "
            "found of these joints says little."
        )
    wrong = ", ".join(problem.body for problem in validation.consistency)
    lines.append(
        f"INCONSISTENT: no rigid body has the inertia of {wrong}."
        if wrong
        else "Every body is physically consistent."
    )
    return "\n".join(lines)


def validation_table(validation: Validation) -> Table:
    """How well the torque of each joint is explained."""
    rows = [
        (
            joint.name,
            100 * joint.relative_error,
            100 * joint.raw_relative_error,
            100 * joint.nrmse,
            joint.r2,
            joint.rmse,
        )
        for joint in validation.joints
    ]
    total = 100 * validation.relative_error, 100 * validation.raw_relative_error
    header = ("joint", "error [%]", "of raw [%]", "NRMSE [%]", "R²", "RMSE [N m or N]")
    return Table(header, (*rows, ("all joints", *total, None, None, None)))


def base_table(
    identified: Identification,
    *,
    width: int | None = None,
    truth: jaxdyn.Model | None = None,
) -> Table:
    """Base parameters, in the file, in truth if it is known, and as identified.

    Args:
        identified: The identified robot.
        width: Length that expressions are cut to.
        truth: The robot that the logs are of.
    """
    estimate = identified.estimate
    columns = {
        "combination": [_cut(text, width) for text in identified.base.expressions()],
        "file": base_values(identified, identified.unknowns.model).tolist(),
        "truth": [] if truth is None else base_values(identified, truth).tolist(),
        "identified": estimate.base.tolist(),
        "σ": estimate.std.tolist(),
        "σ [%]": estimate.relative_std.tolist(),
    }
    columns = {name: column for name, column in columns.items() if column}
    return Table(tuple(columns), tuple(zip(*columns.values(), strict=True)))


def joint_table(identified: Identification) -> Table:
    """Friction, offset and armature of each joint, and the torque left unexplained."""
    model, std = identified.model, own_std(identified)
    values = {
        "fv": model.damping,
        "fc": model.frictionloss,
        "offset": identified.offsets,
        "Ia": model.armature,
    }
    rows = []
    for j, joint in enumerate(model.joint_names):
        cells = [(float(x[j]), std.get(f"{joint}.{term}")) for term, x in values.items()]
        rows.append((joint, *sum(cells, ()), float(identified.estimate.sigma[j])))
    header = sum(((term, "σ") for term in values), ())
    return Table(("joint", *header, "σ of torque"), tuple(rows))


def body_table(identified: Identification, validation: Validation) -> Table:
    """Mass and centre of mass of each body, in the file and as identified."""
    wrong = {problem.body for problem in validation.consistency}
    before, after = (
        [
            jaxdyn.convert_inertial(np.asarray(pi, float), "pinocchio", "mujoco")[:4]
            for pi in robot.inertial
        ]
        for robot in (identified.unknowns.model, identified.model)
    )
    rows = [
        (
            name,
            *(float(x) for pair in zip(old, new, strict=True) for x in pair),
            "no" if name in wrong else "yes",
        )
        for name, old, new in zip(identified.model.body_names, before, after, strict=True)
    ]
    header = sum(((f"{x} in file", x) for x in ("mass", "x", "y", "z")), ())
    return Table(("body", *header, "consistent"), tuple(rows))


def parameter_table(identified: Identification) -> Table:
    """All parameters, as the file has them and as identified."""
    rows = (
        (name, *(row[key] for key in ("file", "value", "std")))
        for name, row in _parameters(identified).items()
    )
    return Table(("parameter", "file", "identified", "σ"), tuple(rows))


def base_values(
    identified: Identification, model: jaxdyn.Model
) -> Float64[np.ndarray, " r"]:
    """The base parameters that a robot has; its offsets are zero."""
    unknowns = dataclasses.replace(identified.unknowns, model=model)
    return identified.base.K @ unknowns.prior


def covered(identified: Identification, truth: jaxdyn.Model) -> float:
    """Share of base parameters whose truth is within 1.96 standard deviations."""
    distance = np.abs(base_values(identified, truth) - identified.estimate.base)
    return float(np.mean(distance <= 1.96 * identified.estimate.std))


def own_std(identified: Identification) -> dict[str, float]:
    """Standard deviation of each parameter that is a base parameter by itself."""
    base = identified.base
    alone = np.count_nonzero(base.K, axis=1) == 1
    return {
        name: float(std)
        for name, std, own in zip(base.names, identified.estimate.std, alone, strict=True)
        if own
    }


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.3g} %"


def _parameters(identified: Identification) -> dict[str, dict[str, float | None]]:
    std, unknowns = own_std(identified), identified.unknowns
    rows = zip(
        unknowns.names,
        unknowns.prior.tolist(),
        identified.estimate.parameters.tolist(),
        strict=True,
    )
    return {
        name: {"file": file, "value": value, "std": std.get(name)}
        for name, file, value in rows
    }


def _titled(title: str, table: Table, rows: Iterable[int] | None = None) -> str:
    """Some rows of a table under its title; nothing if there are none."""
    if rows is not None:
        table = Table(table.header, tuple(table.rows[k] for k in rows))
    return f"{title}\n\n{table}" if table.rows else ""


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else f"{text[: width - 1]}…"


def _strict(value: object) -> object:
    """What JSON can hold: numbers that are not finite become null."""
    match value:
        case np.ndarray() | np.generic():
            return _strict(value.tolist())
        case Mapping():
            return {str(key): _strict(item) for key, item in value.items()}
        case float():
            return value if np.isfinite(value) else None
        case None | str() | int():
            return value
        case Iterable():
            return [_strict(item) for item in value]
        case _:
            return str(value)
