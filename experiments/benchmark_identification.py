"""Does identification keep up with long logs, in time and in memory?

A made-up arm of seven joints moves and is recorded 1000 times a second. `reduce` turns
the samples into triangles: regressor and friction columns, low-pass filter, and QR
factorisation of blocks. It is timed, after compilation, against what bounds it from
below: `numpy.linalg.qr` of a matrix that exists already, of as many columns, and as many
rows as there are torques after decimation by ten. Beside that, the memory that a whole
identification takes beyond the log. Use a machine that does nothing else.

    python -m experiments.benchmark_identification              # some minutes
    python -m experiments.benchmark_identification --small      # some seconds, to try it
    python -m experiments.benchmark_identification --from-json  # table and figure anew

Answer, on two cores of an AMD EPYC: a million samples of seven joints reduce in 12 s, 7.8
times as long as the bare factorisation of 700 000 rows, and a whole identification from
them takes 380 MB beyond the log and the program.
"""

import argparse
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from ._race import available_cores, Prepared, race
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


NAME = "benchmark_identification"
RATE = 1000.0
"""Samples per second. [Hz]"""
CUTOFF = 5.0
"""Of the low-pass filter. [Hz]"""
SLOWER = 10
"""How many times longer than the bare factorisation the reduction may take."""
MEMORY = 500
"""How much memory an identification may take beyond the log. [MB]"""


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured, and how well."""

    samples: tuple[int, ...] = (62_500, 250_000, 1_000_000)
    """Lengths of the log."""
    repeats: int = 3
    """Rounds, each after a call that is not timed."""


SMALL = Settings(samples=(20_000,), repeats=1)


@dataclasses.dataclass(frozen=True)
class Task:
    """One contender, or a whole identification whose memory is watched."""

    what: Literal["reduce", "qr", "identify"]
    samples: int


def run(settings: Settings) -> list[dict]:
    """Time and memory, one row for each length of the log."""
    rows, cores = [], available_cores()
    for samples in settings.samples:
        say(f"{samples} samples")
        rivals = [(Task("reduce", samples), cores), (Task("qr", samples), cores)]
        reduced, factored = race(prepare, rivals, rounds=settings.repeats)
        (whole,) = race(prepare, [(Task("identify", samples), cores)], rounds=0)
        seconds, bare = reduced.seconds["call"], factored.seconds["call"]
        row = {
            "samples": samples,
            "columns": reduced.facts["columns"],
            "reduce_s": rounded(seconds),
            "qr_s": rounded(bare),
            "ratio": rounded(seconds / bare),
            **{key: rounded(value) for key, value in whole.facts.items()},
        }
        say("  " + ", ".join(f"{key} {value}" for key, value in row.items()))
        rows.append(row)
    return rows


def prepare(task: Task) -> Prepared:
    """Make a task ready; a whole identification is done at once."""
    if task.what == "identify":
        return Prepared({}, watched(task.samples))
    import identification as idn
    import jaxdyn

    model = jaxdyn.load(idn.ARM7)
    terms = ("inertia", "fv", "fc", "offset")
    unknowns = idn.Unknowns(model, terms, idn.free_bodies(model))
    base = idn.base_parameters(model, terms, bodies=unknowns.bodies)
    if task.what == "reduce":
        motion = idn.motion(recorded(model, task.samples), cutoff=CUTOFF)
        call = lambda: idn.reduce(unknowns, base, [motion], cutoff=CUTOFF)
    else:
        shape = (model.nv * task.samples // 10, base.rank)
        A = np.random.default_rng(0).standard_normal(shape)
        call = lambda: np.linalg.qr(A, mode="r")
    return Prepared({"call": (call, 1)}, {"columns": base.rank})


def recorded(model, samples: int):
    """A log of that many samples: a motion of ten seconds again and again, with noise."""
    import jax

    import identification as idn

    once = idn.fourier_trajectories(jax.random.key(0), 1, model, rate=RATE)
    with jax.enable_x64(True):
        along = jax.vmap(idn.joint_torque, in_axes=(None, 0, 0, 0))
        tau = np.asarray(along(model, once.q[0], once.qd[0], once.qdd[0]))
    rng = np.random.default_rng(0)

    def repeated(x, noise):
        y = np.resize(x, (samples, model.nv))
        y += noise * rng.standard_normal(y.shape)
        return y

    t = np.arange(samples) / RATE
    return idn.Log(t, repeated(once.q[0], 1e-5), repeated(tau, 0.1))


def watched(samples: int) -> dict:
    """What a whole identification takes: seconds and, where Linux tells it, memory."""
    import identification as idn
    import jaxdyn

    model = jaxdyn.load(idn.ARM7)
    log = recorded(model, samples)
    before = _memory("VmRSS")
    if before is not None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
    start = time.perf_counter()
    idn.identify(model, log)
    seconds, peak = time.perf_counter() - start, _memory("VmHWM")
    return {
        "identify_s": seconds,
        "log_MB": sum(x.nbytes for x in (log.t, log.q, log.tau)) / 1e6,
        "beyond_log_MB": None if before is None or peak is None else peak - before,
        "process_MB": peak,
    }


def _memory(field: str) -> float | None:
    """Memory of this process, as Linux calls it. [MB]"""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines[field].split()[0]) * 1024 / 1e6


def judged(rows: Sequence[dict]) -> list[tuple[str, bool]]:
    """Each goal, for the longest log, as a sentence, and whether it is reached."""
    row = max(rows, key=lambda row: row["samples"])
    what = f"{row['samples']} samples"
    verdicts = [
        (
            f"reducing {what} takes {number(row['ratio'])} × as long as the bare "
            f"factorisation, {SLOWER} × allowed",
            row["ratio"] <= SLOWER,
        )
    ]
    if row["beyond_log_MB"] is not None:
        text = f"identification from {what} takes {number(row['beyond_log_MB'])} MB"
        text += f" beyond the log and the program, {MEMORY} MB allowed"
        verdicts.append((text, row["beyond_log_MB"] < MEMORY))
    return verdicts


def report(record: dict) -> str:
    """The table, and the goals with what became of them."""
    rows = record["rows"]
    cells = [[str(row["samples"]), *(number(row[k]) for k in COLUMNS)] for row in rows]
    return "\n\n".join(
        (
            "# Time and memory of identification",
            f"Written by `python -m experiments.{NAME}`: {circumstances(record)}.",
            f"![Time and memory by length of the log]({NAME}.svg)",
            markdown(["samples", *COLUMNS.values()], cells),
            listed(judged(rows)),
        )
    )


COLUMNS = {
    "columns": "columns",
    "reduce_s": "`reduce` [s]",
    "qr_s": "`numpy.linalg.qr` [s]",
    "ratio": "ratio",
    "identify_s": "`identify`, compilation included [s]",
    "log_MB": "log [MB]",
    "beyond_log_MB": "peak beyond log and program [MB]",
    "process_MB": "whole process [MB]",
}


def plot(rows: Sequence[dict]):
    """Time and memory by the length of the log."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    time_panel, memory_panel = figure.subplots(1, 2)
    for panel, keys, unit in (
        (time_panel, ("reduce_s", "qr_s"), "time [s]"),
        (memory_panel, ("log_MB", "beyond_log_MB"), "memory [MB]"),
    ):
        for key in keys:
            x, y = [row["samples"] for row in rows], [row[key] for row in rows]
            if None not in y:
                panel.plot(x, y, "o-", label=COLUMNS[key].partition(" [")[0])
        panel.set(xlabel="samples", ylabel=unit, ylim=(0, None))
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    return figure


def main(arguments: Sequence[str] | None = None):
    """Measure, or read what was measured; print the table and write what was asked."""
    options = vars(_parser().parse_args(arguments))
    base = SMALL if options.pop("small") else Settings()
    out = options.pop("out")
    if options.pop("from_json"):
        found = kept(NAME, out or RESULTS)
    else:
        packages = ("jax", "numpy", "scipy", "jaxdyn")
        found = record(run, dataclasses.replace(base, **options), packages)
    print(report(found))
    if out or base is not SMALL:
        keep(NAME, found, report(found), plot(found["rows"]), out or RESULTS)


def _parser() -> argparse.ArgumentParser:
    question, answer = (__doc__ or "").split("\n\n")[:2]
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{NAME}", description=f"{question} {answer}"
    )
    default = Settings()
    parser.add_argument(
        "--samples",
        type=int,
        nargs="+",
        default=argparse.SUPPRESS,
        help=f"lengths of the log ({' '.join(map(str, default.samples))})",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=argparse.SUPPRESS,
        help=f"number of rounds ({default.repeats})",
    )
    parser.add_argument("--small", action="store_true", help="a trial of some seconds")
    parser.add_argument(
        "--out", type=Path, help=f"folder for JSON, table and figure ({RESULTS})"
    )
    parser.add_argument(
        "--from-json", action="store_true", help="measure nothing, read the folder's JSON"
    )
    return parser


if __name__ == "__main__":
    main()
