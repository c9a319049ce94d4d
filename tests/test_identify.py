"""From a robot and logs to an identified robot, and how well that explains other logs."""

import dataclasses
import hashlib
import math
import subprocess
import sys
import textwrap
import warnings

import equinox as eqx
import jax
import numpy as np
import pytest

import jaxdyn
from identification import (
    fourier_trajectories,
    hold_out,
    identify,
    joint_torque,
    Log,
    LowPass,
    motion,
    read_log,
    validate,
    write_log,
)
from identification._batches import along
from tests.recordings import altered, PENDULUM, record, robot, SCARA
from tests.robots import example_urdf


NOISE = np.array([0.2, 0.05, 0.5])
OFFSET = np.array([0.3, -0.2, 0.1])


@pytest.fixture(scope="module")
def truth():
    return altered(robot(SCARA), 1)


@pytest.fixture(scope="module")
def logs(truth):
    return record(truth, 4, 0, noise=NOISE, offset=OFFSET)


@pytest.fixture(scope="module")
def identified(logs):
    return identify(robot(SCARA), logs[:3])


def base_truth(result, truth, offset=0.0):
    parameters = dataclasses.replace(result.unknowns, model=truth).prior
    if "offset" in result.unknowns.terms:
        parameters[-truth.nv :] = offset
    return result.base.K @ parameters


def test_four_lines_from_a_robot_file_to_another(logs, tmp_path):
    robot_file, log_file = tmp_path / "robot.xml", tmp_path / "log.csv"
    robot_file.write_text(SCARA)
    write_log(logs[0], log_file)

    model = jaxdyn.load(robot_file)
    log = read_log(log_file, model)
    result = identify(model, log)
    jaxdyn.write(result.model, tmp_path / "identified.xml", source=robot_file)

    again = jaxdyn.load(tmp_path / "identified.xml")
    state = np.random.default_rng(0).normal(size=(3, 10, 3))
    np.testing.assert_allclose(
        along(joint_torque, again, *state) + result.offsets,
        result.torque(*state),
        rtol=1e-10,
        atol=1e-10,
    )
    assert validate(result, logs[1:]).relative_error < 0.02


def test_several_logs_say_more_than_one(truth, logs, identified):
    assert identified.rank == 12
    assert identified.base.rank == 12 + 9
    one, three = (
        identify_quietly(robot(SCARA), some, method="wls") for some in (logs[0], logs[:3])
    )
    assert 1.4 < np.median(one.estimate.std / three.estimate.std) < 2.1  # about √3
    assert one.samples == pytest.approx(identified.samples / 3, rel=0.01)
    z = (identified.estimate.base - base_truth(identified, truth, OFFSET)) / (
        identified.estimate.std
    )
    assert np.abs(z).max() < 4
    np.testing.assert_allclose(identified.offsets, OFFSET, atol=0.1)


@pytest.mark.parametrize("method", ["ols", "wls", "physical", "optax"])
def test_every_method_explains_what_it_has_not_seen(truth, logs, method):
    result = identify_quietly(robot(SCARA), logs[:3], method=method)
    assert result.estimate.method == method
    validation = validate(result, logs[3])
    assert validation.relative_error < 0.6 * validation.prior_relative_error
    assert validation.relative_error < validation.raw_relative_error < 0.1
    again = identify_quietly(robot(SCARA), logs[:3], method=method)
    for name in ("parameters", "base", "covariance", "sigma"):
        np.testing.assert_array_equal(
            getattr(result.estimate, name), getattr(again.estimate, name)
        )
    assert again.remarks == result.remarks


def test_terms_in_any_order_and_friction_alone(truth, logs, identified):
    other = identify(robot(SCARA), logs[:3], terms=["offset", "fc", "fv", "inertia"])
    np.testing.assert_array_equal(other.estimate.base, identified.estimate.base)
    known = eqx.tree_at(lambda m: m.inertial, robot(SCARA), truth.inertial)
    friction = identify(known, logs[:3], terms=["fv", "fc", "offset"])
    assert friction.rank == 0
    np.testing.assert_array_equal(friction.model.inertial, truth.inertial)
    np.testing.assert_allclose(friction.model.damping, truth.damping, rtol=0.1)
    np.testing.assert_allclose(friction.model.frictionloss, truth.frictionloss, rtol=0.1)


def test_a_whole_batch_of_excitations_without_a_filter(truth):
    motions = fourier_trajectories(jax.random.key(1), 8, truth, rate=20.0)
    logs = [
        Log(t=motions.t, q=q, qd=qd, qdd=qdd, tau=along(joint_torque, truth, q, qd, qdd))
        for q, qd, qdd in zip(motions.q, motions.qd, motions.qdd, strict=True)
    ]
    result = identify_quietly(robot(SCARA), logs, cutoff=None, method="wls")
    assert result.samples == 8 * 200
    np.testing.assert_allclose(
        result.estimate.base, base_truth(result, truth), rtol=1e-9, atol=1e-9
    )
    assert validate(result, logs).relative_error < 1e-10
    with pytest.raises(ValueError, match=r"motion0 has no velocities.*Give a cut-off"):
        identify(robot(SCARA), record(truth, 1, 0), cutoff=None)


def test_jittered_stamps(truth, logs, identified):
    rng = np.random.default_rng(0)
    motions = fourier_trajectories(jax.random.key(0), 3, truth)
    jittered = []
    for i in range(3):
        t = motions.t + rng.uniform(-2e-3, 2e-3, len(motions.t))
        one = jax.tree.map(lambda leaf, i=i: leaf[i], motions.series)
        q, qd, qdd = (
            np.asarray(jax.vmap(f)(t))
            for f in (one.position, one.velocity, one.acceleration)
        )
        tau = along(joint_torque, truth, q, qd, qdd)
        tau += OFFSET + NOISE * rng.standard_normal(tau.shape)
        jittered.append(Log(t=t, q=q, tau=tau))
    result = identify(robot(SCARA), jittered)
    error = (
        result.estimate.base - base_truth(result, truth, OFFSET)
    ) / result.estimate.std
    assert np.abs(error).max() < 4
    assert result.samples == pytest.approx(identified.samples, rel=0.02)


PENDULUM_TERMS = ("fv", "fc", "Ia")


@pytest.mark.parametrize("method", ["wls", "physical"])
def test_damping_friction_and_armature_of_one_joint(method):
    model = robot(PENDULUM)
    values = {"damping": 0.25, "frictionloss": 0.12, "armature": 0.05}
    truth = altered(
        model,
        0,
        inertial=model.inertial,
        **{name: np.array([value]) for name, value in values.items()},
    )
    inside = 0
    for seed in range(6):
        logs = record(truth, 10, seed, noise=0.02)
        result = identify(model, logs, terms=PENDULUM_TERMS, method=method)
        for name, value in values.items():
            assert getattr(result.model, name)[0] == pytest.approx(value, rel=0.01)
        expected = np.array([values[n] for n in ("armature", "damping", "frictionloss")])
        z = np.abs(result.estimate.base - expected) / result.estimate.std
        inside += np.sum(z < 1.96)
        assert z.max() < 3.5
    assert inside >= 15  # of 18, by 95 % intervals


def test_a_robot_of_one_joint():
    model = robot(PENDULUM)
    truth = altered(model, 3)
    result = identify(model, record(truth, 3, 0, noise=0.02))
    assert set(result.base.names[:3]) == {"rod.Iyy", "rod.mx", "rod.mz"}
    assert result.rank == 3
    expected = base_truth(result, truth)
    np.testing.assert_allclose(result.estimate.base[:3], expected[:3], rtol=0.03)
    assert result.model.inertial[0, 0] > 0
    (silent,) = [remark for remark in result.remarks if "depends on" in remark]
    assert "rod.m," in silent
    assert validate(result, record(truth, 1, 9)).relative_error < 0.01


def test_a_joint_that_never_moves_spoils_no_other(truth, logs):
    still = robot(SCARA)
    motions = fourier_trajectories(jax.random.key(2), 3, truth)
    silent = []
    for q, qd, qdd in zip(motions.q, motions.qd, motions.qdd, strict=True):
        state = [np.array(x) for x in (q, qd, qdd)]
        state[0][:, 1] = 0.3
        state[1][:, 1] = state[2][:, 1] = 0.0
        silent.append(
            Log(t=motions.t, q=state[0], tau=along(joint_torque, truth, *state))
        )
    for method in ("wls", "physical"):
        result = identify_quietly(still, silent, method=method)
        assert {"tilt.fv", "tilt.fc"} <= set(result.estimate.undetermined)
        assert any("say nothing of" in r and "tilt.fc" in r for r in result.remarks)
        for numbers in (result.estimate.parameters, result.estimate.base):
            assert np.isfinite(numbers).all()
        assert not np.isnan(result.estimate.std).any()
        assert not np.isnan(result.estimate.relative_std).any()
        assert result.model.damping[1] == pytest.approx(still.damping[1], rel=1e-9)
        np.testing.assert_allclose(result.model.damping[0], truth.damping[0], rtol=0.02)
        validation = validate(result, silent)
        assert validation.relative_error < 0.02


def test_parameters_that_nothing_depends_on_are_named(logs):
    message = (
        "depends on the inertia of the free bodies base: there is nothing to estimate"
    )
    with pytest.raises(ValueError, match=message):
        identify(robot(SCARA), logs[0], terms=["inertia"], free=["base"])
    result = identify(robot(SCARA), logs[0], free=["base", "lower"])
    (remark,) = [r for r in result.remarks if r.startswith("No joint torque depends on")]
    assert "base.m, base.mx" in remark
    assert "lower.mx" not in remark
    np.testing.assert_allclose(
        result.model.inertial[0], robot(SCARA).inertial[0], atol=1e-12
    )


def test_least_squares_that_no_robot_has_is_warned_of(truth):
    poor = record(truth, 1, 0, noise=20 * NOISE, velocity=0.1, acceleration=0.3)
    for method in ("ols", "wls", "optax"):
        with pytest.warns(UserWarning, match="cannot|No rigid body|negative") as warned:
            result = identify(robot(SCARA), poor, method=method)
        said = [str(w.message) for w in warned]
        assert any("No rigid body has the inertia" in line for line in said)
        assert any("'physical'" in line for line in said)
        assert set(said) <= set(result.remarks)
        assert jaxdyn.check_consistency(result.model)
    result = identify(robot(SCARA), poor)
    assert jaxdyn.check_consistency(result.model) == ()
    assert validate(result, poor).positive_definite == 1.0


def test_an_inconsistent_prior_is_refused_by_name_with_advice(truth, logs):
    inertial = np.array(truth.inertial)
    inertial[3, 9] = -0.01
    wrong = eqx.tree_at(lambda m: m.inertial, truth, inertial)
    with pytest.raises(ValueError, match=r'rail: .* `repair="nearest"`'):
        identify(wrong, logs[0])
    inertial = np.array(truth.inertial)
    inertial[4, 9] = -0.01
    held = eqx.tree_at(lambda m: m.inertial, truth, inertial)
    with pytest.warns(UserWarning, match="which was held, for tool: "):
        identify(held, logs[0])


def with_armature(model, values):
    return eqx.tree_at(lambda m: m.armature, model, np.array(values))


@pytest.mark.parametrize("method", ["wls", "physical"])
def test_armature_of_the_file_is_kept_if_the_logs_agree(truth, logs, method):
    """And left out if they do not; either way it is said."""
    values = [0.8, 0.4, 3.0]
    invented = identify_quietly(with_armature(robot(SCARA), values), logs, method=method)
    assert not invented.model.armature.any()
    (remark,) = [r for r in invented.remarks if "armature of the file" in r]
    assert "(pan 0.8, tilt 0.4, reach 3) was left out: without it, resid" in remark
    assert "The term Ia" in remark

    geared = record(with_armature(truth, values), 4, 0, noise=NOISE, offset=OFFSET)
    kept = identify_quietly(with_armature(robot(SCARA), values), geared, method=method)
    np.testing.assert_array_equal(kept.model.armature, values)
    assert any("tilt 0.4, reach 3) was kept: without" in r for r in kept.remarks)
    assert validate(kept, geared).relative_error < 0.02

    for model in (robot(SCARA), with_armature(robot(SCARA), values)):
        estimated = identify_quietly(
            model, geared, terms=["inertia", "Ia", "fv", "fc", "offset"], method=method
        )
        assert not any("armature of the file" in r for r in estimated.remarks)
        assert validate(estimated, geared).relative_error < 0.02
    friction = identify_quietly(with_armature(truth, values), geared, terms=["fv", "fc"])
    np.testing.assert_array_equal(friction.model.armature, values)


def test_validation_by_hand(truth, logs, identified):
    log = logs[3]
    validation = validate(identified, log, poses=50)
    record = motion(log, cutoff=5.0)
    lowpass = LowPass(5.0, record.rate)
    trim = round(0.5 * record.rate)
    inner = slice(trim, -trim)
    tau = lowpass.apply(record.tau)[inner]
    predicted = along(joint_torque, identified.model, record.q, record.qd, record.qdd)
    predicted = lowpass.apply(predicted + identified.offsets)[inner]

    def relative(x, y):
        return np.linalg.norm(x - y) / np.linalg.norm(y)

    assert validation.relative_error == pytest.approx(relative(predicted, tau), rel=1e-9)
    raw = record.tau[inner]
    assert validation.raw_relative_error == pytest.approx(relative(predicted, raw))
    before = along(joint_torque, robot(SCARA), record.q, record.qd, record.qdd)
    before = lowpass.apply(before)[inner]
    assert validation.prior_relative_error == pytest.approx(relative(before, tau))
    for j, joint in enumerate(validation.joints):
        error = predicted[:, j] - tau[:, j]
        assert joint.name == truth.joint_names[j]
        assert joint.relative_error == pytest.approx(relative(predicted[:, j], tau[:, j]))
        assert joint.raw_relative_error == pytest.approx(
            relative(predicted[:, j], raw[:, j])
        )
        assert joint.rmse == pytest.approx(np.sqrt(np.mean(error**2)))
        assert joint.nrmse == pytest.approx(joint.rmse / np.ptp(tau[:, j]))
        assert joint.r2 == pytest.approx(1 - np.mean(error**2) / np.var(tau[:, j]))
    (curves,) = validation.curves
    assert curves.name == "motion3"
    np.testing.assert_allclose(curves.predicted, predicted, atol=1e-9)
    np.testing.assert_allclose(curves.measured, tau, atol=1e-12)
    assert curves.t[0] == pytest.approx(0.5)
    assert validation.poses == 50
    assert validation.consistency == ()


def test_validation_of_a_bare_model_and_of_several_logs(truth, logs):
    exact = validate(truth, record(truth, 1, 0))
    assert exact.relative_error < 1e-3
    assert exact.prior_relative_error == exact.relative_error
    both = validate(truth, logs[:2])
    each = [validate(truth, log) for log in logs[:2]]
    assert len(both.curves) == 2
    assert each[0].relative_error != each[1].relative_error
    assert min(e.relative_error for e in each) < both.relative_error
    assert both.relative_error < max(e.relative_error for e in each)
    wide = validate(truth, logs[0], cutoff=20.0)
    assert wide.relative_error > each[0].relative_error


def test_a_robot_that_cannot_exist_shows_in_the_validation(truth, logs):
    inertial = np.array(truth.inertial)
    inertial[2:, 4:] *= -1
    validation = validate(
        eqx.tree_at(lambda m: m.inertial, truth, inertial), logs[0], poses=100
    )
    assert validation.positive_definite < 1
    assert {fault.body for fault in validation.consistency} == {"lower", "rail", "tool"}


def test_a_torque_of_nothing_has_no_relative_error(truth):
    still = np.zeros((600, 3))
    log = Log(t=np.arange(600) / 100, q=still, tau=still)
    weightless = truth.with_gravity([0.0, 0.0, 0.0])
    validation = validate(weightless, log)
    assert validation.relative_error == 0
    assert validation.joints[0].r2 == 1
    assert validate(truth, log).joints[1].relative_error == math.inf


def test_logs_that_do_not_fit_are_refused(truth, logs, unchecked):
    model = robot(SCARA)
    swapped = dataclasses.replace(logs[0], joints=("tilt", "pan", "reach"))
    with pytest.raises(ValueError, match="joints tilt, pan, reach, but the model's"):
        identify(model, [logs[1], swapped])
    with pytest.raises(ValueError, match="joints pan, tilt, reach, but the model's"):
        validate(jaxdyn.lock(model, {"tilt": 0.0}), logs[0])
    with pytest.raises(ValueError, match="At least one log"):
        identify(model, [])
    with pytest.raises(ValueError, match="no method 'magic'"):
        identify(model, logs[0], method="magic")
    with pytest.raises(ValueError, match=r"motion0 lasts 0.995 s, of which 0\.5"):
        validate(truth, logs[0][:200], cutoff=20.0)


def test_progress_is_told(logs):
    lines = []
    identify(robot(SCARA), logs[:2], progress=lines.append)
    text = "\n".join(lines)
    assert "21 base parameters, 12 of them of inertia" in text
    assert "record 2 of 2 reduced" in text
    assert "physical: " in text


def fingerprint(model, logs) -> str:
    """All that a fit and a validation have found, bit by bit."""
    digest = hashlib.sha256()
    for method in ("wls", "physical", "optax"):
        result = identify_quietly(model, logs[:2], method=method)
        validation = validate(result, logs[2], poses=100)
        for x in (result.estimate.parameters, result.estimate.covariance):
            assert x.dtype == np.float64
            digest.update(x.tobytes())
        digest.update(validation.curves[0].predicted.tobytes())
    return digest.hexdigest()


def test_double_precision_whatever_jax_is_set_to(logs, tmp_path):
    """The same bits from a process in which JAX is left at single precision."""
    for i, log in enumerate(logs[:3]):
        np.savez(tmp_path / f"{i}.npz", t=log.t, q=log.q, tau=log.tau)
    (tmp_path / "robot.xml").write_text(SCARA)
    program = """
        import sys
        import jax, numpy as np
        import jaxdyn
        from identification import Log
        from tests.test_identify import fingerprint

        jax.config.update("jax_enable_x64", False)
        folder = sys.argv[1]
        model = jaxdyn.load(f"{folder}/robot.xml")
        files = [np.load(f"{folder}/{i}.npz") for i in range(3)]
        print(fingerprint(model, [Log(**file) for file in files]))
        assert not jax.config.jax_enable_x64
        assert jax.numpy.zeros(1).dtype == np.float32
    """
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    unnamed = [Log(t=log.t, q=log.q, tau=log.tau) for log in logs[:3]]
    assert child.stdout.strip() == fingerprint(robot(SCARA), unnamed)
    assert jax.config.jax_enable_x64


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log():
    """Beyond the log, less than half a gigabyte."""
    program = """
        import numpy as np
        import jaxdyn
        from identification import ARM7, identify, Log

        def peak():
            status = open("/proc/self/status").read()
            return int(status.split("VmHWM:")[1].split()[0]) / 1024

        model = jaxdyn.load(ARM7)
        def log(samples):
            t = np.arange(samples) / 1000
            phase = np.outer(t, np.linspace(1, 3, 7))
            return Log(t=t, q=np.sin(phase), tau=np.cos(phase))

        identify(model, log(5000))  # compile
        large = log(300_000)
        before = peak()
        identify(model, large)
        print(peak() - before)
    """
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(child.stdout) < 500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "joints", "rank"),
    [("double_pendulum.urdf", 2, 6), ("ur5_robot.urdf", 6, 36), ("z1.urdf", 7, None)],
)
def test_any_urdf(name, joints, rank):
    model = jaxdyn.load(example_urdf(name), repair="nearest")
    assert model.nv == joints
    truth = altered(model, 0, frictionloss=np.ones(joints), damping=np.ones(joints))
    logs = record(truth, 3, 0, noise=0.05)
    result = identify(model, logs[:2])
    assert rank is None or result.rank == rank
    validation = validate(result, logs[2])
    assert validation.relative_error < 0.03 < validation.prior_relative_error
    assert validation.positive_definite == 1.0
    assert validation.consistency == ()


PANDA_FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}


@pytest.mark.data
@pytest.mark.menagerie
@pytest.mark.parametrize("source", ["mjcf", "urdf"])
def test_panda(data, menagerie, source):
    """Trained on the first two thirds of a real log, tested on the last."""
    if source == "mjcf":
        model = jaxdyn.load(menagerie / "franka_emika_panda" / "panda_nohand.xml")
    else:
        model = jaxdyn.load(example_urdf("panda.urdf"), locked=PANDA_FINGERS)
    log = read_log(data / "panda_gaz2019" / "exciting_traj_1_first12.6s.npz", model)
    (train,), (test,) = hold_out([log], 1 / 3)

    wls = identify_quietly(model, train, method="wls")
    assert wls.rank == 43
    assert wls.base.gap > 1e6
    free = validate(wls, test)
    assert free.relative_error <= 0.018
    assert free.positive_definite == 0.0
    assert free.consistency
    assert any("No rigid body" in remark for remark in wls.remarks)

    physical = identify(model, train)
    found = validate(physical, test)
    assert physical.rank == 43
    assert found.relative_error <= free.relative_error + 0.001
    assert found.relative_error < found.raw_relative_error < 0.04
    assert found.prior_relative_error > 3 * found.relative_error
    assert found.positive_definite == 1.0
    assert found.poses == 10_000
    assert found.consistency == ()
    dropped = [r for r in physical.remarks if "(joint1 0.1, joint2 0.1" in r]
    assert len(dropped) == (source == "mjcf")
    assert not physical.model.armature.any()


def identify_quietly(*args, **options):
    """Without the warning that least squares may find a robot that cannot exist."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No rigid body has the inertia that")
        warnings.filterwarnings("ignore", ".*came out negative")
        return identify(*args, **options)
