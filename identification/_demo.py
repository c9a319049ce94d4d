"""The whole way from motions to an identified robot, on a robot that is made up.

The robot's file says one thing; the true robot is another, of the same structure. Only
motions and torques of the true one are known, with noise. As the truth is known here, it
shows how near to it the result comes, and whether the error bars tell.
"""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import jaxdyn

from ._batches import along
from ._columns import joint_torque, WIDTH
from ._excitation import fourier_trajectories, Trajectories
from ._figures import extra, parameter_figure, torque_figure
from ._identify import Identification, identify
from ._log import Log
from ._read_log import read_log
from ._report import report
from ._results import (
    as_json,
    as_text,
    base_table,
    base_values,
    body_table,
    covered,
    joint_table,
    validation_table,
)
from ._validate import validate, Validation
from ._write_log import write_log


ARM7 = Path(__file__).parent / "robots" / "arm7.xml"
"""File of the built-in robot: seven joints and a tool, all made up."""

_ENCODER_NOISE = 2e-5
"""Standard deviation of the measured positions. [rad]"""
_TORQUE_NOISE = 0.1
"""Standard deviation of the measured torques, relative to each joint's dry friction."""

_PRIOR_WEIGHT = 1e-3
"""Noise that is made up averages out, so that logs count far more than the file."""


@dataclasses.dataclass(frozen=True, eq=False)
class Demonstration:
    """A robot that was identified, and the true one; `str` says how near they are."""

    folder: Path
    """Folder of all results."""
    truth: jaxdyn.Model
    """The robot that moved."""
    identified: Identification
    """What its logs say that it is."""
    validation: Validation
    """How well that explains motions which were not used."""

    @property
    def covered(self) -> float:
        """Share of base parameters whose 95 % error bar covers the truth."""
        return covered(self.identified, self.truth)

    def __str__(self) -> str:
        text = as_text(self.identified, self.validation, truth=self.truth)
        robot, logs = self.folder / ARM7.name, self.folder / "logs"
        return (
            f"{text}\n\nAll is in {self.folder}: robots, logs, tables, plots and "
            f"report.html. The same from the command line:\n\n  jaxdyn identify {robot} "
            f"{logs}/*.csv --report again.html"
        )


def demo(
    folder: str | Path = "jaxdyn-demo",
    *,
    seed: int = 0,
    motions: int = 8,
    duration: float = 10.0,
    progress: Callable[[str], None] | None = None,
) -> Demonstration:
    """Simulate a robot that differs from its file, and identify it from its logs.

    The folder then holds the file, the true and the identified robot, logs, tables,
    plots, all numbers as JSON, and the report.

    Args:
        folder: Where the results go; made if need be.
        seed: Another one makes another true robot, other motions and other noise.
        motions: How many motions; the last quarter of them is to validate with.
        duration: Length of each. [s]
        progress: Called with a line of text at each stage.
    """
    say = progress or (lambda line: None)
    extra("jinja2")
    extra("matplotlib")
    folder = Path(folder)
    for part in ("logs", "tables", "plots"):
        (folder / part).mkdir(parents=True, exist_ok=True)

    robot = jaxdyn.load(ARM7)
    truth = true_robot(robot, seed)
    shutil.copyfile(ARM7, folder / ARM7.name)
    jaxdyn.write(truth, folder / "true.xml", source=ARM7)
    say(f"{ARM7.name}: a robot of {robot.nv} joints, and a true one that differs")

    paths = [folder / "logs" / f"motion{k + 1}.csv" for k in range(motions)]
    excitation = fourier_trajectories(
        jax.random.key(seed), motions, robot, duration=duration
    )
    for path, log in zip(paths, record(truth, excitation, seed), strict=True):
        write_log(log, path)
    say(f"{motions} motions of {duration:g} s recorded, with noise")

    logs = [read_log(path, robot) for path in paths]
    held_out = max(1, motions // 4)
    identified = identify(
        robot, logs[:-held_out], prior_weight=_PRIOR_WEIGHT, progress=progress
    )
    validation = validate(identified, logs[-held_out:])
    say(f"validated with {held_out} motions that were not used")

    jaxdyn.write(identified.model, folder / "identified.xml", source=ARM7)
    result = Demonstration(folder, truth, identified, validation)
    _write(result)
    say(f"results written to {folder}")
    return result


def _write(result: Demonstration):
    """Tables, plots, numbers and the report."""
    folder, identified, validation = result.folder, result.identified, result.validation
    for name, table in {
        "base_parameters": base_table(identified, truth=result.truth),
        "joints": joint_table(identified),
        "bodies": body_table(identified, validation),
        "validation": validation_table(validation),
    }.items():
        path = folder / "tables" / f"{name}.csv"
        path.write_text(table.csv(), encoding="utf-8")

    text = as_json(identified, validation)
    (folder / "results.json").write_text(f"{text}\n", encoding="utf-8")
    report(
        identified,
        validation,
        folder / "report.html",
        title="A made-up arm, identified",
        truth=result.truth,
    )

    plots = {
        "parameters": parameter_figure(
            identified.base.names,
            identified.estimate.base,
            identified.estimate.std,
            base_values(identified, result.truth),
            base_values(identified, identified.unknowns.model),
        )
    }
    curves = validation.curves[0]
    for j, joint in enumerate(identified.model.joint_names):
        plots[f"torque_{joint}"] = torque_figure(
            curves.t,
            curves.measured[:, j],
            curves.predicted[:, j],
            unit="N m",
            title=f"{joint}, {curves.name}",
        )
    for name, figure in plots.items():
        figure.savefig(folder / "plots" / f"{name}.png", dpi=150)


def true_robot(model: jaxdyn.Model, seed: int) -> jaxdyn.Model:
    """A robot of the same structure whose moving links and frictions are not the file's.

    Each link's mass is stretched, sheared and shifted in space, so that what comes out is
    the mass of some body again.
    """
    rng = np.random.default_rng(seed)
    inertial = np.array(model.inertial)
    for body in model.joint_bodies:
        A = np.eye(4)
        A[:3, :3] += 0.1 * rng.standard_normal((3, 3))
        A[:3, 3] = 0.01 * rng.standard_normal(3)
        A *= np.exp(0.05 * rng.standard_normal())
        J = A @ jaxdyn.pseudo_inertia(inertial[body]) @ A.T
        inertial[body] = jaxdyn.inertial_from_pseudo_inertia(J)
    damping, frictionloss = (
        friction * np.exp(0.3 * rng.standard_normal(model.nv))
        for friction in (model.damping, model.frictionloss)
    )
    return eqx.tree_at(
        lambda m: (m.inertial, m.damping, m.frictionloss),
        model,
        (inertial, damping, frictionloss),
    )


def record(robot: jaxdyn.Model, motions: Trajectories, seed: int) -> tuple[Log, ...]:
    """What sensors with noise tell of a robot that follows the motions: a log of each."""
    rng = np.random.default_rng(seed)
    noise = _TORQUE_NOISE * robot.frictionloss
    logs = []
    for k, state in enumerate(zip(motions.q, motions.qd, motions.qdd, strict=True)):
        q, tau = state[0], along(joint_torque, robot, *state, width=WIDTH)
        logs.append(
            Log(
                t=motions.t,
                q=q + _ENCODER_NOISE * rng.standard_normal(q.shape),
                tau=tau + noise * rng.standard_normal(q.shape),
                joints=robot.joint_names,
                name=f"motion{k + 1}",
            )
        )
    return tuple(logs)
