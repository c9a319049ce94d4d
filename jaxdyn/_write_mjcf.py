"""MJCF, edited in place."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import mujoco
import numpy as np

from ._inertia import convert_inertial
from ._xml import Document, Element, moved, save


_SMALLEST = 1e-14
"""Moment of inertia that rods and points are given: MuJoCo refuses 1e-15. [kg m²]"""

_NEUTRAL = {
    "inertiafromgeom": "auto",
    "balanceinertia": "false",
    "boundmass": "0",
    "boundinertia": "0",
    "settotalmass": "-1",
}
"""Options of the compiler that override an `<inertial>`, at values that do not."""


_REFERENCES = (
    ("compiler", "assetdir"),
    ("compiler", "meshdir"),
    ("compiler", "texturedir"),
    ("model", "file"),
)
"""Where an MJCF file refers to others, relative to its own folder."""


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

    def save(self, path: Path) -> Path:
        """Write the file, and the files that it includes beside it."""
        home, folder = self.main.path.parent, path.parent
        files = {}
        for include, document in self.included.items():
            there = folder / os.path.relpath(document.path, home)
            if there == path:
                raise ValueError(
                    f"{self.main.path} includes a file that is called {path.name!r}. "
                    "Write to another name."
                )
            stays = self._is_elsewhere(include)
            stays |= there.exists() and there.samefile(document.path)
            if stays and document.edited:
                raise ValueError(
                    f"{document.path} would have to change, but it is the source's and "
                    f"is not overwritten. Write to a folder other than {home}; if the "
                    "file is not in that folder or below, move it there."
                )
            if not stays:
                files[there] = document
        files[path] = self.main
        if home.resolve() != folder.resolve():
            files = self._moved(files, folder)
        save({file: document.text for file, document in files.items()})
        return path

    def _moved(self, files: dict[Path, Document], folder: Path) -> dict[Path, Document]:
        """Copies of files, the main one last, that find from elsewhere what they use."""
        home = self.main.path.parent
        files = {there: Document(d.path, d.text) for there, d in files.items()}
        elements = [e for document in files.values() for e in document.elements]
        compilers = [e for e in elements if e.tag == "compiler"]

        for element in elements:
            if element.tag == "include" and self._is_elsewhere(element):
                target = os.path.relpath(self._target(element), home)
                element.set(file=moved(target, home, folder))
            for tag, name in _REFERENCES:
                if element.tag == tag and name in element.attributes:
                    reference = moved(element.attributes[name], home, folder)
                    element.set(**{name: reference})
        for name in ("meshdir", "texturedir"):
            given = any({name, "assetdir"} & c.attributes.keys() for c in compilers)
            if not given and any(_asset_folder(e) == name for e in elements):
                if not compilers:
                    compilers = [[*files.values()][-1].root.insert("compiler")]
                compilers[0].set(**{name: moved("", home, folder)})
        return files

    def _include(self, document: Document) -> None:
        for element in document.elements:
            if element.tag == "include":
                self.included[element] = Document(self._target(element))
                self._include(self.included[element])

    def _target(self, include: Element) -> Path:
        """The included file; MuJoCo looks beside the main file first."""
        file = include.attributes["file"]
        beside_main, beside_this = (
            Path(os.path.normpath(path.parent / file))
            for path in (self.main.path, include.document.path)
        )
        return beside_main if beside_main.is_file() else beside_this

    def _is_elsewhere(self, include: Element) -> bool:
        """Whether an included file is not in the folder of the main file, or below."""
        way = os.path.relpath(self._target(include), self.main.path.parent)
        return os.path.isabs(include.attributes["file"]) or way.startswith(os.pardir)

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


def _asset_folder(element: Element) -> str | None:
    """The compiler option that says where the files of an asset are."""
    if element.tag == "texture":
        files = any(name.startswith("file") for name in element.attributes)
        return "texturedir" if files else None
    has_mesh = element.tag in ("mesh", "hfield", "skin", "flexcomp")
    return "meshdir" if has_mesh and "file" in element.attributes else None


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
