"""Every public function under every transformation, and what compiles when."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxdyn
from tests.oracles import difference
from tests.robots import random_tree, states


FUNCTIONS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "torque_regressor": 3,
    "bias_force": 2,
    "kinetic_energy": 2,
    "mass_matrix": 1,
    "gravity_force": 1,
    "gravity_energy": 1,
    "forward_kinematics": 1,
    "frame_pose": 1,
    "frame_jacobian": 1,
}
"""All functions of a model and a sample, and how many of `q`, `qd`, `qdd` they take."""

OPTIONS = {
    "frame_pose": {"frame": "b1"},
    "frame_jacobian": {"frame": "b1", "reference": "local"},
}
each_function = pytest.mark.parametrize("name", FUNCTIONS)


def quick_but(*slow: str):
    """All functions, some of them marked as slow."""
    marks = {name: pytest.mark.slow if name in slow else () for name in FUNCTIONS}
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=mark) for name, mark in marks.items()]
    )


@functools.cache
def robot() -> jaxdyn.Model:
    return jaxdyn.load(mujoco.MjSpec.from_string(random_tree(14, 3, in_a_row=1)))


def function(name: str):
    """The function of the robot, `q`, `qd`, …, and states for it."""
    fn = functools.partial(getattr(jaxdyn, name), **OPTIONS.get(name, {}))
    return fn, states(robot(), 4)[:, : FUNCTIONS[name]]


@functools.cache
def forward_derivatives(name: str):
    """Derivatives by `q`, by forward differentiation of the batch."""
    fn, samples = function(name)
    fn = functools.partial(fn, robot())
    return np.asarray(jax.jit(jax.vmap(jax.jacfwd(fn)))(*samples.swapaxes(0, 1)))


def slope(fn, h: float):
    """Derivative of a function of one number at zero, to fourth order."""
    values = np.stack([fn(k * h) for k in (-2, -1, 1, 2)])
    return np.tensordot(np.array([1, -8, 8, -1]) / (12 * h), values, 1)


def test_no_function_is_forgotten():
    wrapped = {
        name for name, fn in vars(jaxdyn).items() if isinstance(fn, type(jaxdyn.aba))
    }
    assert wrapped == {*FUNCTIONS, "rnea", "crba", "aba"}


@quick_but("bias_force", "gravity_force", "gravity_energy", "frame_pose")
def test_compiled_batches_and_forward_derivatives(name):
    fn, samples = function(name)
    fn = functools.partial(fn, robot())
    one_by_one = np.stack([fn(*sample) for sample in samples])
    batch = jax.jit(jax.vmap(fn))(*samples.swapaxes(0, 1))
    assert difference(batch, one_by_one) < 1e-13

    direction = np.zeros_like(samples[0])
    direction[0] = 1, -2, 0.5
    along = forward_derivatives(name)[0] @ direction[0]
    expected = slope(lambda h: fn(*(samples[0] + h * direction)), 1e-3)
    assert difference(along, expected) < 1e-8


@quick_but("forward_dynamics", "torque_regressor", "bias_force", "gravity_force")
def test_batches_of_reverse_derivatives(name):
    fn, samples = function(name)
    fn, batch = functools.partial(fn, robot()), samples.swapaxes(0, 1)
    reverse = jax.jit(jax.vmap(jax.jacrev(fn)))(*batch)
    assert difference(reverse, forward_derivatives(name)) < 1e-11


@pytest.mark.slow
@each_function
def test_tiles_of_a_batch(name):
    fn, samples = function(name)
    one_by_one = np.stack([fn(robot(), *sample) for sample in samples])
    batch = tuple(samples.swapaxes(0, 1))
    tiled = jax.lax.map(lambda x: fn(robot(), *x), batch, batch_size=3)
    assert difference(tiled, one_by_one) < 1e-13


@pytest.mark.slow
@each_function
def test_derivatives_by_all_numbers_of_the_robot(name):
    fn, samples = function(name)
    loss = lambda model: jnp.sum(fn(model, *samples[0]) ** 2)
    gradient = jax.jit(jax.grad(loss))(robot())

    rng = np.random.default_rng(0)
    for leaf in ("inertial", "pos", "quat", "axis", "anchor", "ref", "armature"):
        value = getattr(robot(), leaf)
        direction = rng.normal(size=value.shape)

        def along(h, leaf=leaf, step=direction, value=value):
            return loss(dataclasses.replace(robot(), **{leaf: value + h * step}))

        found = np.sum(getattr(gradient, leaf) * direction)
        assert difference(found, slope(along, 1e-4)) < 1e-7, leaf

    # Only directions count of axes and quaternions: no gradient along their lengths.
    for leaf in ("axis", "quat"):
        along = np.sum(getattr(gradient, leaf) * getattr(robot(), leaf), axis=1)
        assert np.abs(along).max() < 1e-12 * (1 + abs(loss(robot())))


@pytest.mark.slow
@each_function
def test_second_derivatives_are_finite_at_rest(name):
    fn, samples = function(name)
    rest = np.zeros_like(samples[0])
    hessian = jax.jacfwd(jax.jacrev(functools.partial(fn, robot())))(*rest)
    assert np.isfinite(hessian).all()


@pytest.mark.slow
@each_function
def test_single_precision(name):
    fn, samples = function(name)
    sample = np.float32(samples[0])
    result = fn(robot().astype(np.float32), *sample)
    assert result.dtype == np.float32
    assert difference(result, fn(robot(), *np.float64(sample))) < 2e-5


@each_function
def test_one_sample_is_wanted(name, unchecked):
    fn, samples = function(name)
    fn, batch = functools.partial(fn, robot()), samples.swapaxes(0, 1)
    with pytest.raises(ValueError, match=r"has shape \(3,\).*\(4, 3\) came.*jax.vmap"):
        fn(*batch)
    with pytest.raises(ValueError, match=r"\(2,\) came"):
        fn(*(x[:2] for x in samples[0]))


def test_a_model_is_wanted(unchecked):
    with pytest.raises(TypeError, match=r"jaxdyn.Model, but a dict came.*jaxdyn.load"):
        jaxdyn.mass_matrix({"inertial": np.zeros((3, 10))}, np.zeros(3))
    stack = jax.tree.map(lambda x: np.stack([x, x]), robot())
    with pytest.raises(ValueError, match="a stack of 2 came"):
        jaxdyn.mass_matrix(stack, np.zeros(3))


@pytest.fixture
def compilations(caplog):
    """How many mass matrices JAX has compiled."""
    with jax.log_compiles():
        yield lambda: sum("Compiling jit(mass_matrix)" in r for r in caplog.messages)


def test_new_numbers_do_not_recompile(compilations):
    q = states(robot(), 1)[0, 0]
    jax.clear_caches()
    M = jaxdyn.mass_matrix(robot(), q)
    assert compilations() == 1

    again = jaxdyn.load(mujoco.MjSpec.from_string(random_tree(14, 3, in_a_row=1)))
    other = mujoco.MjSpec.from_string(random_tree(14, 3, numbers=1, in_a_row=1))
    models = (
        again,
        jaxdyn.load(other),
        jax.tree.map(lambda leaf: leaf + 0.1, robot()),
        jax.tree.map(jnp.asarray, robot()),
        robot().with_gravity((1.0, 2.0, 3.0)),
        dataclasses.replace(robot(), report=jaxdyn.Report(filled=("something",))),
    )
    assert (jaxdyn.mass_matrix(again, q) == M).all()
    for model in models:
        jaxdyn.mass_matrix(model, q)
        jaxdyn.mass_matrix(model, jnp.asarray(q))
    assert compilations() == 1


def test_robots_of_other_names_stack_and_share_when_they_are_anonymous(compilations):
    text = random_tree(14, 3, numbers=1, in_a_row=1)
    for kind in "jbs":
        text = text.replace(f'name="{kind}', f'name="other_{kind}')
    other = jaxdyn.load(mujoco.MjSpec.from_string(text))
    assert jax.tree.structure(robot()) != jax.tree.structure(other)

    models, q = [jaxdyn.anonymous(m) for m in (robot(), other)], states(robot(), 1)[0, 0]
    one = jaxdyn.mass_matrix(models[0], q)
    before = compilations()
    two = jaxdyn.mass_matrix(models[1], q)
    assert compilations() == before
    stack = jax.tree.map(lambda *leaves: np.stack(leaves), *models)
    both = jax.vmap(jaxdyn.mass_matrix, in_axes=(0, None))(stack, q)
    assert difference(both, np.stack([one, two])) < 1e-13
    assert difference(one, jaxdyn.mass_matrix(robot(), q)) == 0


def test_statics_are_hashable_and_compare_by_value():
    text = random_tree(14, 3, in_a_row=1)
    one, two = (jaxdyn.load(mujoco.MjSpec.from_string(text)) for _ in range(2))
    statics = [eqx.partition(m, eqx.is_array_like)[1] for m in (one, two)]
    assert hash(jax.tree.structure(statics[0])) == hash(jax.tree.structure(statics[1]))
    assert jax.tree.structure(one) == jax.tree.structure(two)
    locked = jaxdyn.lock(one, {one.joint_names[0]: 0.0})
    assert jax.tree.structure(locked) != jax.tree.structure(one)
