"""How each library computes the same quantities: for one sample, and for many.

All get the same states and each its best way: JAX libraries a compiled loop over tiles
of the batch, whose size is tried out, writing into memory that the last call left;
Pinocchio its C++ loop where there is one, else a loop over samples that were cut out
beforehand; MuJoCo such a loop too.

New memory costs a page fault every 4 kB, more than the arithmetic where a result is
large: a batch of regressors of a humanoid takes hundreds of megabytes. Pinocchio
overwrites one matrix; so results of the JAX libraries overwrite those of the last call.
"""

import contextlib
import dataclasses
import functools
import io
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from ._race import Prepared
from ._robots import joint_names, ROBOTS, spec, urdf


Function = Literal["rnea", "crba", "aba", "regressor"]


@dataclasses.dataclass(frozen=True)
class Task:
    """One function of one robot in one library."""

    robot: str
    """One of `ROBOTS`."""
    function: Function
    """Inverse dynamics, mass matrix, forward dynamics or regressor."""
    tool: str
    """One of `TOOLS`."""
    precision: Literal["float64", "float32"] = "float64"
    """Of the arithmetic."""
    cores: int = 1
    """How many are used."""
    batch: int = 4096
    """Number of samples."""
    tiles: tuple[int, ...] = (32, 64, 128, 256)
    """Sizes of tiles that are tried, beside the whole batch at once."""

    def states(self, nv: int) -> tuple[np.ndarray, ...]:
        """Arguments of the function, one row a sample: positions and two vectors."""
        x = np.random.default_rng(0).uniform(-1, 1, (3, self.batch, nv))
        return tuple(x[: 1 if self.function == "crba" else 3].astype(self.precision))

    @property
    def supported(self) -> bool:
        """Whether the library can do it."""
        functions, precisions, many_cores = TOOLS[self.tool].can
        if self.cores > 1 and self.function not in many_cores:
            return False
        return self.function in functions and self.precision in precisions


@dataclasses.dataclass(frozen=True)
class Tool:
    """A library and what it can do."""

    title: str
    """What tables call it."""
    package: str
    """What its version is asked of."""
    prepare: Callable[[Task], Prepared]
    """Makes a task ready."""
    can: tuple[tuple[Function, ...], tuple[str, ...], tuple[Function, ...]]
    """Functions, precisions, and functions that it spreads over several cores."""


def prepare(task: Task) -> Prepared:
    """Make a task ready, in a process that has not imported JAX yet."""
    return TOOLS[task.tool].prepare(task)


def _jaxdyn(task: Task) -> Prepared:
    _configure_jax(task)
    import jaxdyn

    functions = {
        "rnea": jaxdyn.inverse_dynamics,
        "crba": jaxdyn.mass_matrix,
        "aba": jaxdyn.forward_dynamics,
        "regressor": jaxdyn.torque_regressor,
    }
    model = jaxdyn.load(spec(ROBOTS[task.robot]))

    def torque(Y, q, qd, qdd):
        return Y @ model.inertial.ravel() + model.armature * qdd

    return _compiled(functions[task.function], model, model.nv, task, torque)


def _mjx(task: Task) -> Prepared:
    _configure_jax(task)
    with contextlib.redirect_stdout(io.StringIO()):  # it tells of what it lacks
        from mujoco import mjx

    compiled = _mujoco_model(task)
    data = mjx.make_data(compiled)

    def rnea(model, q, qd, qdd):
        return mjx.inverse(model, data.replace(qpos=q, qvel=qd, qacc=qdd)).qfrc_inverse

    def crba(model, q):
        placed = mjx.com_pos(model, mjx.kinematics(model, data.replace(qpos=q)))
        return mjx.full_m(model, mjx.crb(model, placed))

    def aba(model, q, qd, tau):
        return mjx.forward(model, data.replace(qpos=q, qvel=qd, qfrc_applied=tau)).qacc

    functions = {"rnea": rnea, "crba": crba, "aba": aba}
    model = mjx.put_model(compiled)
    return _compiled(functions[task.function], model, compiled.nv, task)


def _frax(task: Task) -> Prepared:
    _configure_jax(task, "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it prefers a JAX of two years ago
        import frax

    text = urdf(ROBOTS[task.robot])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_text(text)
        robot = frax.Robot(str(path), joint_ordering=joint_names(text))
    upward = np.array([0, 0, 9.81, 0, 0, 0], task.precision)
    functions = {
        "rnea": lambda robot, q, qd, qdd: robot.rnea(q, qd, qdd, upward, None),
        "crba": lambda robot, q: robot.crba(q),
        "aba": lambda robot, q, qd, tau: robot.forward_dynamics(q, qd, tau, None),
    }
    return _compiled(functions[task.function], robot, robot.nv, task)


def _pinocchio(task: Task) -> Prepared:
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf(ROBOTS[task.robot]))
    data = model.createData()
    functions = {
        "rnea": pin.rnea,
        "crba": pin.crba,
        "aba": pin.aba,
        "regressor": pin.computeJointTorqueRegressor,
    }
    one = functools.partial(functions[task.function], model, data)
    x = task.states(model.nv)
    ready = _looped(one, x)
    if task.function == "regressor":
        pi = np.concatenate([I.toDynamicParameters() for I in model.inertias[1:]])
        ready.facts["sample"] = ready.facts["sample"] @ pi

    in_parallel = {"rnea": pin.rneaInParallel, "aba": pin.abaInParallel}
    if task.function in in_parallel:
        pool, result = pin.ModelPool(model, task.cores), np.empty_like(x[0].T)
        batch = functools.partial(
            in_parallel[task.function], task.cores, pool, *(s.T for s in x), result
        )
        ready.calls["batch"] = batch, 3
    return ready


def _mujoco(task: Task) -> Prepared:
    import mujoco

    model = _mujoco_model(task)
    data = mujoco.MjData(model)
    qpos, qvel, qacc, qfrc = data.qpos, data.qvel, data.qacc, data.qfrc_applied
    M = np.empty((model.nv, model.nv))

    def rnea(q, qd, qdd):
        qpos[:], qvel[:], qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse

    def crba(q):
        qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_fullM(model, data, M)
        return M

    def aba(q, qd, tau):
        qpos[:], qvel[:], qfrc[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        return qacc

    functions = {"rnea": rnea, "crba": crba, "aba": aba}
    return _looped(functions[task.function], task.states(model.nv))


_ALL: tuple[Function, ...] = ("rnea", "crba", "aba", "regressor")
_BOTH = ("float64", "float32")

TOOLS = {
    "jaxdyn": Tool("jaxdyn", "jaxdyn", _jaxdyn, (_ALL, _BOTH, _ALL)),
    "pinocchio": Tool("Pinocchio", "pin", _pinocchio, (_ALL, _BOTH[:1], ("rnea", "aba"))),
    "mujoco": Tool("MuJoCo C", "mujoco", _mujoco, (_ALL[:3], _BOTH[:1], ())),
    "mjx": Tool("MJX", "mujoco-mjx", _mjx, (_ALL[:3], _BOTH, ())),
    "frax": Tool("frax", "frax", _frax, (_ALL[:3], _BOTH, ())),
}


def _looped(one: Callable, x: tuple[np.ndarray, ...]) -> Prepared:
    """A function that is called for one sample after the other."""
    samples = list(zip(*x, strict=True))

    def batch():
        for sample in samples:
            one(*sample)

    calls = {"one": (functools.partial(one, *samples[0]), 100), "batch": (batch, 3)}
    return Prepared(calls, {"sample": np.array(one(*samples[0]))})


def _compiled(
    fn: Callable, model, nv: int, task: Task, torque: Callable | None = None
) -> Prepared:
    """A function of a model and one sample, compiled for one and for a batch of them."""
    import jax

    states = task.states(nv)
    tried = (_Batch(fn, model, states, task, tile) for tile in (*task.tiles, task.batch))
    seconds, _, best = min((min(_seconds(b) for _ in range(4)), b.tile, b) for b in tried)

    sample = tuple(jax.numpy.asarray(s[0]) for s in states)
    one = jax.jit(functools.partial(fn, model))
    result = np.asarray(best().addressable_shards[0].data[0])
    if task.function == "regressor" and torque is not None:
        result = torque(result, *map(np.asarray, sample))
    calls = {
        "one": (lambda: jax.block_until_ready(one(*sample)), 100),
        "batch": (best, 3),
    }
    facts = {"sample": result, "compile_s": best.compile_s, "tile": best.tile}
    return Prepared(calls, facts)


class _Batch:
    """A compiled batch whose result takes the memory of the last one."""

    def __init__(
        self, fn: Callable, model, states: tuple[np.ndarray, ...], task: Task, tile: int
    ):
        import jax

        def tiled(model, out, *x):
            return jax.lax.map(lambda y: fn(model, *y), x, batch_size=tile)

        mesh = jax.make_mesh((math.gcd(task.cores, task.batch),), ("batch",))
        whole, split = jax.P(), jax.P("batch")
        spread = jax.shard_map(
            tiled,
            mesh=mesh,
            in_specs=(whole, split, *(split for _ in states)),
            out_specs=split,
            check_vma=False,
        )
        row = jax.eval_shape(fn, model, *(s[0] for s in states))
        shape = (task.batch, *row.shape)
        self.model = jax.device_put(model, jax.NamedSharding(mesh, whole))
        self.out, *self.x = (
            jax.device_put(x, jax.NamedSharding(mesh, split))
            for x in (np.zeros(shape, row.dtype), *states)
        )
        self.tile = tile
        jax.clear_caches()
        start = time.perf_counter()
        jitted = jax.jit(spread, donate_argnums=1, keep_unused=True)
        self.run = jitted.lower(self.model, self.out, *self.x).compile()
        self.compile_s = time.perf_counter() - start

    def __call__(self):
        self.out = self.run(self.model, self.out, *self.x).block_until_ready()
        return self.out


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _configure_jax(task: Task, *flags: str):
    os.environ["XLA_FLAGS"] = " ".join(flags)
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", task.cores)
    jax.config.update("jax_enable_x64", task.precision == "float64")
    jax.config.update("jax_enable_compilation_cache", False)


def _mujoco_model(task: Task):
    """A robot in MuJoCo without anything but rigid bodies."""
    import mujoco

    model = spec(ROBOTS[task.robot]).compile()
    for name in ("CONSTRAINT", "CONTACT", "SPRING", "DAMPER", "ACTUATION", "SENSOR"):
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
    return model
