"""Joint torque as a linear function of what is unknown about a robot.

    torque = columns @ parameters + known

One block of parameters a term: the ten inertial numbers of each body, then for each joint
armature `Ia`, viscous friction `fv`, Coulomb friction `fc` and a constant `offset`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64, Int64

import jaxdyn


Term = Literal["inertia", "Ia", "fv", "fc", "offset"]

TERMS: tuple[Term, ...] = ("inertia", "Ia", "fv", "fc", "offset")
"""All terms, in the order of their columns."""

WIDTH = 0.02
"""Speed at which Coulomb friction has reached 76 % of its value. [rad/s or m/s]"""


def column_names(model: jaxdyn.Model, terms: Sequence[Term] = TERMS) -> tuple[str, ...]:
    """Name of each parameter: `"link3.mx"`, `"joint2.fv"`.

    Args:
        model: The robot.
        terms: Which terms; their order does not matter.
    """
    names = []
    for term in ordered(terms):
        if term == "inertia":
            names += [
                f"{body}.{number}"
                for body in model.body_names
                for number in jaxdyn.INERTIAL_NAMES
            ]
        else:
            names += [f"{joint}.{term}" for joint in model.joint_names]
    return tuple(names)


def columns(
    model: jaxdyn.Model,
    q: Float[Array | np.ndarray, "nq"],
    qd: Float[Array | np.ndarray, "nv"],
    qdd: Float[Array | np.ndarray, "nv"],
    terms: Sequence[Term] = TERMS,
    *,
    width: float = WIDTH,
) -> Float[Array, "nv p"]:
    """Torque per unit of each parameter, for one sample.

    The rigid bodies' are those of `jaxdyn.torque_regressor`; armature acts on `qdd`,
    viscous friction on `qd`, Coulomb friction on `tanh(qd / width)`.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        qd: Joint velocities. [rad/s or m/s]
        qdd: Joint accelerations. [rad/s² or m/s²]
        terms: Which terms; their order does not matter.
        width: Speed within which Coulomb friction changes its sign. [rad/s or m/s]

    Returns:
        One column for each of `column_names`.
    """
    q, qd, qdd = (jnp.asarray(x) for x in (q, qd, qdd))
    blocks = {
        "inertia": lambda: jaxdyn.torque_regressor(model, q, qd, qdd),
        "Ia": lambda: jnp.diag(qdd),
        "fv": lambda: jnp.diag(qd),
        "fc": lambda: jnp.diag(jnp.tanh(qd / width)),
        "offset": lambda: jnp.eye(model.nv, dtype=qd.dtype),
    }
    return jnp.concatenate([blocks[term]() for term in ordered(terms)], axis=1)


def joint_torque(
    model: jaxdyn.Model,
    q: Float[Array | np.ndarray, "nq"],
    qd: Float[Array | np.ndarray, "nv"],
    qdd: Float[Array | np.ndarray, "nv"],
    *,
    width: float = WIDTH,
) -> Float[Array, "nv"]:
    """Torque that a model predicts: inverse dynamics and the friction of its joints.

    It is `columns @ parameters` at the model's own parameters, without offsets.

    Args:
        model: The robot.
        q: Joint positions. [rad or m]
        qd: Joint velocities. [rad/s or m/s]
        qdd: Joint accelerations. [rad/s² or m/s²]
        width: Speed within which Coulomb friction changes its sign. [rad/s or m/s]

    Returns:
        Joint torques or forces. [N m or N]
    """
    q, qd, qdd = (jnp.asarray(x) for x in (q, qd, qdd))
    friction = model.damping * qd + model.frictionloss * jnp.tanh(qd / width)
    return jaxdyn.inverse_dynamics(model, q, qd, qdd) + friction


def ordered(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms in the order of their columns.

    Raises:
        ValueError: If there are none, or one is unknown.
    """
    unknown = [term for term in terms if term not in TERMS]
    if unknown or not terms:
        raise ValueError(
            f"Torque is a sum of the terms {', '.join(TERMS)}, but "
            f"{', '.join(map(repr, unknown)) or 'none'} was asked for."
        )
    return tuple(term for term in TERMS if term in terms)


@dataclasses.dataclass(frozen=True, eq=False)
class Unknowns:
    """What is to be estimated of a robot; all else is known from its model."""

    model: jaxdyn.Model
    """The robot as its file has it."""
    terms: tuple[Term, ...]
    """Terms to be estimated."""
    bodies: tuple[int, ...]
    """Bodies whose inertial parameters are unknown, if `"inertia"` is a term."""
    width: float = WIDTH
    """Speed within which Coulomb friction changes its sign. [rad/s or m/s]"""
    armature: bool = True
    """Whether the model's armature counts, if `"Ia"` is no term."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each parameter, known or not."""
        return column_names(self.model, self.terms)

    @property
    def prior(self) -> Float64[np.ndarray, " p"]:
        """All parameters as the model has them; offsets are zero."""
        values = {
            "inertia": self.model.inertial,
            "Ia": self.model.armature,
            "fv": self.model.damping,
            "fc": self.model.frictionloss,
            "offset": np.zeros(self.model.nv),
        }
        parts = [np.asarray(values[term], float).ravel() for term in self.terms]
        return np.concatenate(parts)

    @property
    def inertial(self) -> Int64[np.ndarray, "bodies 10"]:
        """Where the unknown numbers of each unknown body are among the parameters."""
        if "inertia" not in self.terms:
            return np.zeros((0, 10), int)
        return 10 * np.array(self.bodies, int)[:, None] + np.arange(10)

    @property
    def joint(self) -> Int64[np.ndarray, " _"]:
        """Where the parameters of joints are among the parameters."""
        start = 10 * self.model.nb if "inertia" in self.terms else 0
        return np.arange(start, len(self.names))

    @property
    def known(self) -> jaxdyn.Model:
        """The robot without what is unknown: its `joint_torque` is known."""
        parameters = self.prior
        parameters[self.inertial] = 0
        parameters[self.joint] = 0
        return self.applied(parameters)

    def split(self, parameters: Float64[np.ndarray, " p"]) -> dict[Term, np.ndarray]:
        """The parameters of each term, one row a body or one number a joint."""
        nb, nv = self.model.nb, self.model.nv
        sizes = [10 * nb if term == "inertia" else nv for term in self.terms]
        pieces = np.split(parameters, np.cumsum(sizes)[:-1])
        parts = dict(zip(self.terms, pieces, strict=True))
        if "inertia" in parts:
            parts["inertia"] = parts["inertia"].reshape(nb, 10)
        return parts

    def applied(self, parameters: Float64[np.ndarray, " p"]) -> jaxdyn.Model:
        """The robot with these parameters; a model has no place for offsets."""
        parts = self.split(parameters)
        if not self.armature:
            parts.setdefault("Ia", np.zeros(self.model.nv))
        leaves = {
            "inertia": lambda m: m.inertial,
            "Ia": lambda m: m.armature,
            "fv": lambda m: m.damping,
            "fc": lambda m: m.frictionloss,
        }
        model = self.model
        for term, leaf in leaves.items():
            if term in parts:
                model = eqx.tree_at(leaf, model, parts[term])
        return model


def free_bodies(
    model: jaxdyn.Model, names: Sequence[str] | None = None
) -> tuple[int, ...]:
    """Bodies whose inertial parameters are to be estimated.

    By default one of each set of bodies that move as one: that which has the joint, as
    torque cannot tell apart what is welded together. Where it is empty, the heaviest that
    is welded to it stands for it.

    Args:
        model: The robot.
        names: Bodies by name, for another choice.
    """
    if names is not None:
        return tuple(sorted({model.body(name) for name in names}))
    carrier: list[int] = []
    for b, parent in enumerate(model.parents):
        moves = b in model.joint_bodies
        carrier.append(b if moves else carrier[parent] if parent >= 0 else parent)
    inertial = np.asarray(model.inertial, float)
    chosen = []
    for moving in sorted(set(model.joint_bodies)):
        rigid = [b for b in range(model.nb) if carrier[b] == moving]
        heaviest = max(rigid, key=lambda b: inertial[b, 0])
        chosen.append(moving if inertial[moving].any() else heaviest)
    return tuple(chosen)
