"""How each library computes the same quantities: for one sample, and for many.

All get the same states, and each its best way:

- JAX libraries a compiled loop over tiles of the batch. jaxdyn takes the robot as an
  argument, and tiles of the size that its documentation recommends. For MJX and frax the
  robot is a constant, which is faster, and two sizes of tiles are tried, of which MJX's
  larger one is the whole batch. MJX does only the stages that the quantity needs.
- Pinocchio its C++ loop where there is one, else a loop in Python over samples that were
  cut out beforehand.
- MuJoCo such a loop too, of single stages where that is faster. They know nothing of
  armature, which these robots do not have.

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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from ._race import Prepared
from ._robots import joint_names, ROBOTS, spec, urdf


Function = Literal["rnea", "crba", "aba", "regressor"]
Precision = Literal["float64", "float32"]

_SHOWN = 8
"""Number of samples whose results are told, so that they can be compared."""


@dataclasses.dataclass(frozen=True)
class Task:
    """One function of one robot in one library."""

    robot: str
    """One of `ROBOTS`."""
    function: Function
    """Inverse dynamics, mass matrix, forward dynamics or regressor."""
    tool: str
    """One of `TOOLS`."""
    precision: Precision = "float64"
    """Of the arithmetic."""
    cores: int = 1
    """How many are used."""
    batch: int = 4096
    """Number of samples."""

    def states(self, nv: int) -> tuple[np.ndarray, ...]:
        """Arguments of the function, one row a sample: positions and two vectors."""
        x = np.random.default_rng(0).uniform(-1, 1, (3, self.batch, nv))
        return tuple(x[: 1 if self.function == "crba" else 3].astype(self.precision))

    @property
    def supported(self) -> bool:
        """Whether the library can do it."""
        tool = TOOLS[self.tool]
        functions = tool.functions if self.cores == 1 else tool.parallel
        return self.function in functions and self.precision in tool.precisions


@dataclasses.dataclass(frozen=True)
class Tool:
    """A library and what it can do."""

    title: str
    """What tables call it."""
    package: str
    """What its version is asked of."""
    prepare: Callable[[Task], Prepared]
    """Makes a task ready."""
    functions: tuple[Function, ...] = ("rnea", "crba", "aba")
    """What it computes."""
    precisions: tuple[Precision, ...] = ("float64",)
    """In which precision."""
    parallel: tuple[Function, ...] = ()
    """What it spreads over several cores."""


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
    tile = 32 if task.function == "regressor" else 128
    return _compiled(functions[task.function], task, model.nv, (model,), tiles=(tile,))


def _mjx(task: Task) -> Prepared:
    _configure_jax(task)
    with contextlib.redirect_stdout(io.StringIO()):  # it tells of what it lacks
        from mujoco import mjx
        from mujoco.mjx._src.smooth import solve_m

    compiled = _mujoco_model(task)
    model, empty = mjx.put_model(compiled), mjx.make_data(compiled)

    def placed(**state):
        data = mjx.kinematics(model, empty.replace(**state))
        return mjx.com_pos(model, data)

    def rnea(q, qd, qdd):
        data = mjx.com_vel(model, placed(qpos=q, qvel=qd, qacc=qdd))
        return mjx.rne(model, data, flg_acc=True).qfrc_bias

    def crba(q):
        return mjx.full_m(model, mjx.crb(model, placed(qpos=q)))

    def aba(q, qd, tau):
        data = mjx.factor_m(model, mjx.crb(model, placed(qpos=q, qvel=qd)))
        bias = mjx.rne(model, mjx.com_vel(model, data)).qfrc_bias
        return solve_m(model, data, tau - bias)

    functions = {"rnea": rnea, "crba": crba, "aba": aba}
    return _compiled(functions[task.function], task, compiled.nv, tiles=(256, task.batch))


def _frax(task: Task) -> Prepared:
    _configure_jax(task, "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it prefers a JAX of two years ago
        import frax
        import jax

    text = urdf(ROBOTS[task.robot])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_text(text)
        robot = frax.Robot(str(path), joint_ordering=joint_names(text))
    upward = jax.numpy.array([0, 0, 9.81, 0, 0, 0], task.precision)
    functions = {
        "rnea": lambda q, qd, qdd: robot.rnea(q, qd, qdd, upward, None),
        "crba": robot.crba,
        "aba": lambda q, qd, tau: robot.forward_dynamics(q, qd, tau, None),
    }
    return _compiled(functions[task.function], task, robot.nv, tiles=(64, 256))


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

    in_parallel = {"rnea": pin.rneaInParallel, "aba": pin.abaInParallel}
    if task.function in in_parallel:
        pool, result = pin.ModelPool(model, task.cores), np.empty_like(x[0].T)
        batch = functools.partial(
            in_parallel[task.function], task.cores, pool, *(s.T for s in x), result
        )
        batch()
        ready.facts["sample"] = result.T[:_SHOWN].copy()
        ready.calls["batch"] = batch, 3
    return ready


def _mujoco(task: Task) -> Prepared:
    import mujoco

    model = _mujoco_model(task)
    data = mujoco.MjData(model)
    qpos, qvel, qacc, qfrc = data.qpos, data.qvel, data.qacc, data.qfrc_applied
    M, torque = np.empty((model.nv, model.nv)), np.empty(model.nv)

    def rnea(q, qd, qdd):
        qpos[:], qvel[:], qacc[:] = q, qd, qdd
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 1, torque)
        return torque

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
_BOTH: tuple[Precision, ...] = ("float64", "float32")

TOOLS = {
    "jaxdyn": Tool("jaxdyn", "jaxdyn", _jaxdyn, _ALL, _BOTH, parallel=_ALL),
    "pinocchio": Tool("Pinocchio", "pin", _pinocchio, _ALL, parallel=("rnea", "aba")),
    "mujoco": Tool("MuJoCo C", "mujoco", _mujoco),
    "mjx": Tool("MJX", "mujoco-mjx", _mjx, precisions=_BOTH),
    "frax": Tool("frax", "frax", _frax, precisions=_BOTH),
}


def _looped(one: Callable, x: tuple[np.ndarray, ...]) -> Prepared:
    """A function that is called for one sample after the other."""
    samples = list(zip(*x, strict=True))

    def batch():
        for sample in samples:
            one(*sample)

    calls = {"one": (functools.partial(one, *samples[0]), 100), "batch": (batch, 3)}
    shown = [np.array(one(*sample)) for sample in samples[:_SHOWN]]
    return Prepared(calls, {"sample": np.stack(shown)})


def _compiled(
    fn: Callable, task: Task, nv: int, given: tuple = (), *, tiles: Sequence[int]
) -> Prepared:
    """A function of what is given and one sample, compiled for one and for a batch."""
    import jax

    states = task.states(nv)
    tried = (_Batch(fn, task, given, states, tile) for tile in tiles)
    _, _, best = min((min(_seconds(b) for _ in range(4)), b.tile, b) for b in tried)

    sample = tuple(jax.numpy.asarray(s[0]) for s in states)
    one = jax.jit(functools.partial(fn, *given))
    calls = {
        "one": (lambda: jax.block_until_ready(one(*sample)), 100),
        "batch": (best, 3),
    }
    shown = np.asarray(best().addressable_shards[0].data[:_SHOWN])
    facts = {"sample": shown, "compile_s": best.compile_s, "tile": best.tile}
    return Prepared(calls, facts)


class _Batch:
    """A compiled batch whose result takes the memory of the last one."""

    def __init__(
        self,
        fn: Callable,
        task: Task,
        given: tuple,
        states: tuple[np.ndarray, ...],
        tile: int,
    ):
        import jax

        def tiled(out, given, *x):
            return jax.lax.map(lambda sample: fn(*given, *sample), x, batch_size=tile)

        mesh = jax.make_mesh((math.gcd(task.cores, task.batch),), ("batch",))
        whole, split = jax.P(), jax.P("batch")
        spread = jax.shard_map(
            tiled,
            mesh=mesh,
            in_specs=(split, whole, *(split for _ in states)),
            out_specs=split,
            check_vma=False,
        )
        row = jax.eval_shape(fn, *given, *(s[0] for s in states))
        out = np.zeros((task.batch, *row.shape), row.dtype)
        self.given = jax.device_put(given, jax.NamedSharding(mesh, whole))
        self.out, *self.x = (
            jax.device_put(x, jax.NamedSharding(mesh, split)) for x in (out, *states)
        )
        self.tile = tile
        jax.clear_caches()
        start = time.perf_counter()
        jitted = jax.jit(spread, donate_argnums=0, keep_unused=True)
        self.run = jitted.lower(self.out, self.given, *self.x).compile()
        self.compile_s = time.perf_counter() - start

    def __call__(self):
        self.out = self.run(self.out, self.given, *self.x).block_until_ready()
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
