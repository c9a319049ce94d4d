"""MJCF, edited in place."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import mujoco
import numpy as np

from ._inertia import convert_inertial
from ._write_elsewhere import include_target, mjcf_elsewhere
from ._xml import Document, Element, save


_SMALLEST = 1e-14
"""Moment of inertia that rods are given: MuJoCo refuses 1e-15. [kg m²]"""

_NEUTRAL = {
    "inertiafromgeom": "auto",
    "balanceinertia": "false",
    "boundmass": "0",
    "boundinertia": "0",
    "settotalmass": "-1",
}
"""Options of the compiler that override an `<inertial>`, at values that do not."""


class MjcfFile:
    """An MJCF file with all that it includes."""

    lacks: frozenset[str] = frozenset()

    def __init__(self, main: Document):
        self.main = main
        self.included: dict[Element, Document] = {}
        self._include(main)
        self.bodies = [
            body
            for section in self._parts(main.root)
            if section.tag == "worldbody"
            for body in self._bodies(section)
        ]

    def joints(self, body: Element) -> list[Element]:
        """The joints that move a body."""
        return [e for e in self._parts(body) if e.tag in ("joint", "freejoint")]

    def set_inertial(self, body: Element, pi: np.ndarray) -> None:
        """Write the ten numbers of a body as its principal moments and axes."""
        mass, center, moments, quat = principal(pi)
        own = (e for e in self._parts(body) if e.tag == "inertial")
        inertial = next(own, None) or body.insert("inertial")
        inertial.set(
            fullinertia=None, axisangle=None, xyaxes=None, zaxis=None, euler=None
        )
        inertial.set(
            mass=numbers(mass),
            pos=numbers(*center),
            quat=numbers(*quat),
            diaginertia=numbers(*moments),
        )

    def set_joint(self, joint: Element, values: dict[str, float]) -> None:
        """Write a joint's own values; high-order coefficients of damping stay."""
        for name, value in values.items():
            _, *higher = joint.attributes.get(name, "0").split()
            joint.set(**{name: " ".join((numbers(value), *higher))})

    def neutralise(self) -> tuple[str, ...]:
        """Switch off what the compiler does to inertias, and name it."""
        documents = (self.main, *self.included.values())
        return neutralise(e for document in documents for e in document.elements)

    def save(self, path: Path) -> tuple[Path, ...]:
        """Write the file and, into another folder, copies of what it includes."""
        files, kept = {path: self.main}, [*self.included.values()]
        if path.parent.resolve() != self.main.path.parent.resolve():
            files = mjcf_elsewhere(self.main, kept, path)
            kept.append(self.main)
        elif any(document.edited for document in kept):
            changed = ", ".join(str(d.path) for d in kept if d.edited)
            raise ValueError(
                f"{changed} would have to change, but other robots may include it: it is "
                "not overwritten. Write to another folder."
            )
        for place in files:
            if any(place.exists() and place.samefile(d.path) for d in kept):
                raise ValueError(
                    f"{place} belongs to {self.main.path} and is not overwritten. Write "
                    "to another name or folder."
                )
        save({place: document.text for place, document in files.items()})
        return path, *(place for place in files if place != path)

    def _include(self, document: Document) -> None:
        for element in document.elements:
            if element.tag == "include":
                target = include_target(element, self.main.path)
                self.included[element] = Document(target)
                self._include(self.included[element])

    def _parts(self, element: Element) -> Iterator[Element]:
        """What an element holds, directly, in frames and in included files."""
        for child in element.children:
            if child.tag == "include":
                yield from self._parts(self.included[child].root)
            elif child.tag == "frame":
                yield from self._parts(child)
            else:
                yield child

    def _bodies(self, parent: Element) -> Iterator[Element]:
        """Bodies below an element, depth-first, as MuJoCo numbers them."""
        for part in self._parts(parent):
            if part.tag == "body":
                yield part
                yield from self._bodies(part)


def neutralise(elements: Iterable[Element]) -> tuple[str, ...]:
    """Give compiler options that override an inertia values that do not, and name it."""
    named = []
    for compiler in (e for e in elements if e.tag == "compiler"):
        for name, neutral in _NEUTRAL.items():
            value = compiler.attributes.get(name, neutral)
            if value == "true" or (value not in ("auto", "false") and float(value) > 0):
                named.append(f'{name}="{value}"')
                compiler.set(**{name: neutral})
    return tuple(named)


def principal(pi: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Mass, center of mass, principal moments, and quaternion of the principal axes.

    MuJoCo's compiler keeps these to the last digit. It also takes plates then, one
    moment of which is the sum of the others; in a full matrix it may refuse them.
    """
    m, *center, xx, yy, zz, xy, xz, yz = np.asarray(
        convert_inertial(pi, "pinocchio", "mujoco")
    )
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments, axes = np.linalg.eigh(I)
    moments = np.maximum(moments, _SMALLEST * (m > 0))
    moments[2] = min(moments[2], moments[0] + moments[1])
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, (axes * np.linalg.det(axes)).ravel())
    return float(m), np.array(center), moments, quat


def numbers(*values: float) -> str:
    """Numbers as text that reads back to the same bits."""
    return " ".join(repr(float(value)) for value in values)
