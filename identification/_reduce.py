"""From long records to small triangles that say all that least squares asks of them.

For each joint `j`, the filtered and decimated rows `[W_j | y_j]` are replaced by a
triangular factor `[R_j | z_j]` of the same inner products, so that for every `x`

    |W_j x − y_j| = |R_j x − z_j|.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from ._base import Base
from ._batches import along, batches
from ._columns import columns, joint_torque, Unknowns
from ._signals import LowPass, Motion


_BLOCK = 4096
"""Samples of a block, without overlap."""
_ROWS = 256
"""Rows that are folded into a triangle at a time."""

(_tpqrt,) = scipy.linalg.get_lapack_funcs(("tpqrt",), dtype=float)


@dataclasses.dataclass(frozen=True, eq=False)
class Reduction:
    """The triangular factors of all joints' rows."""

    R: tuple[Float64[np.ndarray, "_ r"], ...]
    """For each joint, the factor of its columns."""
    z: tuple[Float64[np.ndarray, " _"], ...]
    """For each joint, the torque in the same coordinates. [N m or N]"""
    rows: float
    """Independent samples of each joint."""

    def stacked(
        self, weights: Float64[np.ndarray, " nv"]
    ) -> tuple[Float64[np.ndarray, "_ r"], Float64[np.ndarray, " _"]]:
        """One factor and right-hand side of all joints' rows, each joint weighted."""
        parts = zip(weights, self.R, self.z, strict=True)
        rows = np.vstack([np.column_stack([w * R, w * z]) for w, R, z in parts])
        triangle = np.linalg.qr(rows, mode="r")
        return triangle[:, :-1], triangle[:, -1]

    def misfit(self, x: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, " nv"]:
        """`|W_j x − y_j|` of each joint, in N m or N."""
        pairs = zip(self.R, self.z, strict=True)
        return np.array([np.linalg.norm(R @ x - z) for R, z in pairs])


def reduce(
    unknowns: Unknowns,
    base: Base,
    motions: Sequence[Motion],
    *,
    cutoff: float | None,
    progress: Callable[[str], None] | None = None,
) -> Reduction:
    """Triangular factors of the base parameters' columns and of the torque.

    One pass over the records, some thousand samples at a time.

    Args:
        unknowns: What is to be estimated; the torque of all else is subtracted.
        base: Base parameters of the unknowns.
        motions: The records.
        cutoff: Of the low-pass filter that acts on torque and columns alike; `None`
            takes all samples as they are. [Hz]
        progress: Called with a line of text now and then.
    """
    felt = [np.flatnonzero(row) for row in base.support]
    triangles = [np.zeros((len(k) + 1, len(k) + 1), order="F") for k in felt]
    rows = 0.0
    for i, motion in enumerate(motions):
        for block, share in filtered(unknowns, base, motion, cutoff=cutoff):
            triangles = [_fold(*pair) for pair in zip(triangles, block, strict=True)]
            rows += share
        if progress is not None:
            progress(f"record {i + 1} of {len(motions)} reduced: {rows:.0f} samples")
    R = [np.zeros((len(k) + 1, base.rank)) for k in felt]
    for columns_of, k, triangle in zip(R, felt, triangles, strict=True):
        columns_of[:, k] = triangle[:, :-1]
    return Reduction(tuple(R), tuple(t[:, -1].copy() for t in triangles), rows)


def samples(
    unknowns: Unknowns,
    base: Base,
    motions: Sequence[Motion],
    *,
    cutoff: float | None,
) -> tuple[Float64[np.ndarray, "N nv r"], Float64[np.ndarray, "N nv"]]:
    """The rows that `reduce` makes triangles of: base parameters' columns and torque."""
    pieces = []
    for motion in motions:
        for block, _ in filtered(unknowns, base, motion, cutoff=cutoff):
            W = np.zeros((len(block[0]), *base.support.shape))
            for j, rows in enumerate(block):
                W[:, j, base.support[j]] = rows[:, :-1]
            pieces.append((W, np.stack([rows[:, -1] for rows in block], axis=1)))
    W, y = zip(*pieces, strict=True)
    return np.concatenate(W), np.concatenate(y)


def _fold(triangle, block):
    """Triangular factor of a triangle on top of further rows.

    Few rows at a time stay in the cache, and below the size from which the linear
    algebra library would share the work among threads, which costs more than it saves.
    """
    for start in range(0, len(block), _ROWS):
        rows = np.asfortranarray(block[start : start + _ROWS])
        triangle, *_ = _tpqrt(
            0, min(8, len(triangle)), triangle, rows, overwrite_a=1, overwrite_b=1
        )
    return triangle


def filtered(
    unknowns: Unknowns, base: Base, motion: Motion, *, cutoff: float | None
) -> Iterator[tuple[list[Float64[np.ndarray, "n _"]], float]]:
    """Filtered and decimated rows `[W_j | y_j]` of each joint, block by block.

    `W_j` has the base parameters' columns that the joint's torque depends on. With each
    block comes the number of independent samples in it, and rows are weighted to count
    as many. Noise that is white before a filter with kernel `h` has, after it, `Σ h²`
    independent samples for each that there were. The filter passes a little beyond its
    cut-off, more than one set of decimated samples can hold: two interleaved are taken.
    """
    lowpass = None if cutoff is None else LowPass(cutoff, motion.rate)
    picks = [np.array(base.independent, int)[row] for row in base.support]
    for span in _spans(len(motion.t), lowpass):
        block = _rows(unknowns, picks, motion, span)
        if lowpass is None:
            yield block, len(block[0])
            continue
        starts = sorted({0, lowpass.decimate // 2})
        worth = lowpass.decimate * float(np.sum(lowpass.kernel**2)) / len(starts)
        for start in starts:
            kept = [lowpass.reduce(rows[start:]) for rows in block]
            yield [np.sqrt(worth) * rows for rows in kept], worth * len(kept[0])


def _rows(
    unknowns: Unknowns, picks: list[np.ndarray], motion: Motion, span: slice
) -> list[Float64[np.ndarray, "n _"]]:
    """`[W_j | y_j]` of each joint at each sample of a span."""
    model, width = unknowns.model, unknowns.width
    state = motion.q[span], motion.qd[span], motion.qdd[span]
    y = motion.tau[span] - along(joint_torque, unknowns.known, *state, width=width)
    block = [np.empty((len(y), len(k) + 1)) for k in picks]
    for rows, y_joint in zip(block, y.T, strict=True):
        rows[:, -1] = y_joint
    at = 0
    for W in batches(columns, model, *state, terms=unknowns.terms, width=width):
        for j, k in enumerate(picks):
            block[j][at : at + len(W), :-1] = W[:, j, k]
        at += len(W)
    return block


def _spans(length: int, lowpass: LowPass | None) -> Iterator[slice]:
    """Blocks of a record, overlapping by what the filter takes from their ends."""
    step, reach, trim = 1, 0, 0
    if lowpass is not None:
        step, reach, trim = lowpass.decimate, lowpass.margin, lowpass.trim
    samples = step * max(1, max(_BLOCK, 4 * reach) // step)
    for start in range(trim, length - trim, samples):
        stop = min(start + samples, length - trim)
        yield slice(start - reach, stop + reach)
