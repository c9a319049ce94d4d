"""Inertial parameters of one body: coordinates, orders, and which are physical.

The ten numbers are `INERTIAL_NAMES`, about the origin of the body's frame and in its
axes. They belong to a rigid body if, and only if, its pseudo-inertia

    J = [[Σ, h], [hᵀ, m]],    Σ = ½ tr(I) 1 − I,    h = m c

is positive definite. `J` is linear in them.
"""

import dataclasses
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._model import Model


INERTIAL_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""The ten numbers, in the order of `Model.inertial`. [kg, kg m, kg m²]"""

InertialOrder = Literal["pinocchio", "idyntree", "mujoco", "roam", "khalil"]

_Inertial = Float[Array | np.ndarray, "10"]
_PseudoInertia = Float[Array | np.ndarray, "4 4"]


def _bases() -> tuple[np.ndarray, np.ndarray]:
    """`E, D` with `J = Σₖ πₖ Eₖ` and `πₖ = ⟨Dₖ, J⟩`."""
    E, D = np.zeros((2, 10, 4, 4))
    E[0, 3, 3] = D[0, 3, 3] = 1
    for k, i in zip((1, 2, 3), range(3), strict=True):
        E[k, i, 3] = E[k, 3, i] = 1
        D[k, i, 3] = D[k, 3, i] = 1 / 2
    for k, i in zip((4, 6, 9), range(3), strict=True):
        E[k, :3, :3] = np.eye(3) / 2
        E[k, i, i] -= 1
        D[k, :3, :3] = np.eye(3)
        D[k, i, i] = 0
    for k, (i, j) in zip((5, 7, 8), ((0, 1), (0, 2), (1, 2)), strict=True):
        E[k, i, j] = E[k, j, i] = -1
        D[k, i, j] = D[k, j, i] = -1 / 2
    return E, D


_E, _D = _bases()


def pseudo_inertia(pi: _Inertial) -> _PseudoInertia:
    """Pseudo-inertia `J` of a body with inertial parameters `pi`.

    It is the second moment of the body's mass in homogeneous coordinates,
    `J = ∫ (x, 1)(x, 1)ᵀ dm`.

    Args:
        pi: Inertial parameters, as in `Model.inertial`.

    References:
        Wensing, Kim & Slotine, *Linear matrix inequalities for physically consistent
        inertial parameter identification*, IEEE RA-L 3(1), 2018.
    """
    return (pi[:, None, None] * _E.astype(pi.dtype)).sum(axis=0)


def inertial_from_pseudo_inertia(J: _PseudoInertia) -> _Inertial:
    """Inertial parameters of a body; inverse of `pseudo_inertia`.

    Args:
        J: The pseudo-inertia of the body.
    """
    return (J[None] * _D.astype(J.dtype)).sum(axis=(1, 2))


def log_cholesky(pi: _Inertial) -> Float[Array, "10"]:
    """Coordinates `(α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃)` of a rigid body.

    Any ten numbers are the coordinates of one. `α` is half the logarithm of the mass,
    `t` the centre of mass.

    Args:
        pi: Inertial parameters, as in `Model.inertial`.

    Raises:
        RuntimeError: If they belong to no rigid body.

    References:
        Rucker & Wensing, *Smooth parameterization of rigid-body inertia*, IEEE RA-L
        7(2), 2022.
    """
    J = jnp.asarray(pseudo_inertia(pi))
    smallest = jnp.linalg.eigvalsh(J)[0]
    J = eqx.error_if(
        J,
        ~(smallest > 0),
        "These inertial parameters belong to no rigid body: their pseudo-inertia is "
        "not positive definite. `jaxdyn.nearest_consistent` finds some that do.",
    )
    U = jnp.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    log_diagonal = jnp.log(jnp.diagonal(U))
    unit = U / U[3, 3]
    return jnp.concatenate(
        [
            log_diagonal[3:],
            log_diagonal[:3] - log_diagonal[3],
            jnp.stack([unit[0, 1], unit[1, 2], unit[0, 2]]),
            unit[:3, 3],
        ]
    )


def inertial_from_log_cholesky(theta: Float[Array | np.ndarray, "10"]) -> _Inertial:
    """Inertial parameters at log-Cholesky coordinates: inverse of `log_cholesky`.

    Args:
        theta: The coordinates, in the order of `log_cholesky`.

    References:
        Rucker & Wensing, *Smooth parameterization of rigid-body inertia*, IEEE RA-L
        7(2), 2022.
    """
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = jnp.asarray(theta)
    zero, one = jnp.zeros_like(alpha), jnp.ones_like(alpha)
    rows = [
        [jnp.exp(d1), s12, s13, t1],
        [zero, jnp.exp(d2), s23, t2],
        [zero, zero, jnp.exp(d3), t3],
        [zero, zero, zero, one],
    ]
    U = jnp.stack([jnp.stack(row) for row in rows])
    UUT = (U[:, None, :] * U[None, :, :]).sum(axis=-1)
    return inertial_from_pseudo_inertia(jnp.exp(2 * alpha) * UUT)


@dataclasses.dataclass(frozen=True)
class Inconsistency:
    """Why the inertial parameters of a body belong to no rigid body."""

    body: str
    reason: str
    """What is wrong, about the centre of mass."""
    eigenvalue: float
    """Smallest eigenvalue of the pseudo-inertia; positive for every rigid body."""

    def __str__(self) -> str:
        return (
            f"{self.body}: {self.reason} (smallest eigenvalue of the pseudo-inertia "
            f"{self.eigenvalue:.3g})"
        )


def check_consistency(model: Model) -> tuple[Inconsistency, ...]:
    """Bodies whose inertial parameters belong to no rigid body.

    Rods and plates without thickness pass. So does a body of which all ten numbers are
    zero, if it is welded, or carries welded bodies that have mass.

    Args:
        model: The robot.

    Returns:
        One entry for each inconsistent body; empty if all are consistent.
    """
    inertial = np.asarray(model.inertial, dtype=np.float64)
    found = []
    for b, name in enumerate(model.body_names):
        pi = inertial[b]
        if np.any(pi):
            reason = _inconsistency(pi)
        elif b in model.joint_bodies and not _welded_mass(model, b, inertial[:, 0]):
            reason = "it moves, but all its inertial parameters are zero"
        else:
            reason = None
        if reason is not None:
            finite = np.isfinite(pi).all()
            smallest = np.linalg.eigvalsh(pseudo_inertia(pi))[0] if finite else np.nan
            found.append(Inconsistency(name, reason, float(smallest)))
    return tuple(found)


def _welded_mass(model: Model, body: int, mass: np.ndarray) -> float:
    """Mass of the bodies that are welded to a body, directly or through others."""
    rigid = {body}
    for b, parent in enumerate(model.parents):
        if parent in rigid and b not in model.joint_bodies:
            rigid.add(b)
    return float(sum(mass[b] for b in rigid - {body}))


def _inconsistency(pi: np.ndarray) -> str | None:
    """What keeps these parameters from belonging to a rigid body, if anything."""
    if not np.isfinite(pi).all():
        return "its inertial parameters are not finite numbers"
    if pi[0] <= 0:
        return f"its mass is {pi[0]:.6g} kg"
    I = _rotational(pi - _point_mass(pi[:1], pi[1:4] / pi[0]))
    rounding = 1e-12 * np.abs(pi[4:]).max()
    if np.abs(I).max() <= 3 * rounding:
        return "it has mass, but its moments of inertia are zero"
    return _violation(("Ixx", "Iyy", "Izz"), np.diagonal(I), rounding) or _violation(
        ("I1", "I2", "I3"), np.linalg.eigvalsh(I), rounding
    )


def _violation(names: tuple[str, ...], moments: np.ndarray, rounding: float):
    """Which of three moments of inertia is negative, or more than the others' sum."""
    where = " in its principal axes" if "I1" in names else ""
    (low, a), (middle, b), (high, c) = sorted(
        zip(names, moments, strict=True), key=lambda moment: moment[1]
    )
    if a < -rounding:
        return f"{low}{where} is negative: {a:.6g} kg m²"
    if a + b < c - 3 * rounding:
        return f"{low} + {middle} < {high}{where}: {a:.6g} + {b:.6g} < {c:.6g} kg m²"
    return None


def nearest_consistent(pi: _Inertial, *, floor: float = 1e-3) -> np.ndarray:
    """Inertial parameters of a rigid body, near to some that belong to none.

    Mass and centre of mass are kept, and the second moments of mass about the latter
    raised to `floor` times the largest of them; a body without mass is given a gram.
    Parameters of a rigid body are returned as they are.

    Args:
        pi: Inertial parameters, as in `Model.inertial`.
        floor: Smallest second moment of mass along a principal axis, relative to the
            largest.

    Raises:
        ValueError: If they are not finite.
    """
    pi = np.asarray(pi, dtype=np.float64)
    if not np.isfinite(pi).all():
        raise ValueError(
            f"Only finite inertial parameters can be repaired, but these are {pi}. "
            "Correct them in the robot's file."
        )
    if np.linalg.eigvalsh(pseudo_inertia(pi))[0] > 0 and not _inconsistency(pi):
        return pi
    if pi[0] > 0:
        m, c = pi[:1], pi[1:4] / pi[0]
        spread = pi - _point_mass(m, c)
    else:
        m, c = np.array([1e-3]), np.zeros(3)
        spread = pi
    moments, axes = np.linalg.eigh(pseudo_inertia(spread)[:3, :3])
    raised = np.maximum(moments, floor * max(moments[-1], 1e-4 * m[0]))
    J = np.zeros((4, 4))
    J[:3, :3] = (axes * raised) @ axes.T
    return np.asarray(inertial_from_pseudo_inertia(J) + _point_mass(m, c))


def _point_mass(
    m: Float[Array | np.ndarray, "1"], c: Float[Array | np.ndarray, "3"]
) -> _Inertial:
    """Inertial parameters of a mass `m` that is all at the point `c`."""
    xp = jnp if isinstance(c, jax.Array) else np
    x = xp.concatenate([c, xp.ones_like(m)])
    return inertial_from_pseudo_inertia(m * x[:, None] * x[None, :])


def _rotational(pi: _Inertial) -> np.ndarray:
    """Inertia matrix about the origin."""
    Ixx, Ixy, Iyy, Ixz, Iyz, Izz = pi[4:]
    return np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]])


# Where each of our ten numbers is in the order of another tool.
_PLACES = {
    "pinocchio": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    "idyntree": (0, 1, 2, 3, 4, 5, 7, 6, 8, 9),
    "mujoco": (0, 1, 2, 3, 4, 7, 5, 8, 9, 6),
    "roam": (0, 1, 2, 3, 4, 9, 5, 8, 7, 6),
    "khalil": (9, 6, 7, 8, 0, 1, 3, 2, 4, 5),
}


def convert_inertial(
    pi: _Inertial, source: InertialOrder, target: InertialOrder
) -> _Inertial:
    """The ten numbers of a body in the order of another tool.

    - `"pinocchio"` (ours, figaroh): `m mx my mz Ixx Ixy Iyy Ixz Iyz Izz`;
    - `"idyntree"` (FloBaRoID): `m mx my mz Ixx Ixy Ixz Iyy Iyz Izz`;
    - `"roam"` (spatial_v2): `m mx my mz Ixx Iyy Izz Iyz Ixz Ixy`;
    - `"khalil"` (SymPyBotics, BIRDy): `Ixx Ixy Ixz Iyy Iyz Izz mx my mz m`, there in
      Denavit-Hartenberg frames, which this function does not change;
    - `"mujoco"`: `m cx cy cz Ixx Iyy Izz Ixy Ixz Iyz` with the centre of mass `c` and
      the inertia about it (`mass`, `pos`, `fullinertia`).

    All but the last are about the origin of the body's frame.

    Args:
        pi: The ten numbers.
        source: The order that they are in.
        target: The order that they are wanted in.
    """
    for order in (source, target):
        if order not in _PLACES:
            raise ValueError(
                f"There is no order {order!r} of inertial parameters. Choose from "
                f"{', '.join(map(repr, _PLACES))}."
            )
    ours = pi[np.asarray(_PLACES[source])]
    if source == "mujoco" != target:
        ours = _from_center_of_mass(ours)
    elif target == "mujoco" != source:
        ours = _to_center_of_mass(ours)
    return ours[np.argsort(_PLACES[target])]


def _from_center_of_mass(pi: _Inertial) -> _Inertial:
    """From mass, centre of mass and the inertia about it."""
    xp = jnp if isinstance(pi, jax.Array) else np
    return xp.concatenate([0 * pi[:4], pi[4:]]) + _point_mass(pi[:1], pi[1:4])


def _to_center_of_mass(pi: _Inertial) -> _Inertial:
    """To mass, centre of mass (the origin for no mass) and the inertia about it."""
    xp = jnp if isinstance(pi, jax.Array) else np
    m = pi[:1]
    c = pi[1:4] / xp.where(m == 0, xp.ones_like(m), m)
    return xp.concatenate([m, c, (pi - _point_mass(m, c))[4:]])
