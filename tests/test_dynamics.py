"""Dynamics: identities of mechanics, by automatic differentiation, and MuJoCo C."""

import functools

import hypothesis
import hypothesis.extra.numpy
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxdyn
from tests.oracles import difference, ill_conditioned, MuJoCo, worst_differences
from tests.robots import random_tree, states


TREES = [
    (0, 1),
    (4, 3),
    (28, 5),
    *(
        pytest.param(seed, joints, marks=pytest.mark.slow)
        for seed, joints in enumerate((2, 4, 6, 7, 8, 10, 12, 14, 16, 20, 25, 30, 40), 20)
    ),
]
each_tree = pytest.mark.parametrize(("seed", "joints"), TREES)


@functools.cache
def tree(seed: int, joints: int, numbers: int = 0):
    spec = mujoco.MjSpec.from_string(random_tree(seed, joints, numbers=numbers))
    return jaxdyn.anonymous(jaxdyn.load(spec)), MuJoCo(spec.compile())


def all_agree(model, oracle, *state) -> bool:
    for quantity, error in worst_differences(model, oracle, *state).items():
        assert error < (1e-12 if quantity == "regressor" else 1e-11), quantity
    return True


@each_tree
def test_dynamics_are_those_of_mujoco(seed, joints):
    model, oracle = tree(seed, joints)
    assert all(all_agree(model, oracle, *state) for state in states(model, 3))


@hypothesis.given(
    numbers=hypothesis.strategies.integers(1, 2**32),
    state=hypothesis.extra.numpy.arrays(
        float, (3, 5), elements=hypothesis.strategies.floats(-10, 10)
    ),
)
def test_dynamics_are_those_of_mujoco_for_numbers_of_all_kinds(numbers, state):
    assert all_agree(*tree(28, 5, numbers), *state)


@each_tree
def test_mass_matrix_is_exactly_symmetric_and_made_of_inverse_dynamics(seed, joints):
    model, _ = tree(seed, joints)
    q = states(model, 1)[0, 0]
    M = np.asarray(jaxdyn.mass_matrix(model, q))
    assert (M == M.T).all()
    weightless, rest = model.with_gravity(np.zeros(3)), np.zeros(model.nv)
    columns = [jaxdyn.inverse_dynamics(weightless, q, rest, e) for e in np.eye(model.nv)]
    assert difference(np.array(columns).T, M) < 1e-12


def test_derivative_by_parameters_is_the_regressor():
    model, _ = tree(28, 5)
    state = states(model, 1)[0]
    gradient = jax.jacrev(jaxdyn.inverse_dynamics)(model, *state)
    Y = jaxdyn.torque_regressor(model, *state)
    assert difference(gradient.inertial.reshape(model.nv, -1), Y) < 1e-12
    assert difference(gradient.armature, np.diag(state[2])) == 0


SMALL = pytest.mark.parametrize(
    ("seed", "joints"), [(4, 3), pytest.param(6, 6, marks=pytest.mark.slow)]
)


@SMALL
def test_mass_matrix_is_derivative_of_inverse_dynamics(seed, joints):
    model, _ = tree(seed, joints)
    state = states(model, 1)[0]
    by_acceleration = jax.jacfwd(jaxdyn.inverse_dynamics, argnums=3)(model, *state)
    assert difference(by_acceleration, jaxdyn.mass_matrix(model, state[0])) < 1e-12


@SMALL
def test_gravity_force_is_derivative_of_gravity_energy(seed, joints):
    model, _ = tree(seed, joints)
    q = states(model, 1)[0, 0]
    slope = jax.grad(jaxdyn.gravity_energy, argnums=1)(model, q)
    assert difference(jaxdyn.gravity_force(model, q), slope) < 1e-12


@SMALL
def test_forward_and_inverse_dynamics_undo_each_other(seed, joints):
    model, _ = tree(seed, joints)
    q, qd, x = states(model, 1)[0]
    condition = ill_conditioned(jaxdyn.mass_matrix(model, q))

    @functools.partial(jax.jit, static_argnames="passive")
    def there_and_back(q, qd, qdd, passive=False):
        tau = jaxdyn.inverse_dynamics(model, q, qd, qdd, passive=passive)
        return jaxdyn.forward_dynamics(model, q, qd, tau, passive=passive)

    for passive in (False, True):
        assert difference(there_and_back(q, qd, x, passive), x) < 1e-11 * condition

    # And so do their derivatives.
    by = jax.jacfwd(there_and_back, argnums=(0, 1, 2))(q, qd, x)
    for found, expected in zip(by, (0, 0, 1), strict=True):
        assert difference(found, expected * np.eye(model.nv)) < 1e-10 * condition


@SMALL
def test_power_balance_and_skew_symmetry(seed, joints):
    """`d/dt (T + U) = tauᵀ qd`, and so `qdᵀ (Ṁ − 2 C) qd = 0`."""
    model, _ = tree(seed, joints)
    q, qd, qdd = states(model, 1)[0]

    def energy(q, qd):
        return jaxdyn.kinetic_energy(model, q, qd) + jaxdyn.gravity_energy(model, q)

    _, growth = jax.jvp(energy, (q, qd), (qd, qdd))
    power = jaxdyn.inverse_dynamics(model, q, qd, qdd) @ qd
    assert difference(growth, power) < 1e-12

    _, M_dot = jax.jvp(lambda q: jaxdyn.mass_matrix(model, q), (q,), (qd,))
    coriolis = jaxdyn.bias_force(model, q, qd) - jaxdyn.gravity_force(model, q)
    assert difference(qd @ M_dot @ qd, 2 * qd @ coriolis) < 1e-11


@SMALL
def test_coriolis_force_is_that_of_the_christoffel_symbols(seed, joints):
    model, _ = tree(seed, joints)
    q, qd, _ = states(model, 1)[0]
    dM = jax.jacfwd(lambda q: jaxdyn.mass_matrix(model, q))(q)
    christoffel = 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 1, 0))
    force = jnp.einsum("ijk,j,k->i", christoffel, qd, qd)
    coriolis = jaxdyn.bias_force(model, q, qd) - jaxdyn.gravity_force(model, q)
    assert difference(coriolis, force) < 1e-11


def test_kinetic_energy_is_half_of_velocity_mass_velocity():
    model, _ = tree(28, 5)
    q, qd, _ = states(model, 1)[0]
    expected = qd @ jaxdyn.mass_matrix(model, q) @ qd / 2
    assert difference(jaxdyn.kinetic_energy(model, q, qd), expected) < 1e-12


def test_damping_acts_only_if_passive_forces_are_asked_for():
    model, _ = tree(28, 5)
    q, qd, x = states(model, 1)[0]
    with_damping = jaxdyn.inverse_dynamics(model, q, qd, x, passive=True)
    without = jaxdyn.inverse_dynamics(model, q, qd, x)
    assert difference(with_damping - without, model.damping * qd) < 1e-12


def test_single_precision_is_as_good_as_it_can_be():
    model, _ = tree(28, 5)
    state = np.float32(states(model, 1)[0])
    condition = ill_conditioned(jaxdyn.mass_matrix(model, state[0]))
    for fn, arguments in (
        (jaxdyn.mass_matrix, state[:1]),
        (jaxdyn.inverse_dynamics, state),
        (jaxdyn.forward_dynamics, state),
        (jaxdyn.torque_regressor, state),
    ):
        result = np.asarray(fn(model.astype(np.float32), *arguments))
        assert result.dtype == np.float32
        allowed = 1e-5 * (condition if fn is jaxdyn.forward_dynamics else 1)
        assert difference(result, fn(model, *np.float64(arguments))) < allowed
        if fn is jaxdyn.mass_matrix:
            assert (result == result.T).all()


def test_precision_is_the_widest_that_came():
    model, _ = tree(4, 3)
    q = np.zeros(3, np.float32)
    assert jaxdyn.mass_matrix(model, q).dtype == np.float64
    assert jaxdyn.mass_matrix(model.astype(np.float32), q).dtype == np.float32
    assert jaxdyn.mass_matrix(model.astype(np.float32), np.zeros(3)).dtype == np.float64
    assert jaxdyn.mass_matrix(model, np.zeros(3, int)).dtype == np.float64


def test_angles_of_many_turns_are_angles():
    model, _ = tree(0, 1)
    q = np.array([0.3])
    for turns in (1, -1, 1000, 100_000):
        turned = q + 2 * np.pi * turns
        change = jaxdyn.gravity_force(model, turned) - jaxdyn.gravity_force(model, q)
        assert abs(change[0]) < 1e-15 * abs(turned[0]) * 1e3


def test_functions_keep_no_state():
    model, _ = tree(28, 5)
    state = states(model, 1)[0]
    other = states(model, 1, seed=1)[0]
    for fn in (jaxdyn.inverse_dynamics, jaxdyn.forward_dynamics, jaxdyn.torque_regressor):
        before = np.asarray(fn(model, *state))
        fn(model, *other)
        assert (np.asarray(fn(model, *state)) == before).all()


@pytest.mark.slow
def test_programs_do_not_grow_with_the_length_of_a_chain():
    """A chain compiles once for all its links, however many they are."""

    def lines(joints: int) -> int:
        model = jaxdyn.load(chain(joints))
        state = np.zeros((3, joints))
        return len(jaxdyn.forward_dynamics.lower(model, *state).as_text().splitlines())

    def chain(joints: int) -> mujoco.MjSpec:
        body = (
            '<body pos="0 0 .1"><joint axis="0 1 0"/>'
            '<inertial pos="0 0 .05" mass="1" diaginertia="1 1 1"/>'
        )
        text = joints * body + joints * "</body>"
        return mujoco.MjSpec.from_string(
            f"<mujoco><worldbody>{text}</worldbody></mujoco>"
        )

    assert lines(100) < 1.5 * lines(10) < 5000
