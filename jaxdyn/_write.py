"""From a model back to its file: only what changed, all else as it was."""

import dataclasses
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

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
    """What `write` did."""

    result: Path | mujoco.MjSpec | mujoco.MjModel
    """The file that was written, or the new specification or compiled model."""
    changed: tuple[str, ...]
    """What has new values."""
    not_expressed: tuple[str, ...]
    """What the model has and the result has not."""
    neutralised: tuple[str, ...]
    """Compiler options of the source that would have overridden the new inertias."""

    def __str__(self) -> str:
        in_file = isinstance(self.result, Path)
        lines = [str(self.result) if in_file else f"a new {type(self.result).__name__}"]
        lines += [f"changed: {what}" for what in self.changed]
        lines += [f"not expressed: {what}" for what in self.not_expressed]
        lines += [f"neutralised: {option}" for option in self.neutralised]
        return "\n  ".join(lines)


def write(
    model: Model,
    path: str | os.PathLike | None,
    *,
    source: str | os.PathLike | mujoco.MjSpec | mujoco.MjModel,
) -> Written:
    """Put a model's parameters into the format of the robot it was loaded from.

    Inertial parameters, armature, damping and friction that differ from the source's
    are written, and read back before anything is saved; all else keeps its every byte.
    Files that the source includes are copied beside the new one; meshes and textures
    stay where they are. Joints that the model has locked stay joints.

    Args:
        model: The robot, with the bodies of the source.
        path: The file to write, in the source's format. `None` where `source` is an
            `MjSpec` or `MjModel`: the result is then a changed copy of it.
        source: What the model was loaded from; not changed, unless `path` names it.

    Returns:
        The file or copy, what changed in it, what it could not express, and compiler
        options that were switched off because they override inertias.

    Raises:
        ValueError: If a body belongs to no rigid body, if the source is of another
            robot, if `path` asks for another format, or if a changed body or joint has
            no element in the source.
    """
    target = _target(source, path)
    file_name = Path(path or "robot").name
    _require_physical(model)
    prior = _read(source)
    _require_same_robot(model, prior)

    neutralised = ()
    if _differs(model.inertial, prior.inertial).any():
        neutralised = target.neutralise()
        prior = _reread(target, file_name) if neutralised else prior
    wanted = _updated(prior, model, target.lacks)
    _edit(target, prior, wanted)
    found = _beyond_rounding(_reread(target, file_name), wanted)
    lost = tuple(_differences(found, wanted))
    if lost:
        raise ValueError(
            "Written and read again, these are not as in the model:\n  "
            + "\n  ".join(lost)
            + "\nSomething in the source overrides them: the scale of a frame, "
            "fusestatic, a joint's springdamper, or compiler options of an attached "
            "model. Remove it there. Nothing was saved."
        )
    return Written(
        result=target.save(Path(path or file_name)),
        changed=tuple(_differences(prior, wanted)),
        not_expressed=tuple(_differences(wanted, model)),
        neutralised=neutralised,
    )


class _Target(Protocol):
    """A robot in the format of its source, ready to take new values."""

    @property
    def lacks(self) -> frozenset[str]:
        """Fields of a model that the format has no place for."""
        ...

    @property
    def bodies(self) -> Sequence[Any]:
        """The elements of all bodies, depth-first."""
        ...

    def joints(self, body: Any) -> Sequence[Any]: ...
    def set_inertial(self, body: Any, pi: np.ndarray) -> None: ...
    def set_joint(self, joint: Any, values: dict[str, float]) -> None: ...
    def neutralise(self) -> tuple[str, ...]: ...
    def save(self, path: Path) -> Path | mujoco.MjSpec | mujoco.MjModel: ...


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

    source, path = Path(source), Path(path)
    document = Document(source)
    if any(element.tag.startswith("xacro:") for element in document.elements):
        raise ValueError(
            f"{source} is a xacro file, from which a robot's file is yet to be made. "
            f"Run `xacro {source.name} > robot.urdf` and give robot.urdf as `source`."
        )
    if document.root.tag not in _FORMATS:
        raise ValueError(
            f"The root of {source} is <{document.root.tag}>, but <mujoco> (MJCF) or "
            "<robot> (URDF) was wanted."
        )
    file, kind, suffix = _FORMATS[document.root.tag]
    if path.suffix.lower() not in (suffix, source.suffix.lower()):
        raise ValueError(
            f"{source} is {kind} and is written as {kind}, but {path.name!r} asks for "
            f"another format. Give a path that ends in {suffix!r}, or give a file of "
            "that format as `source`."
        )
    return file(document)


def _read(source: Any) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The user was warned by the first load.
        return load(source, strict=False)


def _reread(target: _Target, file_name: str) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        return _read(target.save(Path(folder) / file_name))


_OF_JOINTS = ("armature", "damping", "frictionloss")


def _require_physical(model: Model) -> None:
    wrong = [str(problem) for problem in check_consistency(model)]
    for field in _OF_JOINTS:
        finite = np.isfinite(getattr(model, field))
        wrong += [f"{field} of {model.joint_names[j]}" for j in np.flatnonzero(~finite)]
    if wrong:
        raise ValueError(
            "Parameters of no rigid body, or that are not finite, are not written:\n  "
            + "\n  ".join(wrong)
            + "\nIdentify with physical consistency, or replace a body's ten numbers "
            "by jaxdyn.nearest_consistent of them."
        )


def _require_same_robot(model: Model, prior: Model) -> None:
    added = set(model.joint_names) - set(prior.joint_names)
    if model.body_names != prior.body_names or added:
        ours = set(model.body_names) - set(prior.body_names) | added
        theirs = set(prior.body_names) - set(model.body_names)
        raise ValueError(
            "The model is of another robot than the source. Only in the model: "
            f"{', '.join(sorted(ours)) or 'nothing'}; only in the source: "
            f"{', '.join(sorted(theirs)) or 'nothing'}. Give what the model was loaded "
            "from as `source`."
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
        if body in bodies:
            own = [
                prior.joint_names[j] for j, k in enumerate(prior.joint_bodies) if k == b
            ]
            joints |= _matched(own, target.joints(bodies[body]))

    for body, old, new in zip(
        prior.body_names, prior.inertial, wanted.inertial, strict=True
    ):
        if (old != new).any():
            target.set_inertial(_found(bodies, body, "body"), np.asarray(new))
    for j, joint in enumerate(prior.joint_names):
        old, new = (
            {field: float(getattr(robot, field)[j]) for field in _OF_JOINTS}
            for robot in (prior, wanted)
        )
        if old != new:
            values = dict(new.items() - old.items())
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
            f"The source has no element for {kind} {name!r}: MuJoCo makes it, as it "
            "does for <replicate>, <attach> and <composite>. Read the file with "
            "mujoco.MjSpec.from_file and give the MjSpec as `source`."
        )
    return things[name]


def _differences(old: Model, new: Model) -> Iterator[str]:
    """In what a robot differs, perhaps with joints locked, whose bodies then moved."""
    joints = [old.joint(name) for name in new.joint_names]
    locked = {old.joint_bodies[j] for j in range(old.nj) if j not in joints}
    free = [b for b in range(old.nb) if b not in locked]
    every = slice(None)
    of_joints = (*_OF_JOINTS, "axis", "anchor", "ref", "lower", "upper")
    fields = {
        "inertial": (new.body_names, every, every),
        **dict.fromkeys(of_joints, (new.joint_names, every, joints)),
        **dict.fromkeys(("pos", "quat"), (new.body_names, free, free)),
        **dict.fromkeys(("site_pos", "site_quat"), (new.site_names, every, every)),
    }
    for field, (names, ours, theirs) in fields.items():
        off = _differs(getattr(new, field)[ours], getattr(old, field)[theirs])
        off = off.any(axis=tuple(range(1, off.ndim)))
        if off.any():
            yield f"{field} of {', '.join(np.array(names)[ours][off])}"
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
