"""Robots to test on: random trees, one-liners, and where others' robots are found."""

import functools
import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np


def random_tree(
    seed: int, joints: int, *, numbers: int = 0, in_a_row: float = 0.6
) -> str:
    """MJCF of a random tree, or several: hinges, slides, welds, all at odd places.

    Some bodies are welded, some have two joints; joints have anchors, `ref`, armature and
    axes of any length; quaternions are not normalised. Some axes, rotations and positions
    are special: along `-z`, half a turn, zero.

    Args:
        seed: Decides about the structure: trees of one seed compile once.
        joints: How many.
        numbers: Decides, with the seed, about all numbers.
        in_a_row: Probability that a body hangs on the one before.
    """
    shape, rng = np.random.default_rng(seed), np.random.default_rng((seed, numbers))
    bodies: list[tuple[int, str]] = []
    left = joints
    while left:
        count = min(left, int(shape.choice([0, 1, 2], p=[0.15, 0.7, 0.15])))
        parent = len(bodies) - 1
        if shape.random() > in_a_row:
            parent = int(shape.integers(-1, len(bodies)))
        kinds = shape.choice(["hinge", "slide"], count, p=[0.7, 0.3])
        bodies.append((parent, _body(rng, len(bodies), joints - left, kinds)))
        left -= count
    inside = "".join(_nested(bodies, i) for i, (p, _) in enumerate(bodies) if p < 0)
    return (
        f'<mujoco model="tree{seed}"><compiler angle="radian"/>'
        f'<option gravity="{_numbers(rng.normal(0, 5, 3))}"/>'
        f"<worldbody>{inside}</worldbody></mujoco>"
    )


def _nested(bodies, i: int) -> str:
    children = "".join(_nested(bodies, k) for k, (p, _) in enumerate(bodies) if p == i)
    return bodies[i][1] + children + "</body>"


def _body(rng, index: int, first_joint: int, kinds: Sequence[str]) -> str:
    text = f'<body name="b{index}" pos="{_point(rng)}" quat="{_quaternion(rng)}">'
    for j, kind in enumerate(kinds, first_joint):
        text += (
            f'<joint name="j{j}" type="{kind}" axis="{_axis(rng)}" pos="{_point(rng)}" '
            f'ref="{rng.normal():.17g}" armature="{rng.choice([0, 0.1])}" '
            f'damping="{rng.uniform():.17g}"/>'
        )
    a, b = np.sort(rng.uniform(0.02, 0.2, 2))
    moments = _numbers([a, b, rng.uniform(b, a + b)])
    return text + (
        f'<inertial mass="{np.exp(rng.normal()):.17g}" pos="{_point(rng)}" '
        f'quat="{_quaternion(rng)}" diaginertia="{moments}"/>'
        f'<site name="s{index}" pos="{_point(rng)}" quat="{_quaternion(rng)}"/>'
    )


def _point(rng) -> str:
    return "0 0 0" if rng.random() < 0.2 else _numbers(rng.normal(0, 0.3, 3))


def _axis(rng) -> str:
    special = rng.choice(["0 0 1", "0 0 -1", "0 -2 0", "1 0 0"])
    return special if rng.random() < 0.3 else _numbers(rng.normal(size=3))


def _quaternion(rng) -> str:
    special = rng.choice(["1 0 0 0", "-3 0 0 0", "0 0 2 0", "1 -1 0 0"])
    return special if rng.random() < 0.3 else _numbers(rng.normal(size=4))


def _numbers(values) -> str:
    return " ".join(f"{float(v):.17g}" for v in values)


def mjcf(bodies: str, *, option: str = "", outside: str = "") -> mujoco.MjSpec:
    """A robot of a few bodies."""
    return mujoco.MjSpec.from_string(
        f'<mujoco><compiler angle="radian"/><option {option}/>'
        f"<worldbody>{bodies}</worldbody>{outside}</mujoco>"
    )


def inertial(pos: str, mass: float, moments: str) -> str:
    """A body's mass, centre of mass and principal moments in its own axes."""
    return f'<inertial pos="{pos}" mass="{mass}" diaginertia="{moments}"/>'


def urdf(folder: Path, *elements: str) -> Path:
    """A URDF file; its first link is `base`."""
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="base"/>{"".join(elements)}</robot>')
    return path


def link(name: str, mass: float, com: str, moments: str, *, rpy: str = "0 0 0") -> str:
    """A link of a URDF, its moments of inertia `xx yy zz`."""
    xx, yy, zz = moments.split()
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="{rpy}"/>'
        f'<mass value="{mass}"/><inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" '
        f'ixz="0" iyz="0"/></inertial></link>'
    )


def joint(
    parent: str,
    child: str,
    axis: str | None,
    *,
    type: str = "revolute",
    xyz: str = "0 0 0",
    rpy: str = "0 0 0",
) -> str:
    """A joint of a URDF, called `to_CHILD`."""
    limit = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'
    return (
        f'<joint name="to_{child}" type="{type}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{xyz}" rpy="{rpy}"/>'
        + (f'<axis xyz="{axis}"/>' if axis else "")
        + (limit if type in ("revolute", "prismatic") else "")
        + "</joint>"
    )


@functools.cache
def example_urdf(name: str) -> Path:
    """A URDF of the package example-robot-data."""
    files = importlib.metadata.files("example-robot-data") or []
    return next(Path(str(f.locate())) for f in files if f.name == name)


def states(model, count: int, seed: int = 0) -> np.ndarray:
    """Random positions, velocities and accelerations: `(count, 3, nv)`."""
    return np.random.default_rng(seed).normal(size=(count, 3, model.nv))
