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
    """Ratio between the least independent column that was kept and the most independent
    one that was not; a rank is beyond doubt where this is many powers of ten."""
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

    Columns that are 1e9 times smaller than the largest are without effect. The others
    are scaled to unit length and split by QR into independent ones and combinations.

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
        UserWarning: If the rank is in doubt, or combinations have huge coefficients.

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
    felt = np.flatnonzero(norm > 1e-9 * norm.max(initial=0))
    if not len(felt):
        return Base(names, (), np.zeros((0, len(names))), np.inf, support[:, :0] > 0)
    R = np.linalg.qr(stacked[:, felt] / norm[felt], mode="r")

    tolerance = 100 * max(stacked.shape) * np.finfo(float).eps
    order = _reading_order(felt, inertial) if method == "greedy" else None
    kept, lengths, left = _independent(R, tolerance, order)
    beta = np.linalg.lstsq(R[:, kept], R)[0]
    beta[np.abs(beta) < 1e-8] = 0
    beta[:, kept] = np.eye(len(kept))
    gap = float(min(lengths) / max(left, np.finfo(float).eps))
    doubts = tuple(_doubts([names[k] for k in felt], kept, beta, gap))
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=2)

    independent = felt[kept]
    K = np.zeros((len(kept), len(names)))
    K[:, felt] = beta * norm[felt] / norm[independent][:, None]
    reach = support > 1e-9 * support.max()
    return Base(names, tuple(independent.tolist()), K, gap, reach[:, independent], doubts)


def _independent(R, tolerance: float, order: np.ndarray | None):
    """Columns that span all: which, how far from those before, and the farthest left."""
    if order is None:
        Q, T, order = scipy.linalg.qr(R, pivoting=True)
        lengths = np.abs(np.diagonal(T))
        rank = int(np.sum(lengths > tolerance))
        return order[:rank], lengths[:rank], max(lengths[rank:], default=0.0)
    kept, lengths, left = [], [], 0.0
    Q = np.zeros((len(R), 0))
    for k in order:
        rest = R[:, k] - Q @ (Q.T @ R[:, k])
        rest -= Q @ (Q.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > tolerance:
            kept.append(k)
            lengths.append(length)
            Q = np.column_stack([Q, rest / length])
        else:
            left = max(left, length)
    return np.array(kept), lengths, left


def _reading_order(felt: np.ndarray, inertial: int) -> np.ndarray:
    """Body by body, moments of inertia before first moments before masses; then joints.

    A mass is felt like moments of the body that carries it, so that these stand for it.
    """
    turn = np.array([2, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    body = np.minimum(felt, inertial) // 10
    within = np.where(felt < inertial, turn[felt % 10], 0)
    return np.lexsort((felt, within, body))


def _doubts(names: list[str], kept, beta, gap: float) -> Iterator[str]:
    if gap < 1e3:
        yield (
            f"The number of base parameters, {len(kept)}, is in doubt: the least "
            f"independent column is only {gap:.2g} times farther from the others than "
            "the farthest that was left out. Look for axes that are nearly, but not "
            "exactly, parallel in the robot's file."
        )
    row, column = np.unravel_index(np.abs(beta).argmax(), beta.shape)
    if np.abs(beta[row, column]) > 1e4:
        yield (
            f"Base parameter {names[kept[row]]} takes {names[column]} with a coefficient "
            f"{np.abs(beta[row, column]):.2g} times its own: the columns are nearly "
            "dependent, and estimates will be uncertain. Look for axes that are nearly, "
            "but not exactly, parallel in the robot's file."
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
    hinge = np.equal(model.joint_types, "hinge")
    reach = np.where(hinge, np.pi, 1.0)
    lower = np.where(np.isfinite(model.lower), model.lower, -reach)
    upper = np.where(np.isfinite(model.upper), model.upper, reach)
    return rng.uniform(lower, upper, (count, model.nv))


def same_span(one: Base, other: Base, *, tolerance: float = 1e-8) -> bool:
    """Whether two bases are combinations of each other.

    Bases of one robot differ by choice of the independent parameters, or by their order;
    what they say of the robot is the same if they have the same span.

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
