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
OPTIONS = {
    "frame_pose": {"frame": "b1"},
    "frame_jacobian": {"frame": "b1", "reference": "local"},
}
each_function = pytest.mark.parametrize("name", FUNCTIONS)


@functools.cache
def robot() -> jaxdyn.Model:
    return jaxdyn.load(mujoco.MjSpec.from_string(random_tree(14, 3, in_a_row=1)))


def function(name: str):
    """The function of `q`, `qd`, …, the robot as it is, and states for it."""
    fn = functools.partial(getattr(jaxdyn, name), **OPTIONS.get(name, {}))
    return functools.partial(fn, robot()), states(robot(), 4)[:, : FUNCTIONS[name]]


@each_function
def test_nested_in_jit_and_vmap(name):
    fn, samples = function(name)
    one = np.stack([fn(*sample) for sample in samples])
    batch = jax.jit(jax.vmap(fn))(*samples.swapaxes(0, 1))
    assert difference(batch, one) < 1e-13
    tiled = jax.lax.map(lambda x: fn(*x), tuple(samples.swapaxes(0, 1)), batch_size=3)
    assert difference(tiled, one) < 1e-13


@each_function
def test_forward_and_reverse_derivatives_agree_and_are_slopes(name):
    fn, samples = function(name)
    sample = tuple(samples[0])
    argnums = tuple(range(len(sample)))
    forward = jax.jacfwd(fn, argnums)(*sample)
    reverse = jax.jacrev(fn, argnums)(*sample)
    for x, y in zip(forward, reverse, strict=True):
        assert difference(x, y) < 1e-11

    # Along a random direction: a central difference of fourth order.
    direction = states(robot(), 1, seed=9)[0][: len(sample)]
    steps = 1e-3 * np.array([-2, -1, 1, 2])
    values = np.stack([fn(*(samples[0] + h * direction)) for h in steps])
    slope = np.tensordot(np.array([1, -8, 8, -1]) / 12e-3, values, 1)
    along = sum(np.asarray(J) @ d for J, d in zip(forward, direction, strict=True))
    assert difference(along, slope) < 1e-8


@pytest.mark.slow
@each_function
def test_batches_of_gradients(name):
    fn, samples = function(name)
    loss = lambda q, *rest: jnp.sum(fn(q, *rest) ** 2)
    batch = jax.vmap(jax.grad(loss))(*samples.swapaxes(0, 1))
    one = np.stack([jax.grad(loss)(*sample) for sample in samples[:2]])
    assert difference(batch[:2], one) < 1e-12


@pytest.mark.slow
@each_function
def test_derivatives_by_all_numbers_of_the_robot(name):
    options, inputs = OPTIONS.get(name, {}), states(robot(), 1)[0][: FUNCTIONS[name]]

    def loss(model):
        return jnp.sum(getattr(jaxdyn, name)(model, *inputs, **options) ** 2)

    gradient = jax.grad(loss)(robot())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))

    # Only directions count of axes and quaternions: no gradient along their lengths.
    for leaf in ("axis", "quat"):
        along = np.sum(getattr(gradient, leaf) * getattr(robot(), leaf), axis=1)
        assert np.abs(along).max() < 1e-9 * (1 + abs(loss(robot())))


@pytest.mark.slow
@each_function
def test_finite_at_rest_and_second_order(name):
    fn, samples = function(name)
    rest = tuple(np.zeros_like(x) for x in samples[0])
    hessian = jax.jacfwd(jax.jacrev(fn))(*rest)
    assert np.isfinite(hessian).all()


@each_function
def test_one_sample_is_wanted(name, unchecked):
    fn, samples = function(name)
    batch = samples.swapaxes(0, 1)
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


def test_new_numbers_do_not_recompile():
    fn, q = jax.jit(jaxdyn.mass_matrix), np.zeros(3)
    fn(robot(), q)
    heavier = dataclasses.replace(robot(), inertial=2 * robot().inertial)
    again = jaxdyn.load(mujoco.MjSpec.from_string(random_tree(14, 3, in_a_row=1)))
    for model in (heavier, again, robot().with_gravity(np.zeros(3))):
        fn(model, q)
    assert fn._cache_size() == 1
    rest = np.zeros((3, 3))
    jaxdyn.inverse_dynamics(robot(), *rest)
    compiled = jaxdyn.inverse_dynamics._cache_size()
    jaxdyn.inverse_dynamics(heavier, *rest)
    assert jaxdyn.inverse_dynamics._cache_size() == compiled


def test_robots_of_other_names_stack_when_they_are_anonymous():
    text = random_tree(14, 3, in_a_row=1)
    other = jaxdyn.load(mujoco.MjSpec.from_string(text.replace('"j', '"other')))
    heavier = dataclasses.replace(other, inertial=2 * other.inertial)
    assert jax.tree.structure(robot()) != jax.tree.structure(heavier)
    models = [jaxdyn.anonymous(m) for m in (robot(), heavier)]
    stack = jax.tree.map(lambda *leaves: np.stack(leaves), *models)
    q = states(robot(), 1)[0, 0]
    M = jax.vmap(jaxdyn.mass_matrix, in_axes=(0, None))(stack, q)
    for found, model in zip(M, models, strict=True):
        assert difference(found, jaxdyn.mass_matrix(model, q)) < 1e-13


def test_statics_are_hashable_and_compare_by_value():
    text = random_tree(14, 3, in_a_row=1)
    one, two = (jaxdyn.load(mujoco.MjSpec.from_string(text)) for _ in range(2))
    statics = [eqx.partition(m, eqx.is_array_like)[1] for m in (one, two)]
    assert hash(jax.tree.structure(statics[0])) == hash(jax.tree.structure(statics[1]))
    assert jax.tree.structure(one) == jax.tree.structure(two)
    locked = jaxdyn.lock(one, {one.joint_names[0]: 0.0})
    assert jax.tree.structure(locked) != jax.tree.structure(one)
