"""From long records to small triangles that say all that least squares asks of them.

For each joint `j`, the filtered and decimated rows `[W_j | y_j]` are replaced by a
triangular factor `[R_j | z_j]` of the same inner products, so that for every `x`

    |W_j x − y_j| = |R_j x − z_j|.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.linalg.lapack
from jaxtyping import Float64

from ._base import Base
from ._batches import along, batches
from ._columns import columns, joint_torque, Unknowns
from ._signals import LowPass, Motion


_ROWS = 256
_BLOCK = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class Reduction:
    """The triangular factors of all joints' rows."""

    R: tuple[Float64[np.ndarray, "_ r"], ...]
    """For each joint, the factor of its columns."""
    z: tuple[Float64[np.ndarray, " _"], ...]
    """For each joint, the torque in the same coordinates. [N m or N]"""
    rows: int
    """Decimated samples of each joint."""

    def stacked(
        self, weights: Float64[np.ndarray, " nv"]
    ) -> tuple[Float64[np.ndarray, "_ r"], Float64[np.ndarray, " _"]]:
        """One factor and right-hand side of all joints' rows, each joint weighted."""
        parts = zip(weights, self.R, self.z, strict=True)
        return _triangle([np.column_stack([w * R, w * z]) for w, R, z in parts])

    def misfit(self, x: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, " nv"]:
        """`|W_j x − y_j|` of each joint. [N m or N]"""
        pairs = zip(self.R, self.z, strict=True)
        return np.array([np.linalg.norm(R @ x - z) for R, z in pairs])


def merged(reductions: Sequence[Reduction]) -> Reduction:
    """The reduction of all rows of some reductions."""
    R, z = [], []
    for joint in range(len(reductions[0].R)):
        parts = [np.column_stack([one.R[joint], one.z[joint]]) for one in reductions]
        for factor, part in zip((R, z), _triangle(parts), strict=True):
            factor.append(part)
    return Reduction(tuple(R), tuple(z), sum(one.rows for one in reductions))


def _triangle(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Triangular factor of rows `[R | z]` on top of each other."""
    triangle = np.linalg.qr(np.vstack(parts), mode="r")
    return triangle[:, :-1], triangle[:, -1]


def reduce(
    unknowns: Unknowns,
    base: Base,
    motions: Sequence[Motion],
    *,
    cutoff: float | None,
    parts: int = 1,
    progress: Callable[[str], None] | None = None,
) -> tuple[Reduction, ...]:
    """Triangular factors of the base parameters' columns and of the torque.

    One pass over the records, some thousand samples at a time.

    Args:
        unknowns: What is to be estimated; the torque of all else is subtracted.
        base: Base parameters of the unknowns.
        motions: The records.
        cutoff: Of the low-pass filter that acts on torque and columns alike; `None`
            takes all samples as they are. [Hz]
        parts: Into how many spans of time each record is divided.
        progress: Called with a line of text now and then.

    Returns:
        One reduction for each span of time; `merged` makes one of several.
    """
    felt = [np.flatnonzero(row) for row in base.support]
    reductions = []
    for part in range(parts):
        triangles = [np.zeros((len(k) + 1, len(k) + 1), order="F") for k in felt]
        rows = 0
        for motion in motions:
            blocks = filtered(unknowns, base, motion, cutoff=cutoff, part=(part, parts))
            for block in blocks:
                triangles = [_fold(*pair) for pair in zip(triangles, block, strict=True)]
                rows += len(block[0])
        R = [np.zeros((len(k) + 1, base.rank)) for k in felt]
        for columns_of, k, triangle in zip(R, felt, triangles, strict=True):
            columns_of[:, k] = triangle[:, :-1]
        z = [triangle[:, -1].copy() for triangle in triangles]
        reductions.append(Reduction(tuple(R), tuple(z), rows))
        if progress is not None:
            progress(f"part {part + 1} of {parts} reduced to {rows} samples")
    return tuple(reductions)


def _fold(triangle, block):
    """Triangular factor of a triangle on top of further rows.

    Few rows at a time stay in the cache, and below the size from which the linear
    algebra library would share the work among threads, which costs more than it saves.
    """
    for start in range(0, len(block), _ROWS):
        rows = np.asfortranarray(block[start : start + _ROWS])
        triangle, *_ = scipy.linalg.lapack.dtpqrt(
            0, min(8, len(triangle)), triangle, rows, overwrite_a=1, overwrite_b=1
        )
    return triangle


def filtered(
    unknowns: Unknowns,
    base: Base,
    motion: Motion,
    *,
    cutoff: float | None,
    part: tuple[int, int] = (0, 1),
) -> Iterator[list[Float64[np.ndarray, "n _"]]]:
    """Filtered and decimated rows `[W_j | y_j]` of each joint, block by block.

    `W_j` has the base parameters' columns that the joint's torque depends on. `part` is
    the span of time: `(0, 3)` is the first third.
    """
    lowpass = None if cutoff is None else LowPass(cutoff, motion.rate)
    picks = [np.array(base.independent, int)[row] for row in base.support]
    for span in _spans(len(motion.t), lowpass, *part):
        state = motion.q[span], motion.qd[span], motion.qdd[span]
        known = along(joint_torque, unknowns.known, *state, width=unknowns.width)
        block = [np.empty((len(known), len(k) + 1)) for k in picks]
        for rows, y in zip(block, (motion.tau[span] - known).T, strict=True):
            rows[:, -1] = y
        at = 0
        for W in batches(
            columns,
            unknowns.model,
            *state,
            terms=unknowns.terms,
            width=unknowns.width,
        ):
            for j, k in enumerate(picks):
                block[j][at : at + len(W), :-1] = W[:, j, k]
            at += len(W)
        yield block if lowpass is None else [lowpass.reduce(rows) for rows in block]


def _spans(
    length: int, lowpass: LowPass | None, part: int, parts: int
) -> Iterator[slice]:
    """Blocks of a record, overlapping by what the filter takes from their ends."""
    step, reach, trim = 1, 0, 0
    if lowpass is not None:
        step, reach, trim = lowpass.decimate, lowpass.margin, lowpass.trim
    start, end = (trim + k * (length - 2 * trim) // parts for k in (part, part + 1))
    outputs = max(1, max(_BLOCK, 4 * reach) // step)
    for first in range(start, end, outputs * step):
        last = min(first + (outputs - 1) * step, end - 1)
        yield slice(first - reach, last + reach + 1)
