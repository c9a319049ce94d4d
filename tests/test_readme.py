"""What the README says works as it stands there."""

import re
import shlex
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxdyn
from identification import _arguments, ARM7, fourier_trajectories, write_log
from identification._demo import record


README = (Path(__file__).parents[1] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The README's code in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the robot and the logs that the README speaks of."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ARM7, "robot.xml")
    robot = jaxdyn.load(ARM7)
    motions = fourier_trajectories(jax.random.key(0), 3, model=robot)
    for k, log in enumerate(record(robot, motions, seed=0)):
        write_log(log, f"motion{k + 1}.csv")
    return tmp_path


def test_dynamics_example(capsys):
    names = {}
    exec(compile(blocks("python")[0], "README.md", "exec"), names)
    robot, q, qd, qdd = (names[x] for x in ("robot", "q", "qd", "qdd"))
    for k in (0, 17):
        expected = jaxdyn.inverse_dynamics(robot, q[k], qd[k], qdd[k])
        np.testing.assert_allclose(names["torque"][k], expected, rtol=1e-10, atol=1e-10)
    assert names["by_position"].shape == (robot.nv, robot.nv)
    assert names["by_number"].inertial.shape == (robot.nb, 10)
    assert "(1024, 7)" in capsys.readouterr().out


@pytest.mark.slow
def test_identification_example(folder, capsys):
    names = {}
    exec(compile(blocks("python")[1], "README.md", "exec"), names)
    assert float(capsys.readouterr().out.split()[-1]) < 0.05
    written = jaxdyn.load("identified.xml")
    expected = names["fit"].model.inertial
    np.testing.assert_allclose(written.inertial, expected, rtol=1e-9, atol=1e-15)


def test_python_examples_are_all_tested():
    assert len(blocks("python")) == 2


def test_command_lines_are_understood():
    commands = [
        shlex.split(line)
        for block in blocks("sh")
        for line in block.replace("\\\n", " ").splitlines()
        if "jaxdyn" in line
    ]
    parser = _arguments.parser(dict.fromkeys(("identify", "info", "demo"), id))
    for words in commands:
        options = parser.parse_args(words[words.index("jaxdyn") + 1 :])
        assert options.run is id
    assert len(commands) >= 3
