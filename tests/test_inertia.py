import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxdyn._inertia import (
    check_consistency,
    convert_inertial,
    inertial_from_log_cholesky,
    inertial_from_pseudo_inertia,
    INERTIAL_NAMES,
    log_cholesky,
    nearest_consistent,
    pseudo_inertia,
)
from jaxdyn._model import Model


ORDERS = ("pinocchio", "idyntree", "mujoco", "roam", "khalil")


def from_center_of_mass(mass, com, inertia):
    """The ten numbers, by the parallel-axis theorem."""
    com = np.asarray(com)
    I = inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))
    return np.array([mass, *(mass * com), *I[np.tril_indices(3)]])


def random_body(seed):
    rng = np.random.default_rng(seed)
    points, masses = rng.normal(size=(8, 3)), rng.uniform(0.1, 1, 8)
    com = masses @ points / masses.sum()
    r = points - com
    I = sum(
        m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r, strict=True)
    )
    return from_center_of_mass(masses.sum(), com, I)


def one_hinge(inertial, *, parents=(-1,), joint_bodies=(0,)):
    nb, nj = len(parents), len(joint_bodies)
    return Model(
        inertial=np.asarray(inertial, float).reshape(nb, 10),
        pos=np.zeros((nb, 3)),
        quat=np.tile([1.0, 0, 0, 0], (nb, 1)),
        axis=np.tile([0.0, 1, 0], (nj, 1)),
        anchor=np.zeros((nj, 3)),
        ref=np.zeros(nj),
        lower=np.full(nj, -np.inf),
        upper=np.full(nj, np.inf),
        armature=np.zeros(nj),
        damping=np.zeros(nj),
        frictionloss=np.zeros(nj),
        gravity=np.array([0, 0, -9.81]),
        site_pos=np.zeros((0, 3)),
        site_quat=np.zeros((0, 4)),
        parents=parents,
        joint_types=("hinge",) * nj,
        joint_bodies=joint_bodies,
        site_bodies=(),
        body_names=tuple(f"link{b}" for b in range(nb)),
        joint_names=tuple(f"joint{j}" for j in range(nj)),
        site_names=(),
    )


@pytest.mark.parametrize("seed", range(5))
def test_pseudo_inertia_is_the_second_moment_of_mass_in_homogeneous_coordinates(seed):
    rng = np.random.default_rng(seed)
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1, 6)
    pi = sum(
        from_center_of_mass(m, p, np.zeros((3, 3)))
        for m, p in zip(masses, points, strict=True)
    )
    x = np.hstack([points, np.ones((6, 1))])
    np.testing.assert_allclose(
        pseudo_inertia(pi), x.T @ (masses[:, None] * x), rtol=1e-13
    )


@pytest.mark.parametrize("seed", range(3))
def test_inertial_parameters_survive_every_change_of_coordinates(seed):
    pi = random_body(seed)
    np.testing.assert_allclose(
        inertial_from_pseudo_inertia(pseudo_inertia(pi)), pi, rtol=1e-14
    )
    with jax.enable_x64(True):
        theta = log_cholesky(pi)
        np.testing.assert_allclose(inertial_from_log_cholesky(theta), pi, rtol=1e-12)


def test_log_cholesky_coordinates_are_mass_shape_and_center_of_mass():
    pi = random_body(0)
    with jax.enable_x64(True):
        alpha, *_, t1, t2, t3 = log_cholesky(pi)
        np.testing.assert_allclose(jnp.exp(2 * alpha), pi[0], rtol=1e-13)
        np.testing.assert_allclose([t1, t2, t3], pi[1:4] / pi[0], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_any_log_cholesky_coordinates_belong_to_a_rigid_body(seed):
    theta = np.random.default_rng(seed).normal(size=10)
    with jax.enable_x64(True):
        pi = np.asarray(inertial_from_log_cholesky(theta))
    assert check_consistency(one_hinge(pi)) == ()
    assert np.linalg.eigvalsh(pseudo_inertia(pi))[0] > 0


def test_log_cholesky_of_no_rigid_body_raises():
    pi = from_center_of_mass(1.0, [0, 0, 0.0], np.diag([0.1, 0.2, 0.5]))
    with jax.enable_x64(True), pytest.raises(RuntimeError, match="nearest_consistent"):
        log_cholesky(pi)


def test_log_cholesky_has_finite_derivatives_and_vmaps():
    pi = np.stack([random_body(seed) for seed in range(3)])
    with jax.enable_x64(True):
        there = jax.vmap(jax.jacfwd(log_cholesky))(pi)
        back = jax.vmap(jax.jacrev(inertial_from_log_cholesky))(
            jax.vmap(log_cholesky)(pi)
        )
        identity = jnp.broadcast_to(jnp.eye(10), (3, 10, 10))
        np.testing.assert_allclose(there @ back, identity, atol=1e-10)


def test_a_body_keeps_its_floating_point_type():
    pi = random_body(0)
    assert pseudo_inertia(pi).dtype == np.float64
    assert isinstance(pseudo_inertia(pi), np.ndarray)
    assert pseudo_inertia(jnp.asarray(pi, jnp.float32)).dtype == jnp.float32


@pytest.mark.parametrize(
    ("diagonal", "reason"),
    [
        ((0.1, 0.2, 0.5), "Ixx + Iyy < Izz"),
        ((0.9, 0.2, 0.5), "Iyy + Izz < Ixx"),
        ((0.1, 0.9, 0.5), "Ixx + Izz < Iyy"),
        ((0.1, -0.2, 0.5), "Iyy is negative: -0.2"),
    ],
)
@pytest.mark.parametrize("com", [(0, 0, 0.0), (0.3, -0.2, 0.1)])
def test_inconsistency_names_link_eigenvalue_and_offending_moments(diagonal, reason, com):
    pi = from_center_of_mass(2.0, com, np.diag(diagonal))
    (found,) = check_consistency(one_hinge(pi))
    assert found.body == "link0"
    assert reason in found.reason
    assert found.eigenvalue == np.linalg.eigvalsh(pseudo_inertia(pi))[0] < 0
    assert "link0" in str(found)
    assert "eigenvalue" in str(found)


def test_triangle_inequality_is_checked_in_principal_axes():
    R, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    pi = from_center_of_mass(1.0, [0.1, 0, 0], R @ np.diag([0.3, 0.3, 0.61]) @ R.T)
    (found,) = check_consistency(one_hinge(pi))
    assert "I1 + I2 < I3 in its principal axes" in found.reason


@pytest.mark.parametrize(
    ("pi", "reason"),
    [
        ([0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1], "its mass is 0 kg"),
        ([-1, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1], "its mass is -1 kg"),
        ([np.nan, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1], "not finite"),
        (np.zeros(10), "all its inertial parameters are zero"),
    ],
)
def test_bodies_without_mass_are_named(pi, reason):
    (found,) = check_consistency(one_hinge(pi))
    assert reason in found.reason


@pytest.mark.parametrize("com", [(0, 0, 0.0), (0.3, -0.2, 0.1), (3, -2, 1.0)])
def test_a_mass_without_extent_is_named(com):
    pi = from_center_of_mass(2.0, com, np.zeros((3, 3)))
    (found,) = check_consistency(one_hinge(pi))
    assert "it has mass, but its moments of inertia are zero" in str(found)
    assert check_consistency(one_hinge(nearest_consistent(pi))) == ()


def test_rods_and_plates_are_consistent():
    for diagonal in [(0, 0.2, 0.2), (0.1, 0.2, 0.1 + 0.2)]:
        for com in [(0, 0, 0.0), (0.3, -0.2, 0.1)]:
            pi = from_center_of_mass(2.0, com, np.diag(diagonal))
            assert check_consistency(one_hinge(pi)) == ()


def test_empty_bodies_may_be_welded_or_carry_welded_mass():
    body, empty = random_body(0), np.zeros(10)
    welded_empty = one_hinge([body, empty], parents=(-1, 0))
    carries_mass = one_hinge([empty, body], parents=(-1, 0))
    carries_joint = one_hinge([empty, body], parents=(-1, 0), joint_bodies=(0, 1))
    assert check_consistency(welded_empty) == ()
    assert check_consistency(carries_mass) == ()
    assert [x.body for x in check_consistency(carries_joint)] == ["link0"]


def test_repair_gives_a_rigid_body_with_the_same_mass_and_center():
    pi = from_center_of_mass(2.0, [0.3, -0.2, 0.1], np.diag([0.1, 0.2, 0.5]))
    repaired = nearest_consistent(pi)
    np.testing.assert_allclose(repaired[:4], pi[:4], rtol=1e-14)
    assert check_consistency(one_hinge(repaired)) == ()
    np.testing.assert_array_equal(nearest_consistent(repaired), repaired)


@pytest.mark.parametrize("pi", [np.zeros(10), [-1, 0, 0, 0, 0.1, 0, -0.1, 0, 0, 0.1]])
def test_repair_gives_a_body_without_mass_a_gram(pi):
    repaired = nearest_consistent(np.asarray(pi))
    assert repaired[0] == pytest.approx(1e-3)
    assert np.linalg.eigvalsh(pseudo_inertia(repaired))[0] > 0


def test_repair_leaves_rigid_bodies_as_they_are():
    pi = random_body(0)
    np.testing.assert_array_equal(nearest_consistent(pi), pi)


def test_repair_of_no_number_is_refused():
    with pytest.raises(ValueError, match="finite"):
        nearest_consistent(np.full(10, np.nan))


@pytest.mark.parametrize(("source", "target"), [*itertools.permutations(ORDERS, 2)])
def test_orders_of_inertial_parameters_round_trip(source, target):
    pi = random_body(0)
    given = convert_inertial(pi, "pinocchio", source)
    there = convert_inertial(given, source, target)
    np.testing.assert_allclose(
        there, convert_inertial(pi, "pinocchio", target), rtol=1e-13
    )
    np.testing.assert_allclose(
        convert_inertial(there, target, "pinocchio"), pi, rtol=1e-13
    )


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("idyntree", "m mx my mz Ixx Ixy Ixz Iyy Iyz Izz"),
        ("roam", "m mx my mz Ixx Iyy Izz Iyz Ixz Ixy"),
        ("khalil", "Ixx Ixy Ixz Iyy Iyz Izz mx my mz m"),
    ],
)
def test_orders_put_each_number_where_its_name_is(order, names):
    ours = np.arange(10.0)
    by_name = dict(zip(INERTIAL_NAMES, ours, strict=True))
    expected = [by_name[name] for name in names.split()]
    np.testing.assert_array_equal(convert_inertial(ours, "pinocchio", order), expected)


def test_mujoco_order_is_that_of_its_inertial_element():
    pi = random_body(1)
    m, cx, cy, cz, *full = convert_inertial(pi, "pinocchio", "mujoco")
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(mass=m, ipos=[cx, cy, cz], fullinertia=full)
    body.add_freejoint()
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    M = np.zeros((6, 6))
    mujoco.mj_fullM(model, data, M)
    np.testing.assert_allclose(M[3:, 3:][np.tril_indices(3)], pi[4:], atol=1e-12)
    np.testing.assert_allclose(M[0, 0], pi[0])


def test_unknown_order_is_refused():
    with pytest.raises((ValueError, TypeError), match="pinocchio"):
        convert_inertial(np.zeros(10), "pinocchio", "drake")
