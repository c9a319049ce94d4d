"""XML that is edited in place: what is not edited keeps its every byte."""

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import quoteattr


_OPENING = re.compile(rb"""<[^\s/>]+(?:[^'">]|"[^"]*"|'[^']*')*>""")
_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=/>]+)(\s*=\s*)("[^"]*"|'[^']*')""")
_MARGIN = re.compile(rb"(\r?\n[ \t]*)\Z")
_CHILD_MARGIN = re.compile(rb"\s*?(\r?\n[ \t]*)(?=\S|\Z)")


@dataclasses.dataclass(eq=False)
class Element:
    """An element: its start tag as it is written, and what it says."""

    document: "Document"
    tag: str
    attributes: dict[str, str]
    opening: bytes
    children: list["Element"] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        """Value of the attribute `name`, empty if there is none."""
        return self.attributes.get("name", "")

    def child(self, tag: str) -> "Element":
        """The first child with a tag; a new one, before all others, if it has none."""
        return next((c for c in self.children if c.tag == tag), None) or self.insert(tag)

    def set(self, **attributes: str | None) -> None:
        """Give attributes new values, in place or at the end; `None` drops one."""
        for name, value in attributes.items():
            if name in self.attributes:
                self.opening = _ATTRIBUTE.sub(
                    lambda match, name=name, value=value: _replaced(match, name, value),
                    self.opening,
                )
            elif value is not None:
                stem = self.opening.rstrip(b"/>").rstrip()
                new = f" {name}={quoteattr(value)}".encode()
                self.opening = stem + new + self.opening[len(stem) :]
            self.attributes.pop(name, None)
            if value is not None:
                self.attributes[name] = value

    def insert(self, tag: str) -> "Element":
        """A new, empty element before all children, on a line of its own."""
        child = Element(self.document, tag, {}, f"<{tag}/>".encode())
        pieces = self.document.pieces
        here = pieces.index(self)
        margin = _found(_MARGIN.search, pieces[here - 1])
        indent = margin and margin + b"  "
        if self.children:
            indent = _found(_CHILD_MARGIN.match, pieces[here + 1]) or indent
        closing = []
        if self.opening.endswith(b"/>"):
            self.opening = self.opening[:-2].rstrip() + b">"
            closing = [margin + f"</{self.tag}>".encode()]
        pieces[here + 1 : here + 1] = [indent, child, *closing]
        self.children.insert(0, child)
        return child


def _found(
    find: Callable[[bytes], re.Match[bytes] | None], piece: bytes | Element
) -> bytes:
    match = find(piece) if isinstance(piece, bytes) else None
    return match[1] if match else b""


def _replaced(match: re.Match[bytes], name: str, value: str | None) -> bytes:
    space, key, equals, _ = match.groups()
    if key != name.encode():
        return match[0]
    return b"" if value is None else space + key + equals + quoteattr(value).encode()


class Document:
    """An XML file: its start tags, and the bytes between them.

    Args:
        path: The file.
        text: What it is to say, if not what it says.
    """

    path: Path
    pieces: list[bytes | Element]
    elements: list[Element]
    """All elements, in the order in which they begin."""

    def __init__(self, path: Path, text: bytes | None = None):
        text = path.read_bytes() if text is None else text
        self.path, self.pieces, self.elements, self._read = path, [], [], text
        position = 0
        ancestors: list[Element] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal position
            begin = parser.CurrentByteIndex
            opening = _OPENING.match(text, begin)
            element = Element(self, tag, attributes, opening[0] if opening else b"")
            self.pieces += [text[position:begin], element]
            self.elements.append(element)
            position = begin + len(element.opening)
            if ancestors:
                ancestors[-1].children.append(element)
            ancestors.append(element)

        parser = expat.ParserCreate()
        parser.StartElementHandler = start
        parser.EndElementHandler = lambda tag: ancestors.pop()
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            raise ValueError(
                f"{path} is not well-formed XML ({error}). Correct it, or, if it is no "
                "XML file, read it with MuJoCo and give the mujoco.MjSpec or MjModel."
            ) from error
        self.pieces.append(text[position:])

    @property
    def root(self) -> Element:
        """The outermost element."""
        return self.elements[0]

    @property
    def text(self) -> bytes:
        """The file as it now is."""
        return b"".join(p.opening if isinstance(p, Element) else p for p in self.pieces)

    @property
    def edited(self) -> bool:
        """Whether anything is no longer as it was read."""
        return self.text != self._read


def save(files: Mapping[Path, bytes]) -> None:
    """Write files, each either whole or not at all, in the given order."""
    drafts = {path: path.with_name(f".{path.name}.draft") for path in files}
    try:
        for path, draft in drafts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(files[path])
        for path, draft in drafts.items():
            os.replace(draft, path)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def moved(reference: str, home: Path, folder: Path) -> str:
    """A reference to a file, relative to `home`, made relative to `folder`."""
    if os.path.isabs(reference):
        return reference
    target = os.path.join(home.resolve(), reference)
    try:
        return Path(os.path.relpath(target, folder.resolve())).as_posix()
    except ValueError:  # On Windows there is no way from one drive to another.
        return Path(target).as_posix()
