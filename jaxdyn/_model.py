"""The robot: a tree of rigid bodies whose numbers are leaves and whose shape is static.

Conventions are MuJoCo's: body frames, joint axes and anchors in body axes, scalar-first
quaternions, bodies numbered depth-first from the root, the world not counted.
"""

import dataclasses
import difflib
from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float


WORLD = -1
"""Parent of the bodies that are attached to the world."""

JointType = Literal["hinge", "slide"]


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """What the loader filled in, repaired, set aside or left out; for people to read.

    All reports are equal: what was said of a file never decides whether two models may
    be stacked or share a compilation.
    """

    filled: tuple[str, ...] = ()
    """Bodies whose mass and inertia the file leaves to the compiler."""
    inertia: tuple[str, ...] = ()
    """Bodies whose inertia is zero, missing or of no rigid body, and repairs made."""
    set_aside: tuple[str, ...] = ()
    """Features that do not change the equations of motion: contacts, limits, …"""
    ignored: tuple[str, ...] = ()
    """Features that do, and that `strict=False` left out."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report)

    def __hash__(self) -> int:
        return hash(Report)

    def __str__(self) -> str:
        return "\n".join((*self.filled, *self.inertia, *self.set_aside, *self.ignored))


class Model(eqx.Module):
    """A tree, or several, of rigid bodies: `nb` bodies, `nj` joints, `nv` freedoms.

    Array fields are leaves, with the values of the robot's file: `jax.grad`, `jax.vmap`
    and `equinox.tree_at` act on them, and new values never recompile. Results do not
    depend on the lengths of axes and quaternions. All else is static and hashable.
    """

    inertial: Float[Array | np.ndarray, "nb 10"]
    """`m, m·cx, m·cy, m·cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz` of each body, about the origin
    of its frame and in its axes. [kg, kg m, kg m²]"""
    pos: Float[Array | np.ndarray, "nb 3"]
    """Origin of each body in its parent body, at `q = ref`. [m]"""
    quat: Float[Array | np.ndarray, "nb 4"]
    """Orientation of each body in its parent body, at `q = ref`; scalar first."""
    axis: Float[Array | np.ndarray, "nj 3"]
    """Axis of each joint, in the axes of the body that it moves."""
    anchor: Float[Array | np.ndarray, "nj 3"]
    """A point on the axis of each joint, in the body that it moves. [m]"""
    ref: Float[Array | np.ndarray, "nj"]
    """Position of each joint where the file's body poses hold. [rad or m]"""
    lower: Float[Array | np.ndarray, "nj"]
    """Lower limit of each joint, `-inf` if it has none. [rad or m]"""
    upper: Float[Array | np.ndarray, "nj"]
    """Upper limit of each joint, `inf` if it has none. [rad or m]"""
    armature: Float[Array | np.ndarray, "nv"]
    """Rotor inertia reflected to each freedom. [kg m² or kg]"""
    damping: Float[Array | np.ndarray, "nv"]
    """Viscous friction of each freedom. [N m s/rad or N s/m]"""
    frictionloss: Float[Array | np.ndarray, "nv"]
    """Dry (Coulomb) friction of each freedom. [N m or N]"""
    gravity: Float[Array | np.ndarray, "3"]
    """Acceleration of free fall, in world axes. [m/s²]"""
    site_pos: Float[Array | np.ndarray, "ns 3"]
    """Origin of each site in its body. [m]"""
    site_quat: Float[Array | np.ndarray, "ns 4"]
    """Orientation of each site in its body; scalar first."""

    parents: tuple[int, ...] = eqx.field(static=True)
    """Index of each body's parent, lower than its own; `-1` is the world."""
    joint_types: tuple[JointType, ...] = eqx.field(static=True)
    """Type of each joint."""
    joint_bodies: tuple[int, ...] = eqx.field(static=True)
    """Body that each joint moves. A body without a joint is welded to its parent."""
    site_bodies: tuple[int, ...] = eqx.field(static=True)
    """Body that each site belongs to; `-1` is the world."""
    body_names: tuple[str, ...] = eqx.field(static=True)
    """Name of each body."""
    joint_names: tuple[str, ...] = eqx.field(static=True)
    """Name of each joint."""
    site_names: tuple[str, ...] = eqx.field(static=True)
    """Name of each site."""
    report: Report = eqx.field(static=True, default=Report())
    """What the loader filled in, set aside or left out."""

    def __check_init__(self):
        for i, parent in enumerate(self.parents):
            if not WORLD <= parent < i:
                raise ValueError(
                    f"A body must come after its parent, but body {i} "
                    f"({self.body_names[i]!r}) has parent {parent}. Sort the bodies "
                    "from the root outward before building a `jaxdyn.Model`."
                )
        if tuple(sorted(self.joint_bodies)) != self.joint_bodies:
            raise ValueError(
                "Joints must be in the order of the bodies that they move, but "
                f"joint_bodies is {self.joint_bodies}. Sort them."
            )

    @property
    def nb(self) -> int:
        """Number of bodies, the world not counted."""
        return len(self.parents)

    @property
    def nj(self) -> int:
        """Number of joints."""
        return len(self.joint_types)

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.nj

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.nj

    @property
    def q_slices(self) -> dict[str, slice]:
        """Where each joint's position is in `q`, as MuJoCo's `jnt_qposadr`."""
        return {name: slice(i, i + 1) for i, name in enumerate(self.joint_names)}

    @property
    def v_slices(self) -> dict[str, slice]:
        """Where each joint's freedoms are in `qd` and `tau`, as MuJoCo's `dofadr`."""
        return {name: slice(i, i + 1) for i, name in enumerate(self.joint_names)}

    def body(self, name: str) -> int:
        """Index of the body called `name`; a `KeyError` offers the closest name."""
        return _index(self.body_names, name, "body")

    def joint(self, name: str) -> int:
        """Index of the joint called `name`; a `KeyError` offers the closest name."""
        return _index(self.joint_names, name, "joint")

    def site(self, name: str) -> int:
        """Index of the site called `name`; a `KeyError` offers the closest name."""
        return _index(self.site_names, name, "site")

    def with_gravity(self, gravity: Float[Array | np.ndarray, "3"] | Sequence[float]):
        """The same robot under another free fall, in world axes. [m/s²]"""
        gravity = (
            gravity if isinstance(gravity, jax.Array) else np.asarray(gravity, float)
        )
        if gravity.shape != (3,):
            raise ValueError(
                f"Gravity is a vector of three numbers, but its shape is {gravity.shape}."
            )
        return eqx.tree_at(lambda m: m.gravity, self, gravity)

    def astype(self, dtype: DTypeLike) -> "Model":
        """The same robot with leaves of another floating-point type."""
        return jax.tree.map(lambda leaf: leaf.astype(dtype), self)


def anonymous(model: Model) -> Model:
    """The same robot with bodies, joints and sites called by number.

    Differently named robots of the same structure can then be stacked under `jax.vmap`
    and share one compilation.

    Args:
        model: The robot.
    """
    return dataclasses.replace(
        model,
        body_names=tuple(f"body{i}" for i in range(model.nb)),
        joint_names=tuple(f"joint{i}" for i in range(model.nj)),
        site_names=tuple(f"site{i}" for i in range(len(model.site_names))),
        report=Report(),
    )


def _index(names: tuple[str, ...], name: str, kind: str) -> int:
    if name in names:
        return names.index(name)
    close = difflib.get_close_matches(name, names)
    hint = f"Did you mean {close[0]!r}?" if close else f"It has {', '.join(names)}."
    raise KeyError(f"This model has no {kind} {name!r}. {hint}")
