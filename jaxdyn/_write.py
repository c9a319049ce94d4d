"""From a model back to its file: only what changed, all else as it was."""

import dataclasses
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from ._inertia import check_consistency
from ._load import load
from ._model import Model
from ._write_mjcf import MjcfFile
from ._write_mujoco import Compiled, Specification
from ._write_urdf import UrdfFile
from ._xml import Document


@dataclasses.dataclass(frozen=True)
class Written:
    """What `write` did; `str` tells it in lines."""

    result: Path | mujoco.MjSpec | mujoco.MjModel
    """The file that was written, or the new specification or compiled model."""
    copied: tuple[Path, ...]
    """Files that the source includes, written beside it."""
    changed: tuple[str, ...]
    """What has new values."""
    not_expressed: tuple[str, ...]
    """What the model has and the result has not."""
    neutralised: tuple[str, ...]
    """Compiler options of the source that would have overridden the new inertias."""

    def __str__(self) -> str:
        in_file = isinstance(self.result, Path)
        lines = [str(self.result) if in_file else f"a new {type(self.result).__name__}"]
        lines += [f"copied: {path}" for path in self.copied]
        lines += [f"changed: {what}" for what in self.changed]
        lines += [f"not expressed: {what}" for what in self.not_expressed]
        lines += [f"neutralised: {option}" for option in self.neutralised]
        return "\n  ".join(lines)


def write(
    model: Model,
    path: str | os.PathLike | None = None,
    *,
    source: str | os.PathLike | mujoco.MjSpec | mujoco.MjModel,
) -> Written:
    """Put a model's parameters into the format of the robot it was loaded from.

    Inertial parameters, armature, damping and friction that differ from the source's
    are written, and read back before anything is saved; all else keeps its every byte,
    but for references to other files where the new one is in another folder. Files that
    the source includes are copied beside it; meshes and textures stay where they are.
    Joints that the model has locked stay joints.

    Args:
        model: The robot, with the bodies of the source.
        path: The file to write, in the source's format. `None` where `source` is an
            `MjSpec` or `MjModel`: the result is then a changed copy of it.
        source: What the model was loaded from; not changed, unless `path` names it.

    Returns:
        The file or copy, what changed in it, what it could not express (a warning says
        this too), and compiler options that were switched off because they override
        inertias.

    Raises:
        ValueError: If a body belongs to no rigid body, friction or armature is negative,
            the source is of another robot, `path` asks for another format, or a changed
            body or joint has no element in the source. Nothing is then saved.
        OSError: If the source cannot be read, or the file cannot be written.
    """
    before = _read(source)
    _require_same_robot(model, before)
    target = _target(source, path)
    path = Path(path or "robot")
    wanted = _updated(before, model, target.lacks)
    _require_physical(dataclasses.replace(model, inertial=wanted.inertial))

    neutralised = ()
    if (wanted.inertial != before.inertial).any():
        neutralised = target.neutralise()
    _edit(target, _reread(target, path.name) if neutralised else before, wanted)
    found = _reread(target, path.name)
    lost = tuple(_differences(_beyond_rounding(found, wanted), wanted))
    if lost:
        raise ValueError(
            "Written and read again, these are not as in the model:\n  "
            + "\n  ".join(lost)
            + "\nSomething in the source overrides them: the scale of a frame, a joint's "
            "springdamper, a flag that disables damping, or compiler options of an "
            "attached model. Remove it there. Nothing was saved."
        )
    not_expressed = tuple(_differences(wanted, model))
    if not_expressed:
        warnings.warn(
            f"What is written differs from the model in {'; '.join(not_expressed)}: the "
            "format has no place for it, or jaxdyn.write does not change it.",
            stacklevel=2,
        )
    result, *copied = target.save(path)
    return Written(
        result=result,
        copied=tuple(copied),
        changed=tuple(_differences(before, wanted)),
        not_expressed=not_expressed,
        neutralised=neutralised,
    )


type _Target = MjcfFile | UrdfFile | Specification | Compiled
"""A robot in the format of its source, ready to take new values."""

_FORMATS = {"mujoco": (MjcfFile, "MJCF", ".xml"), "robot": (UrdfFile, "URDF", ".urdf")}


def _target(source: Any, path: str | os.PathLike | None) -> _Target:
    if isinstance(source, mujoco.MjSpec | mujoco.MjModel):
        if path is not None:
            raise ValueError(
                "What is written from an MjSpec or MjModel stays in memory: MuJoCo's "
                "own XML keeps six digits. Give path=None and use the result, or give "
                "the robot's file as `source`."
            )
        in_memory = Specification if isinstance(source, mujoco.MjSpec) else Compiled
        return in_memory(source)
    if path is None:
        raise ValueError(f"Give the path of the file to write in place of {source}.")

    document, suffix = Document(Path(source)), Path(path).suffix
    file, kind, usual = _FORMATS[document.root.tag]
    if suffix not in (usual, document.path.suffix):
        raise ValueError(
            f"{source} is {kind} and is written as {kind}, but {str(path)!r} asks for "
            f"another format. Give a path that ends in {usual!r}, or give a file of that "
            "format as `source`."
        )
    return file(document)


def _read(source: Any) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The user was warned by the first load.
        return load(source, strict=False)


def _reread(target: _Target, file_name: str) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        result, *_ = target.save(Path(folder) / file_name)
        try:
            return _read(result)
        except ValueError as error:
            raise ValueError(
                f"With the new values the robot cannot be read again: {error}. Nothing "
                "was saved."
            ) from error


_OF_JOINTS = ("armature", "damping", "frictionloss")


def _require_same_robot(model: Model, source: Model) -> None:
    ours, theirs = (
        {*robot.body_names, *robot.joint_names, *robot.site_names}
        for robot in (model, source)
    )
    added, missing = ours - theirs, theirs - ours - {*source.joint_names}
    if added or missing:
        raise ValueError(
            "The model is of another robot than the source. Only in the model: "
            f"{', '.join(sorted(added)) or 'nothing'}; only in the source: "
            f"{', '.join(sorted(missing)) or 'nothing'}. Give what the model was loaded "
            "from as `source`."
        )
    joints = [source.joint(name) for name in model.joint_names]
    fields = ("body_names", "parents", "site_names", "site_bodies")
    same = all(getattr(model, name) == getattr(source, name) for name in fields) and all(
        getattr(model, name) == tuple(getattr(source, name)[j] for j in joints)
        for name in ("joint_types", "joint_bodies")
    )
    if not same:
        raise ValueError(
            "Bodies and joints of the model are called as in the source, but are not "
            "connected as there. Give what the model was loaded from as `source`."
        )
    if np.shape(model.inertial) != source.inertial.shape:
        raise ValueError(
            f"The inertial parameters of one robot are {source.inertial.shape}, but "
            f"{np.shape(model.inertial)} came. Of stacked models take one by "
            "jax.tree.map(lambda leaf: leaf[0], model)."
        )


def _require_physical(model: Model) -> None:
    wrong = [str(problem) for problem in check_consistency(model)]
    for field in _OF_JOINTS:
        values = np.asarray(getattr(model, field))
        wrong += [
            f"{model.joint_names[j]}: its {field} is {values[j]:.6g}"
            for j in np.flatnonzero(~((values >= 0) & (values < np.inf)))
        ]
    if wrong:
        raise ValueError(
            "What belongs to no rigid body or joint is not written:\n  "
            + "\n  ".join(wrong)
            + "\nIdentify with physical consistency, load the robot with "
            "repair='nearest', or use jaxdyn.nearest_consistent and values of at least 0."
        )


def _updated(prior: Model, model: Model, lacks: frozenset[str]) -> Model:
    """The robot of the source with the model's values, as far as the format goes."""
    joints = [prior.joint(name) for name in model.joint_names]
    rows = {"inertial": slice(None)} | dict.fromkeys(_OF_JOINTS, joints)
    fields = {}
    for field in rows.keys() - lacks:
        fields[field] = np.array(getattr(prior, field))
        old, new = fields[field][rows[field]], np.asarray(getattr(model, field))
        fields[field][rows[field]] = np.where(_differs(new, old), new, old)
    return dataclasses.replace(prior, **fields)


def _edit(target: _Target, prior: Model, wanted: Model) -> None:
    bodies = _matched(prior.body_names, target.bodies)
    joints = {}
    for b, body in enumerate(prior.body_names):
        own = [
            prior.joint_names[j] for j in range(prior.nj) if prior.joint_bodies[j] == b
        ]
        if body in bodies:
            joints |= _matched(own, target.joints(bodies[body]))

    for b in np.flatnonzero((wanted.inertial != prior.inertial).any(axis=1)):
        body = _found(bodies, prior.body_names[b], "body")
        target.set_inertial(body, np.asarray(wanted.inertial[b]))
    for j, joint in enumerate(prior.joint_names):
        values = {
            field: float(getattr(wanted, field)[j])
            for field in _OF_JOINTS
            if getattr(wanted, field)[j] != getattr(prior, field)[j]
        }
        if values:
            target.set_joint(_found(joints, joint, "joint"), values)


def _matched(names: Sequence[str], things: Sequence[Any]) -> dict[str, Any]:
    """The thing of each name: in order if all are there, else by their own names."""
    if len(names) == len(things) and all(
        thing.name in ("", name) for name, thing in zip(names, things, strict=True)
    ):
        return dict(zip(names, things, strict=True))
    return {thing.name: thing for thing in things if thing.name}


def _found(things: dict[str, Any], name: str, kind: str) -> Any:
    if name not in things:
        raise ValueError(
            f"The source has no element for {kind} {name!r}: MuJoCo makes some, for "
            "<replicate>, <attach> and <composite>, and names those without a name. Read "
            "the file with mujoco.MjSpec.from_file and give the MjSpec as `source`."
        )
    return things[name]


def _differences(old: Model, new: Model) -> Iterator[str]:
    """In what a robot differs, perhaps with joints locked.

    Where a joint is locked, the pose of its body and that body's other joints are not
    compared: they were moved by it.
    """
    joints = [old.joint(name) for name in new.joint_names]
    locked = {old.joint_bodies[j] for j in range(old.nj) if j not in joints}
    bodies, sites = list(range(old.nb)), list(range(len(old.site_names)))
    of_bodies = [b in locked for b in bodies]
    of_joints = [b in locked for b in new.joint_bodies]
    for fields, names, rows, excused in (
        (("inertial",), new.body_names, bodies, False),
        (("pos", "quat"), new.body_names, bodies, of_bodies),
        ((*_OF_JOINTS, "ref", "lower", "upper"), new.joint_names, joints, False),
        (("axis", "anchor"), new.joint_names, joints, of_joints),
        (("site_pos", "site_quat"), new.site_names, sites, False),
    ):
        for field in fields:
            off = _differs(getattr(new, field), getattr(old, field)[rows])
            off = off.any(axis=tuple(range(1, off.ndim))) & np.logical_not(excused)
            if off.any():
                yield f"{field} of {', '.join(np.array(names)[off])}"
    if _differs(new.gravity, old.gravity).any():
        yield "gravity"


def _differs(new: Any, old: Any) -> np.ndarray:
    """Where new values are not the old ones, rounded to the precision of the new."""
    new = np.asarray(new)
    return new != np.asarray(old, new.dtype)


def _beyond_rounding(found: Model, wanted: Model) -> Model:
    """What was found, but for inertias that differ from the wanted by rounding."""
    size = np.abs(wanted.inertial[:, 4:]).max(axis=1, keepdims=True)
    near = np.abs(found.inertial - wanted.inertial) <= 1e-12 * size + 1e-13
    inertial = np.where(near, wanted.inertial, found.inertial)
    return dataclasses.replace(found, inertial=inertial)
