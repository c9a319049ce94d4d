"""XML that is edited in place: what is not edited keeps its every byte."""

import contextlib
import dataclasses
import errno
import html
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr


_MARKUP = re.compile(
    rb"""<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<!DOCTYPE[^[>]*(?:\[.*?\]\s*)?>
    |(?P<closing></[^>]*>)|(?P<opening><[^\s/>!?]+(?:[^'">]|"[^"]*"|'[^']*')*>)""",
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=/>]+)(\s*=\s*)("[^"]*"|'[^']*')""")
_ENCODING = re.compile(rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)""")
_MARGIN = re.compile(rb"(\r?\n[ \t]*)\Z")
_CHILD_MARGIN = re.compile(rb"\s*?(\r?\n[ \t]*)(?=\S|\Z)")


@dataclasses.dataclass(eq=False)
class Element:
    """An element: its start tag as it is written, and what is inside."""

    document: "Document"
    opening: bytes
    children: list["Element"] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        decode = lambda text: html.unescape(text.decode(self.document.encoding))
        self.tag: str = decode(re.split(rb"[\s/>]", self.opening[1:], maxsplit=1)[0])
        self.attributes: dict[str, str] = {
            decode(name): decode(value[1:-1])
            for _, name, _, value in _ATTRIBUTE.findall(self.opening)
        }

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
            if value == self.attributes.get(name):
                continue
            quoted = self.document.encode("" if value is None else quoteattr(value))
            if name in self.attributes:
                self.opening = _ATTRIBUTE.sub(
                    lambda match, name=name, quoted=quoted: _replaced(
                        match, self.document.encode(name), quoted
                    ),
                    self.opening,
                )
                del self.attributes[name]
            else:
                stem = self.opening.rstrip(b"/>").rstrip()
                new = self.document.encode(f" {name}=") + quoted
                self.opening = stem + new + self.opening[len(stem) :]
            if value is not None:
                self.attributes[name] = value

    def insert(self, tag: str) -> "Element":
        """A new, empty element before all children, on a line of its own."""
        child = Element(self.document, self.document.encode(f"<{tag}/>"))
        pieces = self.document.pieces
        here = pieces.index(self)
        margin = _found(_MARGIN.search(_text(pieces[here - 1])))
        indent = margin and margin + b"  "
        if self.children:
            indent = _found(_CHILD_MARGIN.match(_text(pieces[here + 1]))) or indent
        closing = []
        if self.opening.endswith(b"/>"):
            self.opening = self.opening[:-2].rstrip() + b">"
            closing = [margin + self.document.encode(f"</{self.tag}>")]
        pieces[here + 1 : here + 1] = [indent, child, *closing]
        self.children.insert(0, child)
        return child


def _text(piece: bytes | Element) -> bytes:
    return piece if isinstance(piece, bytes) else b""


def _found(match: re.Match[bytes] | None) -> bytes:
    return match[1] if match else b""


def _replaced(match: re.Match[bytes], name: bytes, quoted: bytes) -> bytes:
    space, key, equals, _ = match.groups()
    if key != name:
        return match[0]
    return space + key + equals + quoted if quoted else b""


class Document:
    """An XML file: its start tags, and the bytes between them.

    It need be no better XML than MuJoCo reads, which has comments that contain `--`.

    Args:
        path: The file.
        text: What it is to say, if not what it says.
    """

    path: Path
    encoding: str
    pieces: list[bytes | Element]
    elements: list[Element]
    """All elements that were read, in the order in which they begin."""

    def __init__(self, path: Path, text: bytes | None = None):
        self.path = path
        self._read = text = path.read_bytes() if text is None else text
        declared = _ENCODING.match(text)
        self.encoding = declared[1].decode() if declared else "utf-8"
        self.pieces, self.elements = [], []
        position = 0
        ancestors: list[Element] = []
        for markup in _MARKUP.finditer(text):
            if markup["opening"]:
                element = Element(self, markup[0])
                self.pieces += [text[position : markup.start()], element]
                self.elements.append(element)
                position = markup.end()
                if ancestors:
                    ancestors[-1].children.append(element)
                if not markup[0].endswith(b"/>"):
                    ancestors.append(element)
            elif markup["closing"] and ancestors:
                ancestors.pop()
        self.pieces.append(text[position:])
        if not self.elements or ancestors:
            raise ValueError(
                f"{path} is no XML, or in an encoding that cannot be edited in place. "
                "Correct it, or save it as UTF-8."
            )

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

    def encode(self, text: str) -> bytes:
        """Text as it is written in this file."""
        return text.encode(self.encoding, "xmlcharrefreplace")


def save(files: Mapping[Path, bytes]) -> None:
    """Write files, each either whole or not at all, in the given order.

    Raises:
        OSError: If one cannot be written; then none is.
    """
    drafts = {path: path.with_name(f".{path.name}.draft") for path in files}
    try:
        for path, draft in drafts.items():
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(files[path])
            if path.exists():
                shutil.copymode(path, draft)
        for path, draft in drafts.items():
            os.replace(draft, path)
    except OSError as error:
        raise OSError(
            f"{path} cannot be written ({error.strerror}). Choose a folder in which "
            "files can be made, and the name of a file."
        ) from error
    finally:
        for draft in drafts.values():
            with contextlib.suppress(OSError):
                draft.unlink()


def moved(reference: str, home: Path, folder: Path) -> str:
    """A reference to a file, relative to `home`, made relative to `folder`.

    MuJoCo and the operating system disagree on the parent of a folder that is a link;
    from such a folder references are absolute.
    """
    target = os.path.abspath(home / reference)
    if os.path.isabs(reference):
        return reference
    if os.path.realpath(folder) != os.path.abspath(folder):
        return Path(target).as_posix()
    try:
        return Path(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # On Windows there is no way from one drive to another.
        return Path(target).as_posix()
