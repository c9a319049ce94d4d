"""The demonstration, and the made-up robot that it identifies."""

import json

import jax
import mujoco
import numpy as np
import polars as pl
import pytest

import jaxdyn
from identification import ARM7, demo, fourier_trajectories, joint_torque
from identification._cli import main
from identification._demo import record, true_robot


ROBOT = jaxdyn.load(ARM7)


def test_the_arm_is_a_sound_robot():
    assert (ROBOT.nv, ROBOT.nb) == (7, 9)
    assert not jaxdyn.check_consistency(ROBOT)
    assert not ROBOT.report.filled
    assert (ROBOT.armature > 0).all()
    assert (ROBOT.frictionloss > 0).all()


def test_the_true_robot_is_another_that_can_exist():
    truth = true_robot(ROBOT, seed=0)
    assert not jaxdyn.check_consistency(truth)
    moving = list(ROBOT.joint_bodies)
    change = np.abs(truth.inertial / np.where(ROBOT.inertial, ROBOT.inertial, 1) - 1)
    assert (change[moving, 0] > 0.001).all()
    others = np.setdiff1d(np.arange(ROBOT.nb), moving)
    np.testing.assert_array_equal(truth.inertial[others], ROBOT.inertial[others])
    assert (truth.damping != ROBOT.damping).all()
    again, other = true_robot(ROBOT, seed=0), true_robot(ROBOT, seed=1)
    np.testing.assert_array_equal(again.inertial, truth.inertial)
    assert (other.frictionloss != truth.frictionloss).all()


@pytest.mark.slow
def test_records_are_of_the_robot_with_noise():
    motions = fourier_trajectories(jax.random.key(1), 2, ROBOT, duration=4.0, rate=100.0)
    logs = record(ROBOT, motions, seed=3)
    assert [len(log) for log in logs] == [400, 400]
    k = 123
    state = motions.q[1, k], motions.qd[1, k], motions.qdd[1, k]
    tau = np.asarray(joint_torque(ROBOT, *state))
    noise = 0.1 * ROBOT.frictionloss
    assert (np.abs(logs[1].tau[k] - tau) < 5 * noise).all()
    assert (logs[1].tau[k] != tau).all()
    np.testing.assert_allclose(logs[1].q[k], state[0], atol=1e-4)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A demonstration, and the lines of its progress."""
    lines = []
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return demo(folder, motions=4, progress=lines.append), lines


@pytest.mark.slow
def test_the_demonstration_finds_the_truth(shown):
    result, lines = shown
    assert result.covered > 0.85
    assert result.validation.relative_error < 0.01
    assert result.validation.prior_relative_error > 0.03
    assert result.validation.positive_definite == 1
    assert not result.validation.consistency
    assert len(lines) > 5
    assert f"{100 * result.covered:.3g} % of the 64 base parameters" in str(result)


@pytest.mark.slow
def test_the_demonstration_leaves_all_in_a_folder(shown):
    result, _ = shown
    folder = result.folder
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert found == {
        "arm7.xml",
        "true.xml",
        "identified.xml",
        "report.html",
        "results.json",
        *(f"logs/motion{k}.csv" for k in (1, 2, 3, 4)),
        *(
            f"tables/{name}.csv"
            for name in ("base_parameters", "joints", "bodies", "validation")
        ),
        "plots/parameters.png",
        *(f"plots/torque_joint{k}.png" for k in range(1, 8)),
    }
    written = jaxdyn.load(folder / "identified.xml")
    np.testing.assert_allclose(
        written.inertial, result.identified.model.inertial, rtol=1e-9, atol=1e-12
    )
    mujoco.MjModel.from_xml_path(str(folder / "identified.xml"))
    truth = jaxdyn.load(folder / "true.xml")
    np.testing.assert_allclose(truth.frictionloss, result.truth.frictionloss)
    numbers = json.loads((folder / "results.json").read_text())
    relative_error = result.validation.relative_error
    assert numbers["validation"]["relative_error"] == relative_error
    base = pl.read_csv(folder / "tables" / "base_parameters.csv")
    assert base["identified"].to_list() == result.identified.estimate.base.tolist()
    assert "truth" in base.columns
    for plot in (folder / "plots").iterdir():
        assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_command_that_the_demonstration_recommends_works(shown, tmp_path, capsys):
    result, _ = shown
    words = str(result).splitlines()[-1].split()
    assert words[:2] == ["jaxdyn", "identify"]
    logs = sorted(map(str, (result.folder / "logs").glob("*.csv")))
    at = next(i for i, word in enumerate(words) if "*" in word)
    words[at : at + 1] = logs
    words[-1] = str(tmp_path / words[-1])
    assert main(words[1:]) == 0
    assert (tmp_path / "again.html").exists()
    assert "relative" not in capsys.readouterr().err
