"""From a robot and its logs to an identified robot: the whole way in one call."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Float64

import jaxdyn

from ._base import Base, base_parameters
from ._batches import along
from ._columns import free_bodies, joint_torque, ordered, Term, Unknowns, WIDTH
from ._estimate import Estimate
from ._least_squares import ols, residual_std, wls
from ._log import Log
from ._optax import optax_fit
from ._physical import physical
from ._reduce import reduce, Reduction
from ._signals import Motion, motion


Method = Literal["ols", "wls", "physical", "optax"]


@dataclasses.dataclass(frozen=True, eq=False)
class Identification:
    """A robot as its logs say that it is, and how much they say."""

    model: jaxdyn.Model
    """The identified robot: the file's, with other inertia, armature and friction."""
    unknowns: Unknowns
    """What was to be estimated, and the robot as its file has it."""
    base: Base
    """Base parameters of all that was to be estimated."""
    rank: int
    """Number of the base parameters that belong to inertia and armature."""
    estimate: Estimate
    """The parameters, and how well they are determined."""
    cutoff: float | None
    """Cut-off of the low-pass filter; `None` if there was none. [Hz]"""
    offsets: Float64[np.ndarray, " nv"]
    """Constant torque of each joint, zero if that was no term. [N m or N]"""
    samples: float
    """Samples of each joint that count as independent."""
    remarks: tuple[str, ...]
    """What one must know before using the result, a sentence or two each."""

    def torque(
        self,
        q: Float[np.ndarray, "*batch nq"],
        qd: Float[np.ndarray, "*batch nv"],
        qdd: Float[np.ndarray, "*batch nv"],
    ) -> Float64[np.ndarray, "*batch nv"]:
        """Torque that moves the identified robot: dynamics, friction and offsets.

        Args:
            q: Joint positions. [rad or m]
            qd: Joint velocities. [rad/s or m/s]
            qdd: Joint accelerations. [rad/s² or m/s²]
        """
        state = (x.reshape(-1, x.shape[-1]) for x in (q, qd, qdd))
        tau = along(joint_torque, self.model, *state, width=self.unknowns.width)
        return tau.reshape(qd.shape) + self.offsets

    def predict(self, motion: Motion) -> Float64[np.ndarray, "N nv"]:
        """Torque along a recorded motion, not filtered. [N m or N]"""
        return self.torque(motion.q, motion.qd, motion.qdd)


def identify(
    model: jaxdyn.Model,
    logs: Log | Sequence[Log],
    *,
    terms: Sequence[Term] = ("inertia", "fv", "fc", "offset"),
    cutoff: float | None = 5.0,
    method: Method = "physical",
    free: Sequence[str] | None = None,
    width: float = WIDTH,
    progress: Callable[[str], None] | None = None,
    **options,
) -> Identification:
    """Identify a robot's inertia and friction from logs of its motion.

    What is no term is as in the model, except for armature, which robot files often
    invent, and which torque sensors behind the gears do not feel: where inertia is a term
    and `"Ia"` is not, the model's armature is kept or left out, whichever explains the
    logs better, and `remarks` says so.

    All is computed in double precision, whatever precision JAX is set to; equal calls
    give equal bits.

    Args:
        model: The robot as its file has it.
        logs: One log or several, their columns in the order of the model's joints.
        terms: What is to be estimated: inertial parameters `"inertia"`, armature `"Ia"`,
            viscous and Coulomb friction `"fv"` and `"fc"`, constant torque `"offset"`.
        cutoff: Where the low-pass filter of torques and columns has the gain ½. `None`
            takes the samples as they are, of logs with velocities and accelerations. [Hz]
        method: `"ols"` or `"wls"`, least squares whose robot may be one that cannot
            exist; `"physical"`, the most likely robot that can; `"optax"`, see
            `optax_fit`.
        free: Bodies whose inertia is unknown; by default one for each joint, see
            `free_bodies`.
        width: Speed within which Coulomb friction changes its sign. [rad/s or m/s]
        progress: Called with a line of text at each stage.
        **options: Of the estimator: see `wls`, `physical` and `optax_fit`.

    Raises:
        ValueError: If the logs do not fit the model or are too short, no joint torque
            depends on the unknowns, or a prior is not physically consistent.

    Warns:
        UserWarning: If the result cannot exist, or the number of base parameters is in
            doubt.
    """
    say = progress or (lambda line: None)
    terms = ordered(terms)
    logs = checked(model, logs)
    motions = [motion(log, cutoff=cutoff) for log in logs]
    unknowns = Unknowns(model, terms, free_bodies(model, free), width)
    base = base_parameters(model, terms, bodies=unknowns.bodies)
    if not base.rank:
        raise ValueError(
            f"No joint torque depends on the {', '.join(terms)} of the free bodies "
            f"{', '.join(model.body_names[b] for b in unknowns.bodies)}: there is "
            "nothing to estimate. Free bodies that a joint carries, or add terms."
        )
    friction = sum(name.endswith((".fv", ".fc", ".offset")) for name in base.names)
    inertial = base.rank - friction
    say(f"{base.rank} base parameters, {inertial} of them of inertia")

    def fitted(unknowns: Unknowns) -> tuple[Reduction, Estimate]:
        reduction = reduce(unknowns, base, motions, cutoff=cutoff, progress=progress)
        prior = unknowns.prior
        match method:
            case "ols":
                estimate = ols(reduction, base, prior, **options)
            case "wls":
                estimate = wls(reduction, base, prior, **options)
            case "physical":
                estimate = physical(reduction, base, unknowns, **options)
            case "optax":
                given = reduction, base, unknowns, motions
                estimate = optax_fit(*given, cutoff=cutoff, **options)
            case _:
                raise ValueError(
                    f"There is no method {method!r}. Choose 'ols', 'wls', 'physical' or "
                    "'optax'."
                )
        say(f"{method}: {estimate.iterations} steps")
        return reduction, estimate

    reduction, estimate = fitted(unknowns)
    remarks = list(base.doubts)
    if "inertia" in terms and "Ia" not in terms and np.any(model.armature):
        bare = dataclasses.replace(unknowns, armature=False)
        other = fitted(bare)
        ratio = _misfit(base, *other) / _misfit(base, reduction, estimate)
        if ratio < 0.99:
            unknowns, (reduction, estimate) = bare, other
        remarks.append(_of_armature(model, ratio))
    identified = unknowns.applied(estimate.parameters)
    remarks += _of_data(unknowns, base, estimate)
    impossible = tuple(_of_consistency(unknowns, estimate, identified))
    for remark in impossible:
        warnings.warn(remark, stacklevel=2)
    parts = unknowns.split(estimate.parameters)
    return Identification(
        model=identified,
        unknowns=unknowns,
        base=base,
        rank=inertial,
        estimate=estimate,
        cutoff=cutoff,
        offsets=parts.get("offset", np.zeros(model.nv)),
        samples=reduction.rows,
        remarks=(*remarks, *impossible),
    )


def checked(model: jaxdyn.Model, logs: Log | Sequence[Log]) -> tuple[Log, ...]:
    """The logs, if there are some and their columns are the model's joints."""
    logs = (logs,) if isinstance(logs, Log) else tuple(logs)
    if not logs:
        raise ValueError("At least one log is needed, but none came.")
    for log in logs:
        unnamed = tuple(f"joint{i}" for i in range(model.nv))
        if log.joints not in (model.joint_names, unnamed):
            raise ValueError(
                f"The columns of {log.name} are of the joints {', '.join(log.joints)}, "
                f"but the model's joints are {', '.join(model.joint_names)}. Give the "
                "columns this order, and lock the joints that have none, by "
                "`jaxdyn.lock(model, {joint: value})`."
            )
    return logs


def _misfit(base: Base, reduction: Reduction, estimate: Estimate) -> float:
    """Geometric mean of the standard deviations of the joints' residuals."""
    return math.exp(np.log(residual_std(reduction, base, estimate.base)).mean())


def _of_armature(model: jaxdyn.Model, ratio: float) -> str:
    values = zip(model.joint_names, model.armature, strict=True)
    listed = ", ".join(f"{joint} {value:g}" for joint, value in values if value)
    if ratio < 0.99:
        what = f"was left out: without it, residuals are {1 - ratio:.0%} smaller"
    else:
        what = f"was kept: without it, residuals are {ratio - 1:.0%} larger"
    return f"The armature of the file ({listed}) {what}. The term Ia would estimate it."


def _of_data(unknowns: Unknowns, base: Base, estimate: Estimate) -> Iterator[str]:
    places = np.concatenate([unknowns.inertial.ravel(), unknowns.joint])
    silent = [unknowns.names[k] for k in places if not base.K[:, k].any()]
    if silent:
        yield (
            f"No joint torque depends on {', '.join(silent)}: what they come out as was "
            "not measured."
        )
    if estimate.undetermined:
        yield (
            f"The logs say nothing of the base parameters "
            f"{', '.join(estimate.undetermined)}: they are as in the robot's file. Move "
            "all joints, fast and slowly, through their whole range."
        )


def _of_consistency(
    unknowns: Unknowns, estimate: Estimate, identified: jaxdyn.Model
) -> Iterator[str]:
    faults = jaxdyn.check_consistency(identified)
    free = {identified.body_names[b] for b in unknowns.bodies}
    if wrong := [str(fault) for fault in faults if fault.body in free]:
        yield (
            f"No rigid body has the inertia that {estimate.method} finds for "
            f"{'; '.join(wrong)}. The mass matrix may not be positive definite. The "
            "method 'physical' finds a robot that can exist."
        )
    if held := [str(fault) for fault in faults if fault.body not in free]:
        yield (
            f"No rigid body has the inertia of the file, which was held, for "
            f'{"; ".join(held)}. Correct the file, or load it with `repair="nearest"`.'
        )
    negative = [
        unknowns.names[k]
        for k in unknowns.joint
        if estimate.parameters[k] < 0 and not unknowns.names[k].endswith(".offset")
    ]
    if negative:
        yield (
            f"{', '.join(negative)} came out negative, which no joint's friction or "
            "armature is. The method 'physical' keeps them positive."
        )
