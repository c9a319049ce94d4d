"""Files that are written to another folder, and find there what they refer to."""

import os
from collections.abc import Sequence
from pathlib import Path

from ._xml import Document, Element, moved


_FOLDER_OPTIONS = {
    "mesh": "meshdir",
    "hfield": "meshdir",
    "skin": "meshdir",
    "flexcomp": "meshdir",
    "texture": "texturedir",
}
"""MJCF elements that name files, and the compiler's option that says where these are."""


def include_target(include: Element, main: Path) -> Path:
    """The file that is included: beside the main file, or else beside the including."""
    file = include.attributes["file"]
    beside_main, beside_this = (
        Path(os.path.normpath(path.parent / file))
        for path in (main, include.document.path)
    )
    return beside_main if beside_main.is_file() else beside_this


def mjcf_elsewhere(
    main: Document, included: Sequence[Document], path: Path
) -> dict[Path, Document]:
    """Copies of an MJCF file and of all that it includes, in the folder of a new path.

    Meshes, textures and attached models stay where they are.

    Args:
        main: The file.
        included: The files that it includes, directly or through others.
        path: What the copy of the file is to be.

    Returns:
        The copies, by their paths, the main one last.

    Raises:
        ValueError: If two of them would have the same path.
    """
    home, folder = main.path.parent, path.parent
    places = {}
    for document in included:
        inside = Path(os.path.relpath(document.path, home))
        outside = os.pardir in inside.parts
        places[document.path] = folder / (inside.name if outside else inside)
    places[main.path] = path
    if len(set(places.values())) < len(places):
        raise ValueError(
            f"{main.path} includes files, two of which would be called the same in "
            f"{folder}. Write to another name, or rename one of them."
        )
    copies = {places[d.path]: Document(d.path, d.text) for d in (*included, main)}
    elements = [element for copy in copies.values() for element in copy.elements]
    for include in (e for e in elements if e.tag == "include"):
        there = places[include_target(include, main.path)]
        found = (
            os.path.normpath(start / include.attributes["file"])
            for start in (folder, places[include.document.path].parent)
        )
        if os.path.normpath(there) not in found:
            include.set(file=there.relative_to(folder).as_posix())
    for model in (e for e in elements if e.tag == "model" and "file" in e.attributes):
        here = model.document.path
        model.set(file=moved(model.attributes["file"], here.parent, places[here].parent))
    _redirect_assets(copies[path].root, elements, home, folder)
    return copies


def _redirect_assets(
    root: Element, elements: Sequence[Element], home: Path, folder: Path
) -> None:
    """Let elements of a file in one folder find the same assets from another folder.

    MuJoCo looks for an asset in the folder that the compiler's options name, from where
    the main file is, and then beside the file that is included.
    """
    compilers = [element for element in elements if element.tag == "compiler"]
    asset_folders, needed = [home], set()
    for compiler in compilers:
        for option in ("assetdir", "meshdir", "texturedir"):
            if option in compiler.attributes:
                asset_folders.append(home / compiler.attributes[option])
                compiler.set(**{option: moved(compiler.attributes[option], home, folder)})

    for element in (e for e in elements if e.tag in _FOLDER_OPTIONS):
        for name in [name for name in element.attributes if name.startswith("file")]:
            file = element.attributes[name]
            beside = os.path.abspath(element.document.path.parent / file)
            found = any((where / file).is_file() for where in asset_folders)
            if not found and os.path.isfile(beside):
                element.set(**{name: beside})
            needed.add(_FOLDER_OPTIONS[element.tag])

    for option in sorted(needed):
        if not any({option, "assetdir"} & c.attributes.keys() for c in compilers):
            compilers = compilers or [root.insert("compiler")]
            compilers[0].set(**{option: moved("", home, folder)})


def urdf_elsewhere(urdf: Document, folder: Path) -> Document:
    """A copy of a URDF that finds its meshes from another folder."""
    home = urdf.path.parent
    copy = Document(urdf.path, urdf.text)
    compilers = [e for e in copy.elements if "meshdir" in e.attributes]
    for compiler in compilers:
        compiler.set(meshdir=moved(compiler.attributes["meshdir"], home, folder))
    for element in copy.elements:
        file = element.attributes.get("filename", "")
        if file and not compilers and (home / file).is_file():
            element.set(filename=moved(file, home, folder))
    return copy
