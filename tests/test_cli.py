"""The command line: what it writes, what it says, and when it fails."""

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import polars as pl
import pytest

import jaxdyn
from identification import (
    ARM7,
    as_json,
    hold_out,
    identify,
    read_log,
    validate,
    write_log,
)
from identification._arguments import parser
from identification._cli import main
from tests.recordings import altered, record, robot, SCARA


ROBOT = robot(SCARA)
NOISE = np.array([0.1, 0.1, 0.2])


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A folder with a robot's file and three logs of a robot that differs from it."""
    folder = tmp_path_factory.mktemp("scara")
    (folder / "scara.xml").write_text(SCARA)
    truth = altered(ROBOT, seed=1)
    for log in record(truth, 3, seed=2, noise=NOISE, offset=0.3, duration=8.0):
        write_log(log, folder / f"{log.name}.csv")
    return folder


@pytest.fixture
def folder(source, tmp_path, monkeypatch) -> Path:
    """An empty working folder, with links to the robot's file and the logs."""
    for path in source.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Run a command; exit code, and the texts of stdout and stderr."""

    def run(words: str) -> tuple[int, str, str]:
        try:
            code = main(words.split())
        except SystemExit as exit:
            code = exit.code
        return code, *capsys.readouterr()

    return run


def edited(name: str, **columns):
    """Replace the first log by one with other columns; `None` drops one."""
    frame = pl.read_csv("motion0.csv")
    frame = frame.drop([column for column, x in columns.items() if x is None])
    new = {column: x for column, x in columns.items() if x is not None}
    frame.with_columns(**new).write_csv(name)


ALL = (
    "identify scara.xml motion0.csv motion1.csv --validate motion2.csv "
    "--out results/out.xml --report results/report.html --json results/numbers.json"
)


def strictly(text: str):
    """Parsed JSON, without the NaN and Infinity that Python's own writes."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(word))


def test_identify_writes_all_that_is_asked_for(run):
    code, out, err = run(ALL)
    assert code == 0, err
    numbers = strictly(Path("results/numbers.json").read_text())
    assert 0 < numbers["validation"]["relative_error"] < 0.05
    assert numbers["validation"]["prior_relative_error"] > 0.05
    assert tuple(numbers["validation"]["joints"]) == ROBOT.joint_names
    assert numbers["validation"]["joints"]["tilt"]["r2"] > 0.9
    assert numbers["base"]["rank"] == len(numbers["base"]["names"]) - 9
    assert numbers["consistency"]["consistent"]
    assert tuple(numbers["consistency"]["bodies"]) == ROBOT.body_names
    assert numbers["settings"]["terms"] == ["inertia", "fv", "fc", "offset"]
    assert numbers["versions"]["mujoco"] == mujoco.__version__
    digests = numbers["inputs"]["logs"]
    assert tuple(digests) == ("motion0.csv", "motion1.csv")
    assert all(len(digest) == 64 for digest in digests.values())

    written = jaxdyn.load("results/out.xml")
    pi = [
        numbers["parameters"][f"{body}.{name}"]["value"]
        for body in ROBOT.body_names
        for name in jaxdyn.INERTIAL_NAMES
    ]
    np.testing.assert_allclose(written.inertial.ravel(), pi, rtol=1e-9, atol=1e-12)
    offset = numbers["parameters"]["pan.offset"]
    assert offset["value"] == pytest.approx(0.3, abs=5 * offset["std"])

    assert "<svg" in Path("results/report.html").read_text()
    assert "all joints" in out
    for joint in ROBOT.joint_names:
        assert joint in out
    assert "Wrote results/out.xml" in out
    assert "not expressed: offsets" in out
    assert "base parameters" in err  # progress


def test_it_is_a_few_lines_of_python(folder):
    """The same calls give the same numbers, to the bit."""
    assert main(ALL.split()) == 0
    robot = jaxdyn.load("scara.xml")
    fit = identify(robot, [read_log(f"motion{k}.csv", robot) for k in (0, 1)])
    text = as_json(fit, validate(fit, read_log("motion2.csv", robot)))
    by_command = json.loads(Path("results/numbers.json").read_text())
    for key, value in json.loads(text).items():
        assert by_command[key] == value


def test_the_last_third_is_held_out(run):
    assert run("identify scara.xml motion0.csv --json a.json")[0] == 0
    robot = jaxdyn.load("scara.xml")
    train, test = hold_out([read_log("motion0.csv", robot)])
    expected = validate(identify(robot, train), test)
    got = json.loads(Path("a.json").read_text())["validation"]["relative_error"]
    assert got == expected.relative_error


def test_without_results_asked_for_the_robot_is_written(run, folder):
    code, out, _ = run("identify scara.xml motion0.csv")
    assert code == 0
    new = {path.name for path in folder.iterdir() if not path.is_symlink()}
    assert new == {"scara_identified.xml"}
    assert "scara_identified.xml" in out


def test_a_robot_that_cannot_exist_is_not_written(run, folder):
    truth = altered(ROBOT, seed=1)
    log, *_ = record(truth, 1, seed=3, noise=20 * NOISE, duration=8.0)
    write_log(log, "noisy.csv")
    words = "identify scara.xml noisy.csv --method ols --json a.json --report a.html"

    code, out, err = run(words)  # only numbers were asked for
    assert code == 0, err
    assert "INCONSISTENT" in out
    numbers = strictly(Path("a.json").read_text())
    assert not numbers["consistency"]["consistent"]
    assert any("physical" in remark for remark in numbers["remarks"])
    Path("a.json").unlink()
    Path("a.html").unlink()

    code, _, err = run(f"{words} --out out.xml")
    assert code == 1
    assert err.splitlines()[-1]
    assert "rigid body" in err
    assert not Path("out.xml").exists()
    assert "rigid body" in strictly(Path("a.json").read_text())["written"]
    assert Path("a.html").exists()

    code, _, err = run("identify scara.xml noisy.csv --method ols")
    assert code == 1
    assert not Path("scara_identified.xml").exists()


@pytest.mark.parametrize(
    "words",
    [
        "identify scara.xml motion0.csv --terms inertia fv fc --json a.json",
        "identify scara.xml motion0.csv --terms inertia,fv,fc --json a.json",
        "identify --terms inertia fv fc --json a.json -- scara.xml motion0.csv",
        "identify --json a.json --terms inertia,fv --terms fc -- scara.xml motion0.csv",
    ],
)
def test_several_words_of_an_option(words):
    options = parser(dict.fromkeys(("identify", "info", "demo"), id)).parse_args(
        words.split()
    )
    assert options.terms == ["inertia", "fv", "fc"]
    assert options.robot == Path("scara.xml")
    assert options.logs == [Path("motion0.csv")]


def test_options_of_robot_and_log():
    words = (
        "identify r.urdf a.csv b.csv --lock f1=0 f2=-0.5 --gravity 0 0 -9.81 --gear 32 "
        "-48 --base-orientation 0 3.1416 0 --columns tau=i1,i2 qd= --cutoff none"
    )
    options = parser(dict.fromkeys(("identify", "info", "demo"), id)).parse_args(
        words.split()
    )
    assert options.lock == [("f1", 0.0), ("f2", -0.5)]
    assert options.gravity == [0, 0, -9.81]
    assert options.gear == [32, -48]
    assert options.base_orientation == [0, 3.1416, 0]
    assert options.columns == [("tau", ["i1", "i2"]), ("qd", [])]
    assert options.cutoff is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("identify scara.xml", "required: LOG"),
        ("identify scara.xml motion0.csv --terms inertia friction", "'friction'"),
        ("identify --terms fv scara.xml motion0.csv", "'scara.xml' is not one of"),
        ("identify scara.xml motion0.csv --lock pan", "JOINT=NUMBER"),
        ("identify scara.xml motion0.csv --lock pan=left", "JOINT=NUMBER"),
        ("identify scara.xml motion0.csv --columns torque=a", "SIGNAL=COLUMN"),
        ("identify scara.xml motion0.csv --cutoff high", "'high' is no frequency"),
        ("identify scara.xml motion0.csv --method mcmc", "invalid choice"),
        ("fly scara.xml", "invalid choice"),
    ],
)
def test_words_that_are_not_understood(run, words, message):
    code, out, err = run(words)
    assert code == 2
    assert message in err
    assert "usage: jaxdyn" in err
    assert not out


FREE = """
<mujoco><worldbody><body name="drone"><freejoint name="floating"/>
  <geom type="box" size="0.1 0.1 0.02"/></body></worldbody></mujoco>
"""


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("identify none.xml motion0.csv", ["'none.xml'"]),
        ("identify scara.xml none.csv", ["no log file 'none.csv'"]),
        ("identify motion0.csv scara.xml", ["motion0.csv is not an XML file"]),
        ("identify scara.xml motion0.csv --lock arm=0", ["'arm'", "pan, tilt, reach"]),
        ("identify free.xml motion0.csv", ["free joint 'floating'", "--no-strict"]),
        (
            "identify scara.xml motion0.csv --out robot.urdf",
            ["MJCF", "robot.urdf", "another format"],
        ),
        ("identify scara.xml motion0.csv --report a.pdf", ["a.pdf", ".html"]),
        ("identify scara.xml motion0.csv --json a.txt", ["a.txt", ".json"]),
        (
            "identify scara.xml motion0.csv --json motion0.csv/a.json",
            ["motion0.csv/a.json cannot be written"],
        ),
        ("identify scara.xml motion0.csv --out .", ["cannot be written", "folder"]),
        ("identify scara.xml motion0.csv --cutoff 80", ["320 samples a second", "50 Hz"]),
        ("identify scara.xml motion0.csv --cutoff -1", ["positive frequency"]),
        ("identify scara.xml motion0.csv --hold-out 2", ["between 0 and 1"]),
        ("identify scara.xml motion0.csv --free hand", ["'hand'", "base, upper"]),
        ("identify scara.xml motion0.csv --gear 1 pan=2", ["not both"]),
        ("identify scara.xml motion0.csv --base-orientation 1", ["quaternion"]),
        ("info none.xml", ["'none.xml'"]),
    ],
)
def test_mistakes_are_named(run, words, messages):
    Path("free.xml").write_text(FREE)
    code, out, err = run(words)
    assert code == 1
    for message in messages:
        assert message in err
    assert "Traceback" not in err
    assert not out


LACKS_TILT = {"q_tilt": None, "tau_tilt": None}


@pytest.mark.parametrize(
    ("columns", "options", "messages"),
    [
        ({"tau_tilt": None}, "", ["no torque of 'tilt'", "--lock"]),
        (LACKS_TILT, "", ["no position of 'tilt'", "--lock tilt=VALUE"]),
        ({"time": None}, "", ["no time", "--columns"]),
        ({"q_pan": pl.lit(np.nan)}, "", ["'pan' is nan in row 0"]),
        ({"q_pan": pl.lit("open")}, "", ["'open' in row 0 of column 'q_pan'"]),
        (
            {"q_pan": 180 / np.pi * pl.col("q_pan"), "q_tilt": 57.3 * pl.col("q_tilt")},
            "",
            ["--degrees", "edited.csv", "--force"],
        ),
        ({"time": 1000 * pl.col("time")}, "", ["--time-unit ms"]),
        ({"time": pl.col("time").reverse()}, "", ["does not increase"]),
    ],
)
def test_logs_that_cannot_be_right_are_refused(run, columns, options, messages):
    edited("edited.csv", **columns)
    code, out, err = run(f"identify scara.xml edited.csv {options}")
    assert code == 1
    for message in messages:
        assert message in err
    assert not out


def test_a_joint_that_stands_still_is_named_and_the_rest_identified(run):
    edited("still.csv", q_tilt=pl.lit(0.3))
    code, _, err = run("identify scara.xml still.csv --json a.json")
    assert code == 0, err
    assert "warning: still.csv: joint 'tilt' never moves" in err
    numbers = strictly(Path("a.json").read_text())
    assert numbers["parameters"]["tilt.fv"]["std"] is None
    assert "tilt.fv" in numbers["base"]["undetermined"]
    assert numbers["parameters"]["pan.fv"]["std"] > 0


def test_a_torque_that_is_constant_is_named(run):
    edited("dead.csv", tau_tilt=pl.lit(1.5))
    code, out, err = run("identify scara.xml dead.csv --json a.json")
    assert code == 0, err
    assert "warning: dead.csv: the torque of joint 'tilt' is constant, 1.5" in err
    assert "torque of tilt is hardly explained" in out


@pytest.mark.slow
def test_a_locked_joint_needs_no_columns(run):
    edited("two.csv", **LACKS_TILT)
    code, _, err = run("identify scara.xml two.csv --lock tilt=0.2 --json a.json")
    assert code == 0, err
    numbers = strictly(Path("a.json").read_text())
    assert list(numbers["validation"]["joints"]) == ["pan", "reach"]
    assert numbers["settings"]["lock"] == [["tilt", 0.2]]


def test_a_log_of_the_fit_is_no_test(run):
    words = "identify scara.xml motion0.csv --validate motion0.csv --json a.json"
    assert "is also fitted" in run(words)[2]


def test_traceback(folder):
    with pytest.raises(FileNotFoundError):
        main(["identify", "scara.xml", "none.csv", "--traceback"])


def test_info(run):
    code, out, err = run("info scara.xml")
    assert code == 0
    assert not err
    for name in (*ROBOT.body_names, *ROBOT.joint_names):
        assert name in out
    assert "11.1 kg" in out
    assert "physically consistent" in out


def test_info_of_what_is_amiss(run):
    """Nothing stops it: it tells what other commands would refuse."""
    Path("odd.xml").write_text("""
        <mujoco><worldbody><body name="drone"><freejoint name="floating"/>
          <geom type="box" size="0.1 0.1 0.02" mass="2"/>
          <body name="arm"><joint name="hinge"/>
            <inertial pos="0 0 0" mass="1" diaginertia="0.001 0.001 0.003"/>
        </body></body></worldbody></mujoco>""")
    # MuJoCo's own compiler refuses such an inertia.
    with pytest.raises(ValueError, match="inertia"):
        mujoco.MjModel.from_xml_path("odd.xml")
    code, out, err = run("info odd.xml")
    assert code == 0
    assert not err
    assert "free joint 'floating'" in out
    assert "drone: mass and inertia come from its geoms" in out
    assert "INCONSISTENT" in out
    assert "geoms that can collide" in out

    code, out, _ = run("info odd.xml --repair nearest")
    assert code == 0
    assert "INCONSISTENT" not in out
    assert "repaired" in out


@pytest.mark.menagerie
@pytest.mark.slow
def test_info_of_the_menagerie(menagerie, run):
    robots = sorted(menagerie.glob("*/scene*.xml"))
    assert robots
    for path in robots:
        code, out, err = run(f"info {path}")
        assert code == 0, err
        assert "degrees of freedom" in out


@pytest.mark.data
@pytest.mark.parametrize("name", ["tiago_arm/tiago.urdf", "staubli_tx40/tx40.urdf"])
def test_info_of_robots_with_impossible_bodies(data, run, name):
    code, out, _ = run(f"info {data / name}")
    assert code == 0
    assert "INCONSISTENT" in out


def test_without_a_command_it_says_what_there_is(run):
    code, _, err = run("")
    assert code == 2
    for command in ("identify", "info", "demo"):
        assert command in err


@pytest.mark.parametrize("command", ["", "identify", "info", "demo"])
def test_help(run, command):
    code, out, _ = run(f"{command} --help")
    assert code == 0
    assert "usage: jaxdyn" in out


def test_in_a_shell(folder):
    """The console script in a process of its own, where nothing is set up for tests."""
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="jaxdyn")
    assert script.value == "identification._cli:main"
    shell = f"""
import sys
from identification._cli import main
assert main(["info", {str(ARM7)!r}]) == 0
sys.exit(main(["identify", "scara.xml", "none.csv"]))
"""
    told = subprocess.run(
        [sys.executable, "-c", shell], capture_output=True, text=True, check=False
    )
    assert told.returncode == 1
    assert told.stderr == "error: There is no log file 'none.csv'.\n"
    assert "link7" in told.stdout


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.menagerie
def test_a_real_robot(data, menagerie, run):
    """Franka's Panda, from its file in the Menagerie and a published log."""
    robot = menagerie / "franka_emika_panda" / "panda_nohand.xml"
    log = data / "panda_gaz2019" / "exciting_traj_1_first12.6s.npz"
    words = f"identify {robot} {log} --out out.xml --json a.json --report a.html"
    code, _, err = run(words)
    assert code == 0, err
    numbers = strictly(Path("a.json").read_text())
    assert numbers["base"]["rank"] == 43
    assert numbers["validation"]["relative_error"] < 0.018
    assert numbers["validation"]["positive_definite"] == 1
    assert numbers["consistency"]["consistent"]
    assert Path("a.html").stat().st_size < 2e6
