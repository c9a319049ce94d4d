"""URDF, edited in place."""

from pathlib import Path

import numpy as np

from ._inertia import convert_inertial
from ._write_elsewhere import urdf_elsewhere
from ._write_mjcf import neutralise, numbers
from ._xml import Document, Element, save


class UrdfFile:
    """A URDF file, perhaps with MuJoCo's extension `<mujoco>`."""

    lacks: frozenset[str] = frozenset({"armature"})

    def __init__(self, main: Document):
        self.main = main
        self.bodies = [e for e in main.root.children if e.tag == "link"]
        self._moving = {
            joint.child("child").attributes.get("link"): joint
            for joint in main.root.children
            if joint.tag == "joint" and joint.attributes.get("type") != "fixed"
        }

    def joints(self, body: Element) -> list[Element]:
        """The joint that moves a link."""
        return [self._moving[body.name]] if body.name in self._moving else []

    def set_inertial(self, body: Element, pi: np.ndarray) -> None:
        """Write the ten numbers of a link, in axes parallel to its own."""
        m, cx, cy, cz, *I = np.asarray(convert_inertial(pi, "pinocchio", "mujoco"))
        names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        inertial = body.child("inertial")
        inertial.child("inertia").set(**dict(zip(names, map(numbers, I), strict=True)))
        inertial.child("mass").set(value=numbers(m))
        inertial.child("origin").set(xyz=numbers(cx, cy, cz), rpy="0 0 0")

    def set_joint(self, joint: Element, values: dict[str, float]) -> None:
        """Write damping and friction of a joint."""
        attributes = {"damping": "damping", "frictionloss": "friction"}
        for name, value in values.items():
            joint.child("dynamics").set(**{attributes[name]: numbers(value)})

    def neutralise(self) -> tuple[str, ...]:
        """Switch off what MuJoCo's compiler does to inertias, and name it."""
        return neutralise(self.main.elements)

    def save(self, path: Path) -> tuple[Path]:
        """Write the file, with references to meshes that hold from its place."""
        document, folder = self.main, path.parent
        if document.path.parent.resolve() != folder.resolve():
            document = urdf_elsewhere(document, folder)
        save({path: document.text})
        return (path,)
