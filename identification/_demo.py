"""The whole way from motions to an identified robot, on a robot that is made up.

The robot's file says one thing; the true robot is another, of the same structure. Only
motions and torques of the true one are known, with noise. As the truth is known here, it
shows how near to it the result comes, and whether the error bars tell.
"""

from pathlib import Path

import equinox as eqx
import numpy as np

import jaxdyn

from ._batches import along
from ._columns import joint_torque
from ._excitation import Trajectories
from ._log import Log


ARM7 = Path(__file__).parent / "robots" / "arm7.xml"
"""File of the built-in robot: seven joints and a tool, all made up."""

_ENCODER_NOISE = 2e-5
"""Standard deviation of the measured positions. [rad]"""
_TORQUE_NOISE = 0.1
"""Standard deviation of the measured torques, relative to each joint's dry friction."""


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
        q, tau = state[0], along(joint_torque, robot, *state)
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
