"""The robots that experiments ask about, in the form that each library reads.

All read the same URDF of the package `example-robot-data`. Links that are welded together
become one body everywhere, since Pinocchio knows no others.
"""

import importlib.metadata
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree


class Robot(NamedTuple):
    """Where a robot's description is found."""

    title: str
    """What tables call it."""
    file: str
    """Name of its URDF in the package `example-robot-data`."""
    locked: tuple[str, ...] = ()
    """Joints of that file which are welded."""


ROBOTS = {
    "panda": Robot(
        "Franka Panda, 7 joints",
        "panda.urdf",
        locked=("panda_finger_joint1", "panda_finger_joint2"),
    ),
    "humanoid": Robot("Unitree G1, fixed base, 29 joints", "g1_29dof_rev_1_0.urdf"),
}


def urdf(robot: Robot) -> str:
    """Text of a robot's URDF: joints and inertias alone, some joints welded."""
    root = ElementTree.parse(_example_robot(robot.file)).getroot()
    for link in root.iter("link"):
        for geometry in (*link.findall("visual"), *link.findall("collision")):
            link.remove(geometry)
    for joint in root.iter("joint"):
        if joint.get("name") in robot.locked:
            joint.set("type", "fixed")
    return ElementTree.tostring(root, encoding="unicode")


def joint_names(urdf: str) -> list[str]:
    """Joints of a URDF that move, in the order of the file."""
    joints = ElementTree.fromstring(urdf).iter("joint")
    return [j.attrib["name"] for j in joints if j.get("type") != "fixed"]


def spec(robot: Robot):
    """A robot as a `mujoco.MjSpec`."""
    import mujoco

    description = mujoco.MjSpec.from_string(urdf(robot))
    description.compiler.fusestatic = True
    return description


def _example_robot(name: str) -> Path:
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ModuleNotFoundError(
            "The robots of the experiments come with the package example-robot-data, "
            "which is not installed. Run `uv sync`.",
            name="example-robot-data",
        ) from error
    return next(Path(str(f.locate())) for f in files if f.name == name)
