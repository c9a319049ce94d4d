"""Tables: a header and rows of cells, the same for terminals, files and pages."""

import csv
import dataclasses
import io
import itertools
from collections.abc import Sequence


_ZERO = 1e-12
"""What is smaller, in SI units, is zero to people."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of text and numbers under a header; `str` aligns and rounds them."""

    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    @property
    def cells(self) -> list[list[str]]:
        """The rows as text."""
        return [[_text(cell) for cell in row] for row in self.rows]

    def __str__(self) -> str:
        lines = [self.header, *self.cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        words = [all(isinstance(x, str) for x in column) for column in self._columns()]

        def line(cells: Sequence[str]) -> str:
            aligned = (
                cell.ljust(width) if is_word else cell.rjust(width)
                for cell, width, is_word in zip(cells, widths, words, strict=True)
            )
            return "  ".join(aligned).rstrip()

        rule = ["─" * width for width in widths]
        return "\n".join(map(line, itertools.chain([lines[0], rule], lines[1:])))

    def csv(self) -> str:
        """The table as comma-separated values, numbers with all their digits."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue()

    def _columns(self):
        return zip(*self.rows, strict=True) if self.rows else [()] * len(self.header)


def _text(cell: object) -> str:
    match cell:
        case None:
            return "–"
        case float():  # numpy's too
            return f"{0 if abs(cell) < _ZERO else cell:.4g}"
        case _:
            return str(cell)
