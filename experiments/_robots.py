"""The robots that experiments ask about, in the form that each library reads."""

import importlib.metadata
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree


class Robot(NamedTuple):
    """Where a robot's description is found."""

    title: str
    """What tables call it."""
    urdf: str
    """Name of its file in the package `example-robot-data`."""
    locked: tuple[str, ...] = ()
    """Joints of that file which are welded."""
    menagerie: tuple[str, str] | None = None
    """Its name and its file in the MuJoCo Menagerie, for the libraries that read MJCF."""


ROBOTS = {
    "panda": Robot(
        "Franka Panda",
        "panda.urdf",
        locked=("panda_finger_joint1", "panda_finger_joint2"),
        menagerie=("franka_emika_panda", "panda_nohand"),
    ),
    "humanoid": Robot("Unitree G1, base fixed", "g1_29dof_rev_1_0.urdf"),
}


def urdf(robot: Robot) -> str:
    """Text of a robot's URDF: joints and inertias alone, some joints welded."""
    root = ElementTree.parse(_example_robot(robot.urdf)).getroot()
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


def _example_robot(name: str) -> Path:
    files = importlib.metadata.files("example-robot-data") or []
    return next(Path(str(f.locate())) for f in files if f.name == name)


def spec(robot: Robot):
    """A robot as a `mujoco.MjSpec` without geometry.

    From the Menagerie, which is looked for in `MENAGERIE_ROOT` and downloaded elsewhere,
    or from the URDF, whose links all stay bodies.
    """
    import mujoco

    if robot.menagerie is None:
        description = mujoco.MjSpec.from_string(urdf(robot))
        description.compiler.fusestatic = False
        return description
    import mujoco_menagerie

    name, entry = robot.menagerie
    description = mujoco_menagerie.get(name).spec(entry)
    for geometry in list(description.geoms):
        description.delete(geometry)
    return description
