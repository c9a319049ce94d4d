import dataclasses

import numpy as np
import polars as pl
import pytest

import jaxdyn
from identification._inspect import inspect
from identification._log import Log
from identification._read_log import read_log


def robot(joints=("shoulder", "elbow"), lower=-3.0, upper=3.0, joint_types=None, m=0):
    """A chain of point masses at the ends of links of one metre."""
    n = len(joints)
    identity = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    return jaxdyn.Model(
        inertial=np.tile([m, 0, -m, 0, m, 0, 0, 0, 0, m], (n, 1)).astype(float),
        pos=np.tile([0.0, -1.0, 0.0], (n, 1)),
        quat=identity,
        axis=np.tile([0.0, 0.0, 1.0], (n, 1)),
        anchor=np.zeros((n, 3)),
        ref=np.zeros(n),
        lower=np.broadcast_to(lower, n).astype(float),
        upper=np.broadcast_to(upper, n).astype(float),
        armature=np.zeros(n),
        damping=np.zeros(n),
        frictionloss=np.zeros(n),
        gravity=np.array([0.0, -9.81, 0.0]),
        site_pos=np.zeros((0, 3)),
        site_quat=np.zeros((0, 4)),
        parents=tuple(range(-1, n - 1)),
        joint_types=tuple(joint_types or ["hinge"] * n),
        joint_bodies=tuple(range(n)),
        site_bodies=(),
        body_names=tuple(f"{joint} link" for joint in joints),
        joint_names=tuple(joints),
        site_names=(),
    )


JOINTS = ("shoulder", "elbow")
ROBOT = robot(JOINTS)

T = np.arange(400) / 100
Q = np.stack([np.sin(3 * T), 0.5 * np.cos(2 * T)], axis=1)
QD = np.stack([3 * np.cos(3 * T), -np.sin(2 * T)], axis=1)
TAU = np.stack([2 * np.cos(T), np.sin(T + 1)], axis=1)
LOG = Log(T, Q, TAU, QD, joints=JOINTS)


def columns(pattern, x, labels=JOINTS):
    return {pattern.format(label): x[:, i] for i, label in enumerate(labels)}


def csv(path, table):
    pl.DataFrame(table).write_csv(path / "log.csv")
    return path / "log.csv"


def npz(path, **arrays):
    np.savez(path / "log.npz", **arrays)
    return path / "log.npz"


def assert_same(log, expected):
    for name in ("t", "q", "qd", "qdd", "tau"):
        actual, wanted = getattr(log, name), getattr(expected, name)
        assert (actual is None) == (wanted is None), name
        if wanted is not None:
            assert actual.dtype == np.float64
            np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-12, err_msg=name)
    assert log.joints == expected.joints


# Formats and columns


@pytest.mark.parametrize(
    ("time", "q", "qd", "tau"),
    [
        ("t", "q_{}", "dq_{}", "tau_{}"),
        ("time", "{}.position", "{}.velocity", "{}.effort"),
        ("Time", "{} Pos", "{} Vel", "{} Torque"),
        ("timestamp", "position/{}", "qd/{}", "torque/{}"),
    ],
)
def test_columns_named_after_joints_are_read_in_any_order(tmp_path, time, q, qd, tau):
    parts = [columns(qd, QD), columns(tau, TAU), {time: T}, columns(q, Q)]
    table = {name: x for part in parts for name, x in reversed(part.items())}
    assert_same(read_log(csv(tmp_path, table), ROBOT), LOG)


@pytest.mark.parametrize(
    ("q", "tau", "labels"),
    [("q{}", "tau{}", "01"), ("q_{}", "tau_{}", "12"), ("pos[{}]", "effort[{}]", "01")],
)
def test_numbered_columns_are_in_the_order_of_the_joints(tmp_path, q, tau, labels):
    table = {"t": T, **columns(tau, TAU, labels), **columns(q, Q, labels)}
    expected = dataclasses.replace(LOG, qd=None)
    assert_same(read_log(csv(tmp_path, table), ROBOT), expected)
    swapped = read_log(csv(tmp_path, table), ROBOT, joints=JOINTS[::-1])
    np.testing.assert_array_equal(swapped.q, expected.q[:, ::-1])


def test_columns_are_numbered_not_sorted_as_text(tmp_path):
    names = tuple(f"axis {letter}" for letter in "abcdefghijkl")
    q = np.arange(12.0) + T[:, None]
    labels = [str(i) for i in range(1, 13)]
    table = {"t": T, **columns("q{}", q, labels), **columns("tau{}", q, labels)}
    log = read_log(csv(tmp_path, table), robot(names, upper=20.0))
    np.testing.assert_allclose(log.q, q)


def test_formats_agree(tmp_path):
    table = {"t": T, **columns("q_{}", Q), **columns("dq_{}", QD)}
    frame = pl.DataFrame({**table, **columns("tau_{}", TAU), "mode": ["auto"] * len(T)})
    frame.write_parquet(tmp_path / "log.parquet")
    frame.write_csv(tmp_path / "tabs.csv", separator="\t")
    frame.write_csv(tmp_path / "semicolons.csv", separator=";")
    header = "t, q1, q2, dq1, dq2, tau1, tau2"  # numpy puts a # before it
    rows = np.column_stack([T, Q, QD, TAU])
    np.savetxt(tmp_path / "numpy.csv", rows, "%.17g", delimiter=", ", header=header)
    npz(tmp_path, t=T, q=Q, dq=QD, tau=TAU)
    for name in ("log.parquet", "tabs.csv", "semicolons.csv", "numpy.csv", "log.npz"):
        assert_same(read_log(tmp_path / name, ROBOT), LOG)


def test_arrays_of_float32_and_their_names(tmp_path):
    path = npz(
        tmp_path,
        time=T,
        position=Q[:, ::-1].astype(np.float32),
        effort=TAU[:, ::-1].astype(np.float32),
        names=JOINTS[::-1],
    )
    log = read_log(path, ROBOT)
    assert log.q.dtype == log.tau.dtype == np.float64
    np.testing.assert_allclose(log.q, Q, rtol=1e-6)
    np.testing.assert_allclose(log.tau, TAU, rtol=1e-6)


def test_one_joint_needs_no_number(tmp_path):
    path = csv(tmp_path, {"t": T, "q": Q[:, 0], "dq": QD[:, 0], "tau": TAU[:, 0]})
    log = read_log(path, robot(("pivot",)))
    np.testing.assert_allclose(log.qd, QD[:, :1])
    path = npz(tmp_path, t=T, q=Q[:, :1], tau=TAU[:, 0])
    np.testing.assert_allclose(read_log(path, robot(("pivot",))).tau, TAU[:, :1])


def test_columns_option_names_what_the_rules_do_not(tmp_path):
    table = {
        "clock": T,
        **columns("angle of {}", Q),
        **columns("speed {}", QD),
        **columns("current {}", TAU),
    }
    choice = {
        "t": "clock",
        "q": ["angle of shoulder", "angle of elbow"],
        "qd": ["speed shoulder", "speed elbow"],
        "tau": ["current shoulder", "current elbow"],
    }
    assert_same(read_log(csv(tmp_path, table), ROBOT, columns=choice), LOG)
    path = npz(tmp_path, t=T, q=Q, qd=QD, tau_meas=TAU, tau_cmd=0 * TAU)
    log = read_log(path, ROBOT, columns={"tau": "tau_meas"})
    assert_same(log, LOG)
    assert log.unread == ("tau_cmd[0]", "tau_cmd[1]")
    log = read_log(path, ROBOT, columns={"tau": "tau_meas", "qd": []})
    assert log.qd is None


def test_joints_that_are_not_in_the_model_are_left_out(tmp_path):
    """Locked joints stay in the log's file, by name or by order."""
    q, tau = (np.insert(x, 1, 7.0, axis=1) for x in (Q, TAU))
    names = ("shoulder", "finger", "elbow")
    table = {"t": T, **columns("q_{}", q, names), **columns("tau_{}", tau, names)}
    expected = dataclasses.replace(LOG, qd=None)
    log = read_log(csv(tmp_path, table), ROBOT)
    assert_same(log, expected)
    assert log.unread == ("q_finger", "tau_finger")
    log = read_log(npz(tmp_path, t=T, q=q, tau=tau), ROBOT, joints=names)
    assert_same(log, expected)


# Units


def test_degrees_are_for_hinges(tmp_path):
    path = npz(tmp_path, t=T, q=Q, dq=QD, tau=TAU)
    log = read_log(path, robot(joint_types=["hinge", "slide"]), degrees=True)
    unit = np.array([np.pi / 180, 1.0])
    expected = dataclasses.replace(LOG, q=unit * Q, qd=unit * QD)
    assert_same(log, expected)


@pytest.mark.parametrize("gear", [[50.0, -30.0], {"elbow": -30.0, "shoulder": 50.0}])
def test_gears_turn_motors_into_joints_and_keep_power(tmp_path, gear):
    ratio = np.array([50.0, -30.0])
    path = npz(tmp_path, t=T, q=ratio * Q, dq=ratio * QD, tau=TAU / ratio)
    log = read_log(path, ROBOT, gear=gear)
    assert_same(log, LOG)
    power = np.sum(ratio * QD * TAU / ratio, axis=1)
    np.testing.assert_allclose(np.sum(log.qd * log.tau, axis=1), power, atol=1e-12)


def test_unnamed_joints_have_a_gear_of_one(tmp_path):
    path = npz(tmp_path, t=T, q=Q * [1, 2], tau=TAU)
    np.testing.assert_allclose(read_log(path, ROBOT, gear={"elbow": 2.0}).q, Q)


@pytest.mark.parametrize(
    ("gear", "message"),
    [
        ({"elbw": 2.0}, "Did you mean 'elbow'"),
        ([1.0, 2.0, 3.0], "3 ratios, but the model has 2 joints"),
        (0.0, "neither 0 nor infinite"),
    ],
)
def test_impossible_gears_are_refused(tmp_path, gear, message):
    path = npz(tmp_path, t=T, q=Q, tau=TAU)
    with pytest.raises((ValueError, KeyError), match=message):
        read_log(path, ROBOT, gear=gear)


def test_whole_nanoseconds_of_the_epoch_lose_no_digits(tmp_path):
    stamps = 1_700_000_000_123_456_789 + np.round(T * 1e9).astype(np.int64)
    path = npz(tmp_path, t=stamps, q=Q, dq=QD, tau=TAU)
    assert_same(read_log(path, ROBOT, time_unit="ns"), LOG)
    table = {"t": stamps, **columns("q_{}", Q), **columns("tau_{}", TAU)}
    log = read_log(csv(tmp_path, table), ROBOT, time_unit="ns")
    np.testing.assert_allclose(log.t, T, rtol=0, atol=1e-12)


# Errors: what came, what was wanted, what to do


def refused(path, match, **options):
    with pytest.raises(ValueError, match=match):
        read_log(path, ROBOT, **options)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.csv", b"0.0,1.5,-2e-3\n0.1,1.4,nan\n", "begins with numbers. Add a first"),
        ("log.csv", b"time q_1 tau_1\n0.0 1.5 2.0\n", "commas, semicolons or tabs"),
        ("log.csv", bytes(range(256)), "not in the format of .csv"),
        ("log.npz", b"0.0,1.5", "not in the format of .npz: it is no archive"),
        ("log.parquet", b"0.0,1.5", "not in the format of .parquet"),
        ("log.txt", b"0.0,1.5", "does not end in .csv, .parquet or .npz"),
    ],
)
def test_files_that_are_no_logs(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, message)


@pytest.mark.parametrize("name", ["none.csv", "none.npz", "none.parquet"])
def test_missing_files(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="none"):
        read_log(tmp_path / name, ROBOT)


def test_missing_signal_lists_what_is_there(tmp_path):
    path = npz(tmp_path, t=T, q=Q, tau_meas=TAU)
    refused(path, r"no torque.*tau or torque or effort.*It has t, q, tau_meas\.")
    refused(path, r"by `columns=\{'tau': \[...\]\}`")
    refused(npz(tmp_path, q=Q, tau=TAU), "no time.*called t or time or timestamp")
    refused(path, "no column 'tau_mes'", columns={"tau": "tau_mes"})
    refused(path, "no signal 'torque'; signals are 't', 'q'", columns={"torque": "a"})


def test_joint_that_the_log_lacks_must_be_locked(tmp_path):
    path = csv(tmp_path, {"t": T, "q_elbow": Q[:, 1], "tau_elbow": TAU[:, 1]})
    refused(path, "no position of 'shoulder', only of 'elbow'")
    refused(path, r"`--lock shoulder=VALUE` or `jaxdyn.lock\(model, {'shoulder': value")


def test_wrong_number_of_columns_says_how_to_name_them(tmp_path):
    path = npz(tmp_path, t=T, q=np.hstack([Q, Q]), tau=np.hstack([TAU, TAU]))
    refused(path, "4 columns of position, but there are 2 joints: 'shoulder', 'elbow'")
    refused(path, r"`joints=\[...\]`; those that are not in the model are left out")
    path = npz(tmp_path, t=T, q=Q[:, :1], tau=TAU[:, :1])
    refused(path, "1 columns of position.*--lock JOINT=VALUE")


def test_what_is_given_twice_is_named(tmp_path):
    table = {"t": T, **columns("q_{}", Q), **columns("tau_{}", TAU)}
    refused(csv(tmp_path, {**table, "elbow.q": Q[:, 1]}), "'q_elbow' and 'elbow.q'")
    path = npz(tmp_path, t=T, q=Q, tau=TAU)
    refused(path, "'elbow' is named twice", joints=["elbow", "elbow"])
    (tmp_path / "twice.csv").write_text("t,q1,q1,tau1,tau2\n0,1,2,3,4\n1,1,2,3,4\n")
    refused(tmp_path / "twice.csv", "more than one column 'q1'")


def test_numbers_with_gaps_are_ambiguous(tmp_path):
    labels = ("1", "3")
    table = {"t": T, **columns("q{}", Q, labels), **columns("tau{}", TAU, labels)}
    refused(csv(tmp_path, table), "columns of position with gaps: 1, 3")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0.1,0,x1,0,0", "'x1' in row 1 of column 'q2' is not a number"),
        ("0.1,0,,0,0", "position of joint 'elbow' is nan in row 1"),
        ("0.1,0,0,0,inf", "torque of joint 'elbow' is inf in row 1"),
        ("nan,0,0,0,0", "time is nan in row 1"),
        ("0,0,0,0,0", r"not increase from row 0 \(0 s\) to row 1 \(0 s\)"),
        ("0.1,0,0,0,0,0", "no table with the columns of its first line"),
    ],
)
def test_bad_cell_is_named(tmp_path, row, message):
    path = tmp_path / "log.csv"
    path.write_text(f"t,q1,q2,tau1,tau2\n0,0,0,0,0\n{row}\n0.2,0,0,0,0\n\n")
    refused(path, message)


def test_too_few_samples(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,q1,q2,tau1,tau2\n0,0,0,0,0\n")
    refused(path, r"at least two samples, but its shape is \(1,\)")


def test_other_formats_are_refused(tmp_path):
    (tmp_path / "log.bag").write_text("")
    refused(tmp_path / "log.bag", "'log.bag' does not end in .csv, .parquet or .npz")


def test_text_column_is_refused(tmp_path):
    path = npz(tmp_path, t=T, q=Q, tau=TAU > 0)
    refused(path, "column 'tau\\[0\\]' holds Boolean, not numbers")


def test_shapes_must_agree(tmp_path):
    with pytest.raises(ValueError, match=r"position has shape \(399, 2\), but 400 "):
        Log(T, Q[1:], TAU)
    with pytest.raises(ValueError, match=r"torque has shape \(400, 1\), but 400 times"):
        Log(T, Q, TAU[:, :1])
    path = npz(tmp_path, t=T, q=Q, tau=TAU[1:])
    refused(path, r"torque has shape \(399, 2\), but 400 times of 2 joints need")
    path = npz(tmp_path, t=T, q=Q, tau1=TAU[:, 0], tau2=TAU[1:, 1])
    refused(path, "differ in length: 'tau1' 400, 'tau2' 399")


def test_slice_of_a_log_is_a_log():
    part = LOG[100:300]
    assert len(part) == 200
    np.testing.assert_array_equal(part.qd, QD[100:300])
    assert part.qdd is None
    assert part.joints == JOINTS


# Inspection


def findings(log, model=ROBOT):
    return [str(finding) for finding in inspect(log, model)]


def changed(**arrays):
    return dataclasses.replace(LOG, **arrays)


def swap(x):
    return x[:, ::-1]


def test_good_log_has_no_findings():
    assert findings(LOG) == []


def test_stamps_in_milliseconds():
    message = findings(changed(t=1e3 * T, qd=None))[0]
    assert message.startswith("error: log: time steps by 10 s")
    assert "--time-unit ms" in message


def test_gap_between_stamps():
    t = T + np.where(T > 1, 0.5, 0)
    assert findings(changed(t=t, qd=None)) == [
        "warning: log: there is no sample for 0.51 s after t = 1 s (row 100); most are "
        "0.01 s apart."
    ]


def test_joint_that_never_moves():
    (message,) = findings(changed(q=Q * [1, 0], qd=QD * [1, 0]))
    assert message.startswith("warning: log: joint 'elbow' never moves")


def test_torque_without_a_signal():
    (message,) = findings(changed(tau=TAU * [0, 1]))
    assert message.startswith("warning")
    assert "torque of joint 'shoulder' is constant, 0" in message
    t = np.arange(4000) / 100
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    coarse = Log(t, q, np.stack([q[:, 0], np.round(20 * q[:, 1])], axis=1))
    (message,) = findings(coarse, robot(("joint0", "joint1")))
    assert message.startswith("warning")
    assert "torque of joint 'joint1' takes only 41 values" in message


def test_position_beyond_the_limits():
    (message,) = findings(changed(q=Q + np.array([0, 3])))
    assert "the position of joint 'elbow' goes from 2.5 to 3.5, beyond" in message
    assert message.startswith("warning")


def test_angles_in_degrees():
    degrees = np.degrees(Q)
    (message,) = findings(changed(q=degrees, qd=np.degrees(QD)))
    assert message.startswith("error")
    assert "--degrees" in message


def test_swapped_positions_by_limits():
    model = robot(lower=[-3.0, -1.0], upper=[-1.0, 1.0])
    q = 0.5 * Q + [-2, 0]
    assert findings(changed(q=q, qd=None), model) == []
    messages = findings(changed(q=swap(q), qd=None), model)
    assert len(messages) == 2
    assert all(message.startswith("error") for message in messages)
    assert "'shoulder'" in messages[0]
    assert "within those of 'elbow'" in messages[0]


def test_swapped_velocities():
    messages = findings(changed(qd=swap(QD)))
    assert len(messages) == 2
    assert all(message.startswith("error") for message in messages)
    assert "of joint 'shoulder' belongs to the position of 'elbow'" in messages[0]


@pytest.mark.parametrize("gain", [-1.0, 57.3, 1e-3])
def test_velocity_of_another_sign_or_unit(gain):
    (message,) = findings(changed(qd=QD * [1, gain]))
    assert message.startswith("error: log: the velocity of joint 'elbow' is")
    assert "times the derivative of its position" in message


def test_velocity_that_is_none():
    rng = np.random.default_rng(0)
    (message,) = findings(changed(qd=np.stack([QD[:, 0], rng.normal(size=400)], 1)))
    assert message.startswith("warning: log: the velocity of joint 'elbow' is not the")
    (message,) = findings(changed(qd=QD * [1, 0]))
    assert "correlation 0.00" in message


def held_against_gravity():
    q = np.stack([np.sin(0.3 * T), np.cos(0.5 * T)], axis=1)
    upper, lower = np.sin(q[:, 0]), np.sin(q.sum(axis=1))
    return Log(T, q, 9.81 * np.stack([2 * upper + lower, lower], 1), joints=JOINTS)


def test_torques_that_hold_a_robot_against_gravity():
    log, heavy = held_against_gravity(), robot(m=1.0)
    assert findings(log, heavy) == []
    swapped = dataclasses.replace(log, tau=swap(log.tau))
    messages = findings(swapped, heavy)
    assert len(messages) == 2
    assert "'shoulder' is what gravity asks of 'elbow' in this model" in messages[0]


@pytest.mark.parametrize("gain", [-1.0, 0.02, 100.0])
def test_torque_of_another_sign_or_scale_than_gravity(gain):
    log, heavy = held_against_gravity(), robot(m=1.0)
    scaled = dataclasses.replace(log, tau=log.tau * [1, gain])
    (message,) = findings(scaled, heavy)
    assert message.startswith("warning: log: the torque of joint 'elbow' is")
    assert f"{gain:.3g} times what gravity asks" in message


def test_unread_columns():
    assert findings(changed(unread=("q_finger",))) == [
        "info: log: these columns were not read: q_finger."
    ]


# Real logs


PANDA = robot(
    tuple(f"joint{i}" for i in range(1, 8)),
    lower=[-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973],
    upper=[2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973],
)


@pytest.mark.data
def test_panda_log_is_in_order(data):
    log = read_log(data / "panda_gaz2019" / "exciting_traj_1_first12.6s.npz", PANDA)
    assert log.q.shape == log.qd.shape == log.tau.shape == (12408, 7)
    assert findings(log, PANDA) == []
    exchanged = [0, 1, 2, 5, 4, 3, 6]
    messages = findings(dataclasses.replace(log, q=log.q[:, exchanged]), PANDA)
    assert "within those of 'joint6', and the other way round" in messages[0]
    assert any("velocity of joint 'joint4' belongs to" in m for m in messages)
    degrees = dataclasses.replace(log, q=np.degrees(log.q), qd=np.degrees(log.qd))
    assert [m.startswith("error") for m in findings(degrees, PANDA)] == [True]


@pytest.mark.data
def test_tiago_wrist_has_no_usable_torque(data):
    names = ("torso", *(f"arm_{i}" for i in range(1, 8)))
    model = robot(names, lower=-np.inf, upper=np.inf)
    log = read_log(data / "tiago_arm" / "tiago_exciting.npz", model)
    coarse = [m for m in findings(log, model) if "too coarse" in m]
    assert len(coarse) == 3
    for joint, message in zip(names[-3:], coarse, strict=True):
        assert repr(joint) in message


@pytest.mark.data
def test_every_published_log_is_read(data):
    for path in sorted(data.glob("dfki_*/**/*.npz")):
        with np.load(path) as file:
            n, torque = file["q"].shape[1], "tau" if "tau" in file else "tau_meas"
        model = robot(("shoulder", "elbow")[:n], lower=-np.inf, upper=np.inf)
        log = read_log(path, model, columns={"tau": torque})
        assert not [m for m in findings(log, model) if m.startswith("error")], path
