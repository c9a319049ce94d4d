"""Experiments run, say what they found, and their results are those that are shown."""

import importlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from experiments import benchmark_dynamics, benchmark_identification
from experiments._contenders import Task, TOOLS
from experiments._race import available_cores, race
from experiments._record import kept, RESULTS
from experiments._robots import joint_names, Robot, ROBOTS, spec, urdf


@pytest.fixture(scope="module")
def dynamics(tmp_path_factory):
    """Folder of a trial of the dynamics benchmark."""
    folder = tmp_path_factory.mktemp("dynamics")
    benchmark_dynamics.main(["--small", "--out", str(folder)])
    return folder


def row(robot, function, tool, batch_us, **more):
    """A row as a race leaves it."""
    what = {"robot": robot, "function": function, "tool": tool, "batch_us": batch_us}
    rest = {"precision": "float64", "cores": 1, "one_us": None, "compile_s": None}
    return what | rest | more


def test_dynamics_benchmark_measures_all_that_it_was_asked(dynamics):
    rows = kept(benchmark_dynamics.NAME, dynamics)["rows"]
    tools, many = ("jaxdyn", "pinocchio"), len(available_cores())
    asked = [("rnea", tool, cores) for cores in sorted({1, many}) for tool in tools]
    assert [(r["function"], r["tool"], r["cores"]) for r in rows] == asked
    for r in rows:
        assert r["error"] is None
        assert r["batch_us"] > 0
        assert r["one_us"] > 0
        assert r["difference"] <= 1e-12
        assert (r["compile_s"] is not None) == (r["tool"] == "jaxdyn")


def test_dynamics_benchmark_is_written_anew_from_its_json(dynamics, tmp_path):
    json = f"{benchmark_dynamics.NAME}.json"
    shutil.copy(dynamics / json, tmp_path)
    benchmark_dynamics.main(["--from-json", "--out", str(tmp_path)])
    for file in dynamics.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name
    assert len(list(dynamics.iterdir())) == 3


def test_readme_shows_the_benchmark_and_stays_otherwise(dynamics, tmp_path):
    record, readme = kept(benchmark_dynamics.NAME, dynamics), tmp_path / "README.md"
    start, stop = benchmark_dynamics.MARKS
    readme.write_text(f"before\n{start}\nsomething old\n{stop}\nafter\n")
    benchmark_dynamics.write_readme(record, readme)
    once = readme.read_text()
    benchmark_dynamics.write_readme(record, readme)
    assert readme.read_text() == once
    summary = benchmark_dynamics.summary(record)
    assert once == f"before\n{start}\n{summary}\n{stop}\nafter\n"
    assert summary.count("Franka Panda") == 1
    readme.write_text("before")
    with pytest.raises(ValueError, match="no place for the benchmark"):
        benchmark_dynamics.write_readme(record, readme)


def test_goals_are_judged():
    rows = [
        row("panda", "rnea", "jaxdyn", 1.0, compile_s=1.6),
        row("panda", "rnea", "pinocchio", 4.0),
        row("panda", "crba", "jaxdyn", 1.0, compile_s=9.0),
        row("panda", "crba", "pinocchio", 1.9),
        row("panda", "aba", "jaxdyn", 1.0, precision="float32"),
        row("panda", "aba", "pinocchio", 1.0),
    ]
    assert benchmark_dynamics.judged(rows) == [
        ("RNEA of the panda 4.00 × Pinocchio's speed, 4 × wanted", True),
        ("CRBA of the panda 1.90 × Pinocchio's speed, 2 × wanted", False),
        ("RNEA of the panda compiles in 1.60 s, 1.5 s wanted", False),
    ]


def test_different_results_are_not_timed():
    tasks = [Task("panda", "rnea", "pinocchio"), Task("panda", "rnea", "jaxdyn")]
    facts = [{"sample": np.array([1.0, 2.0])}, {"sample": np.array([1.0, 2.001])}]
    with pytest.raises(RuntimeError, match=r"differ by 0\.0005 from those of pinocchio"):
        benchmark_dynamics.differences(tasks, facts)


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
def test_libraries_read_the_same_robot(robot: Robot):
    pinocchio = pytest.importorskip("pinocchio")
    text = urdf(robot)
    theirs, ours = pinocchio.buildModelFromXML(text), spec(robot).compile()
    names = [ours.joint(j).name for j in range(ours.njnt)]
    assert names == list(theirs.names)[1:] == joint_names(text)
    masses = [inertia.mass for inertia in theirs.inertias]
    np.testing.assert_allclose(ours.body_mass[1:], masses[1:], rtol=1e-12)


def test_every_library_has_tasks():
    for tool in TOOLS:
        assert Task("panda", "rnea", tool).supported
    assert not Task("panda", "regressor", "mjx").supported
    assert not Task("panda", "crba", "pinocchio", cores=2).supported
    assert not Task("panda", "rnea", "mujoco", "float32").supported


def test_race_goes_on_without_what_is_not_installed():
    cores = available_cores()
    (result,) = race(importlib.import_module, [("no_such_library", cores)], rounds=1)
    assert result.facts == {"error": "no_such_library is not installed"}
    assert result.seconds == {}


def test_race_says_which_process_died():
    with pytest.raises(RuntimeError, match="The process of 3 ended with code 3"):
        race(os._exit, [(3, available_cores())], rounds=1)


def test_processes_start_without_jax():
    """Each sets JAX up for itself, with flags that are read at the first import."""
    code = "import experiments.benchmark_dynamics, sys; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_identification_benchmark(tmp_path):
    folders = tmp_path / "once", tmp_path / "twice"
    name = benchmark_identification.NAME
    benchmark_identification.main(["--small", "--out", str(folders[0])])
    shutil.copytree(folders[0], folders[1])
    benchmark_identification.main(["--from-json", "--out", str(folders[1])])
    for file in folders[0].iterdir():
        assert (folders[1] / file.name).read_bytes() == file.read_bytes(), file.name
    (r,) = kept(name, folders[0])["rows"]
    assert r["columns"] == 64
    assert r["ratio"] == pytest.approx(r["reduce_s"] / r["qr_s"], rel=1e-2)
    assert r["log_MB"] == pytest.approx(15 * 8 * r["samples"] / 1e6)
    assert 0 < r["beyond_log_MB"] < benchmark_identification.MEMORY


@pytest.mark.parametrize(
    "experiment",
    [
        experiment
        for experiment in (benchmark_dynamics, benchmark_identification)
        if (RESULTS / f"{experiment.NAME}.json").exists()
    ],
    ids=lambda experiment: experiment.NAME,
)
def test_results_that_are_kept_are_those_shown(experiment, tmp_path):
    record = kept(experiment.NAME, RESULTS)
    shown = (RESULTS / f"{experiment.NAME}.md").read_text()
    assert shown == experiment.report(record) + "\n"
    if experiment is benchmark_dynamics:
        readme = shutil.copy(benchmark_dynamics.README, tmp_path)
        benchmark_dynamics.write_readme(record, tmp_path / "README.md")
        assert benchmark_dynamics.README.read_text() == (tmp_path / readme).read_text()
