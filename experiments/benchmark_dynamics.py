"""How fast do jaxdyn, Pinocchio, MuJoCo, MJX and frax compute robot dynamics on a CPU?

Four functions of two robots: how long each takes to compile, for one sample, and for each
sample of a batch. The libraries race function by function, each in a process of its own
on the same cores, in turns, after their results have been compared. Use a machine that
does nothing else.

    python -m experiments.benchmark_dynamics               # about a quarter of an hour
    python -m experiments.benchmark_dynamics --small       # some seconds, to try it
    python -m experiments.benchmark_dynamics --from-json   # tables and figure anew

Answer, for double precision on one core of an AMD EPYC that was busy besides: Panda's
RNEA, CRBA, ABA and regressor take a 6.7th, 3.3rd, 4.6th and 2.8th of Pinocchio's time, a
humanoid's a 5.6th, 1.8th, 4.0th and 1.35th. It is 10 to 57 times faster than MJX and frax
in RNEA, 4 to 28 times in CRBA and 8 to 23 times in ABA. Pinocchio is far faster for one
call from Python, frax compiles faster.
"""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ._contenders import Function, Precision, prepare, Task, TOOLS
from ._race import available_cores, race, Result
from ._record import (
    circumstances,
    keep,
    kept,
    listed,
    markdown,
    number,
    record,
    RESULTS,
    rounded,
    say,
)
from ._robots import ROBOTS


NAME = "benchmark_dynamics"
README = Path(__file__).parents[1] / "README.md"
MARKS = "<!-- benchmark -->", "<!-- /benchmark -->"
"""Between these lines the README has what `summary` says."""

FUNCTIONS: dict[Function, str] = {
    "rnea": "inverse dynamics (RNEA)",
    "crba": "mass matrix (CRBA)",
    "aba": "forward dynamics (ABA)",
    "regressor": "torque regressor",
}
AGREEMENT: dict[Precision, float] = {"float64": 1e-9, "float32": 1e-3}
"""Largest difference between results, relative to the largest entry."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured, and how well."""

    robots: tuple[str, ...] = tuple(ROBOTS)
    functions: tuple[Function, ...] = tuple(FUNCTIONS)
    tools: tuple[str, ...] = tuple(TOOLS)
    precisions: tuple[Precision, ...] = ("float64", "float32")
    cores: tuple[int, ...] = tuple(sorted({1, len(available_cores())}))
    """One race for each number."""
    batch: int = 4096
    """Number of samples."""
    repeats: int = 7
    """Rounds; each takes the shortest of three batches."""


SMALL = Settings(
    robots=("panda",),
    functions=("rnea",),
    tools=("jaxdyn", "pinocchio"),
    precisions=("float64",),
    batch=256,
    repeats=1,
)


def run(settings: Settings) -> list[dict]:
    """Race the libraries: one row for each function of each robot in each library."""
    rows = []
    for robot in settings.robots:
        for function in settings.functions:
            tasks = [
                task
                for cores in settings.cores
                for precision in settings.precisions
                for tool in settings.tools
                if (
                    task := Task(robot, function, tool, precision, cores, settings.batch)
                ).supported
            ]
            say(f"{robot}, {FUNCTIONS[function]}: {len(tasks)} contenders")
            rows += _race(tasks, settings.repeats)
    return rows


def _race(tasks: Sequence[Task], repeats: int) -> list[dict]:
    apart: list[float | None] = []

    def agree(facts: list[dict]):
        apart.extend(differences(tasks, facts))

    cores = available_cores()
    contenders = [(task, cores[: task.cores]) for task in tasks]
    results = race(prepare, contenders, rounds=repeats, check=agree)
    rows = [_row(*row) for row in zip(tasks, results, apart, strict=True)]
    for row in rows:
        what = f"{row['tool']}, {row['precision']}, cores: {row['cores']}"
        say(f"  {what:32}" + (row["error"] or f"{number(row['batch_us'])} µs"))
    return rows


def differences(tasks: Sequence[Task], facts: Sequence[dict]) -> list[float | None]:
    """How far each contender's results are from the first's, relative to the largest.

    Raises:
        RuntimeError: If some are others, so that comparing speeds would mean nothing.
    """
    told = [i for i, fact in enumerate(facts) if "sample" in fact]
    apart: list[float | None] = [None] * len(tasks)
    for i in told:
        expected, sample = facts[told[0]]["sample"], facts[i]["sample"]
        scale = max(1, np.abs(expected).max())
        apart[i] = difference = float(np.abs(sample - expected).max() / scale)
        if not difference <= AGREEMENT[tasks[i].precision]:
            raise RuntimeError(
                f"The results of {tasks[i]} differ by {difference:.2g} from those of "
                f"{tasks[told[0]].tool}, more than {AGREEMENT[tasks[i].precision]:g}: "
                "they do not compute the same, and their speeds cannot be compared."
            )
    return apart


def _row(task: Task, result: Result, difference: float | None) -> dict:
    facts, seconds = result
    return {
        "robot": task.robot,
        "function": task.function,
        "tool": task.tool,
        "precision": task.precision,
        "cores": task.cores,
        "batch_us": rounded(_micro(seconds.get("batch"), task.batch)),
        "one_us": rounded(_micro(seconds.get("one"))),
        "compile_s": rounded(facts.get("compile_s")),
        "tile": facts.get("tile"),
        "difference": rounded(difference, 2),
        "error": facts.get("error"),
    }


def _micro(seconds: float | None, parts: int = 1) -> float | None:
    return None if seconds is None else 1e6 * seconds / parts


class Goal(NamedTuple):
    """What jaxdyn ought to reach in double precision on one core."""

    robot: str
    function: Function
    wanted: float
    """How many times faster in a batch; or, without a rival, seconds to compile it."""
    rival: str | None = None


GOALS = (
    Goal("panda", "rnea", 4, "pinocchio"),
    Goal("panda", "aba", 3.5, "pinocchio"),
    Goal("panda", "crba", 2, "pinocchio"),
    Goal("panda", "regressor", 2.5, "pinocchio"),
    Goal("humanoid", "rnea", 3, "pinocchio"),
    Goal("humanoid", "aba", 3, "pinocchio"),
    Goal("humanoid", "crba", 1.5, "pinocchio"),
    Goal("humanoid", "regressor", 1, "pinocchio"),
    *(
        Goal(robot, function, wanted, rival)
        for robot in ROBOTS
        for rival in ("mjx", "frax")
        for function, wanted in (("rnea", 10), ("crba", 7), ("aba", 7))
    ),
    Goal("panda", "rnea", 1.5),
    Goal("panda", "aba", 3),
)


def judged(rows: Sequence[dict]) -> list[tuple[str, bool]]:
    """Each goal that was measured, as a sentence, and whether it is reached."""
    verdicts = []
    for goal in GOALS:
        chosen = {"robot": goal.robot, "function": goal.function}
        ours = _find(rows, tool="jaxdyn", **chosen)
        theirs = ours if goal.rival is None else _find(rows, tool=goal.rival, **chosen)
        if not (ours.get("batch_us") and theirs.get("batch_us")):
            continue
        what = f"{_short(goal.function)} of the {goal.robot}"
        if goal.rival is None:
            found = ours["compile_s"]
            text = f"{what} compiles in {number(found)} s, {goal.wanted:g} s wanted"
            verdicts.append((text, found <= goal.wanted))
        else:
            found = theirs["batch_us"] / ours["batch_us"]
            rival = f"{TOOLS[goal.rival].title}'s speed, {goal.wanted:g} × wanted"
            verdicts.append((f"{what} {number(found)} × {rival}", found >= goal.wanted))
    return verdicts


def _short(function: Function) -> str:
    return function if function == "regressor" else function.upper()


def _find(rows: Sequence[dict], **wanted) -> dict:
    """The row with these entries, in double precision on one core unless said."""
    wanted = {"precision": "float64", "cores": 1} | wanted
    return next((row for row in rows if wanted.items() <= row.items()), {})


def summary(record: dict) -> str:
    """What the README says: time in a batch, and what is not reached."""
    verdicts = judged(record["rows"])
    missed = [text for text, reached in verdicts if not reached]
    machine, settings = record["machine"]["processor"], record["settings"]
    return "\n\n".join(
        (
            f"µs per evaluation in a batch of {settings['batch']}, in double precision, "
            f"on one core unless said ({machine}, JAX {record['versions']['jax']}, best "
            f"of {settings['repeats']} rounds):",
            _table(record, "batch_us", cores=settings["cores"]),
            f"Not reached, of {len(verdicts)} goals: {'; '.join(missed)}."
            if missed
            else f"All {len(verdicts)} goals for speed and compile time are reached.",
        )
    )


def report(record: dict) -> str:
    """All tables, and all goals with what became of them."""
    sections = {
        "Single precision\n\nµs per evaluation in a batch:": _table(
            record, "batch_us", "float32", record["settings"]["cores"]
        ),
        "One call\n\nµs, in double precision, from Python:": _table(record, "one_us"),
        "Compilation\n\ns to trace and compile the batch:": _table(record, "compile_s"),
        "Goals\n\nIn double precision, on one core:": listed(judged(record["rows"])),
    }
    return "\n\n".join(
        (
            "# Speed of robot dynamics on a CPU",
            f"Written by `python -m experiments.{NAME}`: {circumstances(record)}.",
            f"![Time per evaluation]({NAME}.svg)",
            summary(record),
            *(f"## {head}\n\n{text}" for head, text in sections.items() if text),
        )
    )


def _table(
    record: dict,
    value: str,
    precision: Precision = "float64",
    cores: Sequence[int] = (1,),
) -> str:
    """One line for each function of each robot, one column for each contender.

    Contenders of whom nothing is known are left out; nothing is left without any.
    """
    rows, columns = record["rows"], []
    whats = dict.fromkeys((row["robot"], row["function"]) for row in rows)
    for count in cores:
        for key, tool in TOOLS.items():
            who = {"tool": key, "precision": precision, "cores": count}
            title = tool.title if count == 1 else f"{tool.title}, {count} cores"
            cells = [
                _find(rows, robot=robot, function=function, **who).get(value)
                for robot, function in whats
            ]
            if any(cells):
                columns.append([title, *map(number, cells)])
    if not columns:
        return ""
    names = [f"{ROBOTS[robot].title}: {FUNCTIONS[what]}" for robot, what in whats]
    header, *lines = zip(["", *names], *columns, strict=True)
    return markdown(header, lines)


def plot(rows: Sequence[dict]):
    """Time per evaluation in a batch, in double precision on one core."""
    from matplotlib.figure import Figure

    robots = list(dict.fromkeys(row["robot"] for row in rows))
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    panels = figure.subplots(1, len(robots), sharey=True, squeeze=False)[0]
    for panel, robot in zip(panels, robots, strict=True):
        functions = list(
            dict.fromkeys(row["function"] for row in rows if row["robot"] == robot)
        )
        for k, (key, tool) in enumerate(TOOLS.items()):
            found = [_find(rows, robot=robot, function=f, tool=key) for f in functions]
            heights = [row.get("batch_us") or np.nan for row in found]
            places = np.arange(len(functions)) + 0.16 * (k - 2)
            panel.bar(places, heights, width=0.15, label=tool.title)
        panel.set_xticks(range(len(functions)), map(_short, functions))
        panel.set(title=ROBOTS[robot].title, yscale="log", ylim=(0.1, 100))
        panel.set(xlim=(-0.5, len(functions) - 0.5))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel("time per evaluation [µs]")
    panels[0].legend(fontsize="small", ncols=2)
    return figure


def write_readme(record: dict, readme: Path = README):
    """Replace what the README says of speed."""
    text, (start, stop) = readme.read_text(), MARKS
    if text.count(start) != 1 or text.count(stop) != 1:
        raise ValueError(
            f"{readme} has no place for the benchmark: it needs the lines {start} and "
            f"{stop}, each once."
        )
    before, rest = text.split(start)
    after = rest.split(stop)[1]
    readme.write_text(f"{before}{start}\n{summary(record)}\n{stop}{after}")


def main(arguments: Sequence[str] | None = None):
    """Measure, or read what was measured; print the tables and write what was asked."""
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    base = SMALL if options.pop("small") else Settings()
    out, readme = options.pop("out"), options.pop("write_readme")
    if readme and base is SMALL:
        parser.error("the README shows no trials: use --write-readme without --small")
    if options.pop("from_json"):
        found = kept(NAME, out or RESULTS)
    else:
        packages = ("jax", *(tool.package for tool in TOOLS.values()))
        found = record(run, dataclasses.replace(base, **options), packages)
    print(report(found))
    if out or base is not SMALL:
        keep(NAME, found, report(found), plot(found["rows"]), out or RESULTS)
    if readme:
        write_readme(found)


def _parser() -> argparse.ArgumentParser:
    question, answer = (__doc__ or "").split("\n\n")[:2]
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{NAME}", description=f"{question} {answer}"
    )
    counts = range(1, len(available_cores()) + 1)
    for name, kind, choices, text in (
        ("robots", str, ROBOTS, "which robots"),
        ("functions", str, FUNCTIONS, "what is computed"),
        ("tools", str, TOOLS, "by which libraries"),
        ("precisions", str, AGREEMENT, "in which precisions"),
        ("cores", int, counts, "on how many cores; a race for each number"),
    ):
        parser.add_argument(
            f"--{name}",
            type=kind,
            choices=choices,
            nargs="+",
            default=argparse.SUPPRESS,
            help=f"{text} (all: {' '.join(map(str, choices))})",
        )
    for name, text in (("batch", "samples"), ("repeats", "rounds of the race")):
        parser.add_argument(
            f"--{name}",
            type=int,
            default=argparse.SUPPRESS,
            help=f"number of {text} ({getattr(Settings(), name)})",
        )
    parser.add_argument("--small", action="store_true", help="a trial of some seconds")
    parser.add_argument(
        "--out", type=Path, help=f"folder for JSON, tables and figure ({RESULTS})"
    )
    parser.add_argument(
        "--from-json", action="store_true", help="measure nothing, read the folder's JSON"
    )
    parser.add_argument(
        "--write-readme", action="store_true", help="put the summary into README.md"
    )
    return parser


if __name__ == "__main__":
    main()
