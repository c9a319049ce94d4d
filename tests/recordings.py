"""A small robot, others like it, and what their sensors tell of them."""

import functools

import equinox as eqx
import jax
import mujoco
import numpy as np

import jaxdyn
from identification import fourier_trajectories, joint_torque, Log


SCARA = """
<mujoco><compiler angle="radian"/><worldbody>
  <body name="base"><inertial pos="0 0 0.1" mass="5" diaginertia="0.1 0.1 0.1"/>
    <body name="upper" pos="0 0 0.2">
      <joint name="pan" axis="0 0 1" range="-3 3" damping="0.6" frictionloss="0.8"/>
      <inertial pos="0.1 0.02 0.05" mass="3" fullinertia="0.02 0.03 0.04 0.002 0 0.001"/>
      <body name="lower" pos="0.3 0 0.1">
        <joint name="tilt" axis="0 1 0" range="-2 2" damping="0.3" frictionloss="0.5"/>
        <inertial pos="0.15 0 0.02" mass="2" fullinertia="0.01 0.03 0.03 0 0.001 0"/>
        <body name="rail" pos="0.3 0 0">
          <joint name="reach" type="slide" axis="1 0 0" range="-0.2 0.2" damping="2"
            frictionloss="1"/>
          <inertial pos="0 0.01 0.03" mass="0.8" diaginertia="0.003 0.002 0.002"/>
          <body name="tool" pos="0.1 0 0">
            <inertial pos="0.02 0 0" mass="0.3" diaginertia="1e-4 2e-4 2e-4"/>
          </body>
        </body>
      </body>
    </body>
  </body>
</worldbody></mujoco>
"""
"""MJCF of two hinges and a slide, with friction; base and tool are welded."""

PENDULUM = """
<mujoco><compiler angle="radian"/><worldbody><body name="rod">
  <joint name="pivot" axis="0 1 0" armature="0.02" damping="0.1" frictionloss="0.05"/>
  <inertial pos="0.02 0 -0.3" mass="0.7" diaginertia="0.01 0.01 0.002"/>
</body></worldbody></mujoco>
"""
"""MJCF of a robot of one joint."""


@functools.cache
def robot(mjcf: str) -> jaxdyn.Model:
    """The robot that an MJCF text describes."""
    return jaxdyn.load(mujoco.MjSpec.from_string(mjcf))


def altered(
    model: jaxdyn.Model, seed: int, *, size: float = 0.1, **leaves
) -> jaxdyn.Model:
    """A robot whose moving bodies and frictions differ at random, and given leaves."""
    rng = np.random.default_rng(seed)
    inertial = np.array(model.inertial)
    for body in model.joint_bodies:
        A = np.eye(4) + size * np.diag([1, 1, 1, 0]) @ rng.normal(size=(4, 4))
        A[:3, 3] *= 0.1
        J = A @ jaxdyn.pseudo_inertia(inertial[body]) @ A.T
        inertial[body] = jaxdyn.inertial_from_pseudo_inertia(J)
    leaves = {
        "inertial": inertial,
        "damping": model.damping * np.exp(size * rng.normal(size=model.nv)),
        "frictionloss": model.frictionloss * np.exp(size * rng.normal(size=model.nv)),
    } | leaves
    names = tuple(leaves)
    return eqx.tree_at(
        lambda m: [getattr(m, name) for name in names], model, list(leaves.values())
    )


def record(
    truth: jaxdyn.Model,
    count: int,
    seed: int,
    *,
    noise: float | np.ndarray = 0.0,
    offset: float | np.ndarray = 0.0,
    **options,
) -> tuple[Log, ...]:
    """Logs of a robot that follows random motions: positions, and torque with noise."""
    rng = np.random.default_rng(seed)
    motions = fourier_trajectories(jax.random.key(seed), count, truth, **options)
    tau = np.asarray(_torque(truth, motions.q, motions.qd, motions.qdd)) + offset
    tau = tau + noise * rng.standard_normal(tau.shape)
    return tuple(
        Log(t=motions.t, q=q, tau=y, joints=truth.joint_names, name=f"motion{i}")
        for i, (q, y) in enumerate(zip(motions.q, tau, strict=True))
    )


_torque = jax.jit(jax.vmap(jax.vmap(joint_torque, (None, 0, 0, 0)), (None, 0, 0, 0)))
