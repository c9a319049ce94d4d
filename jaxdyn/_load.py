"""From a robot's file to a `Model`: MuJoCo's compiler reads, nothing is lost."""

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import mujoco
import numpy as np

from ._compile import compile_spec, compiled_inertial
from ._features import disabled, ignored_features, set_aside_features
from ._inertia import check_consistency, nearest_consistent
from ._lock import lock
from ._model import JointType, Model, Report


_JOINT_TYPES: dict[int, JointType] = {
    mujoco.mjtJoint.mjJNT_HINGE: "hinge",
    mujoco.mjtJoint.mjJNT_SLIDE: "slide",
}


def load(
    source: str | os.PathLike | mujoco.MjSpec | mujoco.MjModel,
    *,
    strict: bool = True,
    repair: Literal["nearest"] | None = None,
    locked: Mapping[str, float] | None = None,
) -> Model:
    """A model of the robot in a file or in MuJoCo's hands.

    MuJoCo's compiler reads the file; `source` itself is never changed. Leaves are NumPy
    arrays in double precision, whatever precision JAX is set to.

    An inconsistent, zero or missing inertia does not stop a load: the leaves hold what
    the file says, and `model.report` and `check_consistency` name the body. What does not
    enter the equations of motion (contacts, limits, dry friction, actuators, sensors) is
    set aside and listed in `model.report`.

    Args:
        source: Path to an MJCF or URDF file, an `MjSpec` or an `MjModel`. The links of a
            URDF all stay bodies; its visual and collision geometry is not read, and
            joints that mimic others are joints like the others, as in Pinocchio.
        strict: Whether to refuse features that enter the equations of motion and are not
            represented (ball and free joints, equalities, springs, …). If false they are
            left out, with a warning; unsupported joints are welded.
        repair: `"nearest"` replaces each inconsistent inertia by the nearest consistent
            one, and reports by how much it changed.
        locked: Joints to be welded, with their positions [rad or m], as `lock` does, but
            before anything is refused: what only concerns them does not matter.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file cannot be read, or is refused; the message lists why.
    """
    if repair not in (None, "nearest"):
        raise ValueError(
            f"repair is None or 'nearest', but {repair!r} came. Drop it to keep the "
            "file's values."
        )
    mimics: tuple[str, ...] = ()
    if isinstance(source, mujoco.MjModel):
        compiled, inertial, filled = source, compiled_inertial(source), ()
    else:
        spec, mimics = _spec(source)
        compiled, inertial, filled = compile_spec(spec)
    name = compiled.names[: compiled.names.find(b"\0")].decode() or "this robot"

    locked = locked or {}
    ignored = ignored_features(compiled, locked)
    if ignored and strict:
        raise ValueError(
            f"{name} has features that change its equations of motion and are not "
            "represented:\n  " + "\n  ".join(ignored) + "\nRemove them from the file, "
            "lock the joints that they concern, or load it with strict=False to leave "
            "them out."
        )
    if ignored:
        warnings.warn(
            f"Left out of the equations of motion of {name}: {'; '.join(ignored)}.",
            stacklevel=2,
        )
    set_aside = set_aside_features(compiled) + mimics
    model = _model(compiled, inertial, Report(filled, (), set_aside, ignored))
    return lock(_reported(model, repair), locked)


def _spec(
    source: str | os.PathLike | mujoco.MjSpec,
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """The specification, and what it sets aside."""
    if isinstance(source, mujoco.MjSpec):
        return source, ()
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "A robot is loaded from a path to an MJCF or URDF file, a mujoco.MjSpec or a "
            f"mujoco.MjModel, but a {type(source).__name__} came."
        )
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no robot file {str(path)!r}; an MJCF or URDF file is wanted."
        )
    robot = _urdf(path)
    try:
        if robot is not None:
            return _urdf_spec(robot)
        return mujoco.MjSpec.from_file(str(path)), ()
    except ValueError as error:
        raise ValueError(f"MuJoCo cannot read {path}: {error}") from error


def _urdf(path: Path) -> ElementTree.Element | None:
    """Root of a URDF file, its tags without a namespace; `None` for another file."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        if b"<mujoco" in path.read_bytes():
            return None  # MuJoCo takes what is not quite XML, as `--` in a comment.
        raise ValueError(
            f"{path} is not an XML file ({error}). jaxdyn.load reads MJCF and URDF."
        ) from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root if root.tag == "robot" else None


def _urdf_spec(robot: ElementTree.Element) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    if robot.find("link") is None:
        raise ValueError("this URDF has no links. Is it a xacro file to be expanded?")
    for link in robot.iter("link"):
        for geometry in (*link.findall("visual"), *link.findall("collision")):
            link.remove(geometry)
    mimics = []
    for joint in robot.iter("joint"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
            mimics.append(
                f"joint {joint.get('name')!r} mimics {mimic.get('joint')!r}: here it is "
                "free; lock both, or give it positions that mimic"
            )
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, encoding="unicode"))
    spec.compiler.fusestatic = False
    return spec, tuple(mimics)


def _model(compiled: mujoco.MjModel, inertial: np.ndarray, report: Report) -> Model:
    joints = [
        j for j in range(compiled.njnt) if int(compiled.jnt_type[j]) in _JOINT_TYPES
    ]
    dofs = compiled.jnt_dofadr[joints]
    limited = compiled.jnt_limited[joints].astype(bool)
    gravity = compiled.opt.gravity * (not disabled(compiled, "GRAVITY"))
    damping = compiled.dof_damping * (not disabled(compiled, "DAMPER"))
    return Model(
        inertial=inertial,
        pos=compiled.body_pos[1:].copy(),
        quat=compiled.body_quat[1:].copy(),
        axis=compiled.jnt_axis[joints],
        anchor=compiled.jnt_pos[joints],
        ref=compiled.qpos0[compiled.jnt_qposadr[joints]],
        lower=np.where(limited, compiled.jnt_range[joints, 0], -np.inf),
        upper=np.where(limited, compiled.jnt_range[joints, 1], np.inf),
        armature=compiled.dof_armature[dofs],
        damping=damping[dofs],
        frictionloss=compiled.dof_frictionloss[dofs],
        gravity=gravity,
        site_pos=compiled.site_pos.copy(),
        site_quat=compiled.site_quat.copy(),
        parents=tuple(int(b) - 1 for b in compiled.body_parentid[1:]),
        joint_types=tuple(_JOINT_TYPES[int(compiled.jnt_type[j])] for j in joints),
        joint_bodies=tuple(int(compiled.jnt_bodyid[j]) - 1 for j in joints),
        site_bodies=tuple(int(b) - 1 for b in compiled.site_bodyid),
        body_names=_names(compiled, "body", range(1, compiled.nbody)),
        joint_names=_names(compiled, "joint", joints),
        site_names=_names(compiled, "site", range(compiled.nsite)),
        report=report,
    )


def _names(compiled: mujoco.MjModel, kind: str, ids: Sequence[int]) -> tuple[str, ...]:
    """Names of the file; what has none is called by its number in MuJoCo."""
    kind_id = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
    given = [mujoco.mj_id2name(compiled, kind_id, i) for i in ids]
    names = []
    for i, name in zip(ids, given, strict=True):
        candidate = name or f"{kind}{i}"
        while not name and candidate in given:
            candidate += "_"
        names.append(candidate)
    return tuple(names)


def _reported(model: Model, repair: str | None) -> Model:
    """The model with its inconsistent bodies named, and repaired if wanted."""
    inertial, remarks = np.array(model.inertial), []
    for problem in check_consistency(model):
        remark = str(problem)
        if repair == "nearest":
            b = model.body(problem.body)
            before, inertial[b] = inertial[b].copy(), nearest_consistent(inertial[b])
            change = np.abs(inertial[b] - before).max()
            remark += f"; repaired, its parameters changed by at most {change:.3g}"
        remarks.append(remark)
    report = dataclasses.replace(model.report, inertia=tuple(remarks))
    return dataclasses.replace(model, inertial=inertial, report=report)
