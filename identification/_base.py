"""Base parameters: the combinations of parameters that joint torque depends on."""

import dataclasses
import warnings
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float64

import jaxdyn

from ._batches import along
from ._columns import column_names, columns, ordered, Term, WIDTH


_NOTHING = 1e-5
"""What columns differ by less than this is taken for rounding in a robot's file."""


@dataclasses.dataclass(frozen=True, eq=False)
class Base:
    """A basis of what joint torque says about a robot's parameters: `pi_base = K pi`."""

    parameters: tuple[str, ...]
    """Name of each parameter of `pi`."""
    independent: tuple[int, ...]
    """The parameters whose columns span all columns."""
    K: Float64[np.ndarray, "r p"]
    """Combinations of parameters; the identity at the independent ones."""
    gap: float
    """Ratio between the least of what was kept and the most of what was left out; the
    rank is beyond doubt where this is many powers of ten."""
    support: Bool[np.ndarray, "nv r"]
    """Which joints' torques depend on which base parameter."""
    doubts: tuple[str, ...] = ()
    """Why the rank, or the use of these combinations, is in doubt."""

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the independent parameter of each combination."""
        return tuple(self.parameters[k] for k in self.independent)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters that no torque depends on, or whose bodies did not count."""
        silent = ~self.K.any(axis=0)
        return tuple(np.array(self.parameters)[silent].tolist())

    def expressions(self, digits: int = 4) -> tuple[str, ...]:
        """Each combination as a person reads it: `link1.Izz + 0.1 link2.mx`."""
        rows = []
        for row, first in zip(self.K, self.independent, strict=True):
            others = [k for k in np.flatnonzero(row) if k != first]
            parts = [self.parameters[first]]
            for k in others:
                sign, size = "-" if row[k] < 0 else "+", f"{abs(row[k]):.{digits}g}"
                factor = "" if size == "1" else f"{size} "
                parts.append(f"{sign} {factor}{self.parameters[k]}")
            rows.append(" ".join(parts))
        return tuple(rows)


def base_parameters(
    model: jaxdyn.Model,
    terms: Sequence[Term] = ("inertia",),
    *,
    method: Literal["greedy", "pivoted"] = "greedy",
    bodies: Sequence[int] | None = None,
    W: Float64[np.ndarray, "N nv p"] | None = None,
    seed: int = 0,
) -> Base:
    """Base parameters of a robot, from the columns of its torque at many states.

    Columns are scaled to unit length and split by QR into independent ones and
    combinations. What is smaller than 1e-5 counts as nothing, in the length of a column
    against the longest and in the distance of a scaled one from those before: robot files
    round right angles to as few as five digits.

    Args:
        model: The robot.
        terms: Which terms; see `column_names`.
        method: `"greedy"` keeps, from the first body to the last, each column that
            those before it do not span, which reads best; `"pivoted"` keeps the column
            farthest from those before it, which computes best. Both span the same.
        bodies: Bodies whose inertial parameters count; all by default.
        W: Columns at the states of a log; by default random states within the robot's
            limits, which show all that its structure allows.
        seed: Of the random states.

    Warns:
        UserWarning: If the number of base parameters is in doubt, or one of them hardly
            differs from the others.

    References:
        Gautier, *Numerical calculation of the base inertial parameters of robots*,
        Journal of Robotic Systems 8(4), 1991.
    """
    names = column_names(model, terms)
    if W is None:
        count = 10 + 10 * len(names) // max(1, model.nv)
        states = random_states(model, count, np.random.default_rng(seed))
        W = along(columns, model, *states, terms=ordered(terms), width=WIDTH)
    support = np.abs(W).max(axis=0, initial=0)
    stacked = W.reshape(-1, len(names))

    norm = np.linalg.norm(stacked, axis=0)
    inertial = 10 * model.nb if "inertia" in terms else 0
    if inertial and bodies is not None:
        others = np.setdiff1d(np.arange(model.nb), bodies)
        norm[(10 * others[:, None] + np.arange(10)).ravel()] = 0
    share = norm / max(norm.max(initial=0), np.finfo(float).tiny)
    felt = np.flatnonzero(share > _NOTHING)
    if not len(felt):
        return Base(names, (), np.zeros((0, len(names))), np.inf, support[:, :0] > 0)
    R = np.linalg.qr(stacked[:, felt] / norm[felt], mode="r")

    order = _reading_order(felt, inertial) if method == "greedy" else None
    kept, lengths, left = _independent(R, order)
    beta = np.linalg.lstsq(R[:, kept], R)[0]
    beta[np.abs(beta) < max(1e-8, 10 * left)] = 0
    beta[:, kept] = np.eye(len(kept))

    independent = felt[kept]
    distance = np.minimum(lengths, share[independent])
    farthest = max(left, share[share <= _NOTHING].max(initial=0), np.finfo(float).eps)
    gap = float(distance.min() / farthest)
    weakest = names[independent[distance.argmin()]]
    doubts = tuple(_doubts(len(kept), weakest, float(distance.min()), gap))
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=2)
    K = np.zeros((len(kept), len(names)))
    K[:, felt] = beta * norm[felt] / norm[independent][:, None]
    reach = support > 1e-9 * support.max()
    return Base(names, tuple(independent.tolist()), K, gap, reach[:, independent], doubts)


def _independent(R, order: np.ndarray | None):
    """Columns that span all: which, how far from those before, and the farthest left."""
    if order is None:
        _, T, order = scipy.linalg.qr(R, pivoting=True)
        lengths = np.abs(np.diagonal(T))
        rank = int(np.sum(lengths > _NOTHING))
        return order[:rank], lengths[:rank], max(lengths[rank:], default=0.0)
    kept, lengths, left = [], [], 0.0
    Q = np.zeros((len(R), 0))
    for k in order:
        rest = R[:, k] - Q @ (Q.T @ R[:, k])
        rest -= Q @ (Q.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > _NOTHING:
            kept.append(k)
            lengths.append(length)
            Q = np.column_stack([Q, rest / length])
        else:
            left = max(left, length)
    return np.array(kept), np.array(lengths), left


def _reading_order(felt: np.ndarray, inertial: int) -> np.ndarray:
    """Body by body, moments of inertia before first moments before masses; then joints.

    A mass is felt like moments of the body that carries it, so that these stand for it.
    """
    turn = np.array([2, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    body = np.minimum(felt, inertial) // 10
    within = np.where(felt < inertial, turn[felt % 10], 0)
    return np.lexsort((felt, within, body))


def _doubts(rank: int, weakest: str, distance: float, gap: float) -> Iterator[str]:
    advice = (
        "Look for axes that are nearly, but not exactly, parallel or perpendicular in "
        "the robot's file."
    )
    if gap < 1e3:
        yield (
            f"The number of base parameters, {rank}, is in doubt: what is kept for the "
            f"least of them, {weakest}, is only {gap:.2g} times what is left out as "
            f"nothing. {advice}"
        )
    elif distance < 1e-3:
        yield (
            f"Base parameter {weakest} is hardly felt, or hardly differs from the "
            f"others, by {distance:.2g} of the torque per unit that other parameters "
            f"have; its estimate will be uncertain. {advice}"
        )


def random_states(
    model: jaxdyn.Model, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions within the robot's limits, velocities and accelerations at random."""
    q = random_positions(model, count, rng)
    qd = rng.uniform(-2, 2, (count, model.nv))
    qdd = rng.uniform(-10, 10, (count, model.nv))
    return q, qd, qdd


def random_positions(
    model: jaxdyn.Model, count: int, rng: np.random.Generator
) -> Float64[np.ndarray, "count nq"]:
    """Positions within limits; within half a turn, or a metre, where there are none."""
    hinge = np.array([kind == "hinge" for kind in model.joint_types], bool)
    reach = np.where(hinge, np.pi, 1.0)
    lower = np.where(np.isfinite(model.lower), model.lower, -reach)
    upper = np.where(np.isfinite(model.upper), model.upper, reach)
    return rng.uniform(lower, upper, (count, model.nv))


def same_span(one: Base, other: Base, *, tolerance: float = 1e-8) -> bool:
    """Whether two bases are combinations of each other.

    Bases of one robot differ by choice of the independent parameters, or by their order;
    what they say of the robot is the same if they have the same span.

    Args:
        one: Base parameters of a robot.
        other: Base parameters of the same robot.
        tolerance: What of a combination may lie outside the span, relative to the largest
            coefficient.

    Raises:
        ValueError: If they are combinations of different parameters.
    """
    if set(one.parameters) != set(other.parameters):
        strange = sorted(set(one.parameters) ^ set(other.parameters))
        raise ValueError(
            "Only bases of the same parameters can be compared, but "
            f"{', '.join(strange[:5])} belong to one of these alone."
        )
    if one.rank != other.rank:
        return False
    K = other.K[:, [other.parameters.index(name) for name in one.parameters]]
    Q = np.linalg.qr(one.K.T)[0]
    return bool(np.abs(K - K @ Q @ Q.T).max(initial=0) < tolerance * np.abs(K).max())
