"""The command line: each command is a few calls of this package, and what they say."""

import argparse
import importlib.metadata
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import jaxdyn

from ._demo import demo
from ._holdout import hold_out
from ._identify import identify
from ._info import info
from ._inspect import inspect
from ._log import Log
from ._mount import mount
from ._read_log import read_log
from ._report import require_extra
from ._results import as_text
from ._validate import validate


DESCRIPTION = """\
Identify robots: from a robot file and logs of its motion to the masses, inertias and
frictions of its joints, checked on data that the fit has not seen."""

EXAMPLES = """\
examples:
  jaxdyn demo                                        see it all at work, on made-up data
  jaxdyn info panda.xml                              what a robot file holds
  jaxdyn identify panda.xml log.csv --report a.html  from a log to an identified robot

Each command is a function of Python: identification.demo, .info, .identify."""

IDENTIFY = """\
Identify a robot from logs of time, joint positions and joint torques, and check the
result on data that the fit has not seen: the logs after --validate, else the last part
of each log (--holdout), which is then left out of the fit.

A log is a CSV, Parquet or NPZ file with a column `time` and, for each joint, columns
`q_<joint>` and `tau_<joint>`, and `qd_<joint>` and `qdd_<joint>` if they were measured;
numbered columns (`q0`, `q1`, …) and other words (`position`, `effort`, …) are understood.
Units are s, rad, m, N m and N. Joints that a log lacks must be locked.

Without --out, --report and --json, the identified robot is written to the current folder
as <ROBOT>_identified.xml or .urdf. The exit code is 0 only if all results were written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The words after `jaxdyn`; those of the command line by default.

    Returns:
        The exit code: 0 only if the command did all that it was asked for.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.run is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            options.run(options)
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except Exception as error:
        if options.traceback:
            raise
        _say(f"error: {_message(error)}")
        return 1
    return 0


def _identify(options: argparse.Namespace):
    progress = _Progress()
    if options.report:
        require_extra()
    model = _load(options)
    progress(f"{options.robot}: {model.nb} bodies, {model.nv} joints that move")
    logs, held_out = _logs(options, model, progress)

    identified = identify(
        model,
        logs,
        terms=options.terms,
        cutoff=options.cutoff,
        method=options.method,
        free=options.free,
        width=options.width,
        progress=progress,
    )
    validation = validate(identified, held_out)
    print(as_text(identified, validation))
    _write(options, identified, validation, progress)


def _load(options: argparse.Namespace) -> jaxdyn.Model:
    model = jaxdyn.load(options.robot, strict=options.strict, repair=options.repair)
    if options.lock:
        model = jaxdyn.lock(model, dict(options.lock))
    if options.gravity:
        model = model.with_gravity(options.gravity)
    if options.base_orientation:
        model = mount(model, options.base_orientation)
    return model


def _logs(options, model, progress) -> tuple[Sequence[Log], Sequence[Log]]:
    """Logs to fit, and logs to validate with."""

    def read(path: Path) -> Log:
        log = read_log(
            path,
            model,
            joints=options.joints,
            columns=dict(options.columns),
            degrees=options.degrees,
            gear=_gear(options.gear),
            time_unit=options.time_unit,
        )
        progress(f"{path}: {len(log)} samples, {log.t[-1]:.4g} s")
        findings = inspect(log, model)
        for finding in findings:
            _say(str(finding))
        if any(finding.level == "error" for finding in findings) and not options.force:
            raise ValueError(
                f"{path} cannot be right, see above. Correct it, or use --force."
            )
        return log

    logs = [read(path) for path in options.logs]
    if options.validate:
        return logs, [read(path) for path in options.validate]
    return hold_out(logs, options.holdout)


def _write(options, identified, validation, progress): ...


def _info(options: argparse.Namespace):
    print(info(jaxdyn.load(options.robot, strict=False, repair=options.repair)))


def _demo(options: argparse.Namespace):
    require_extra()
    print(demo(options.out, seed=options.seed, progress=_Progress()))


class _Progress:
    """A line on stderr for each stage, with the seconds since the start."""

    def __init__(self):
        self._start = time.perf_counter()

    def __call__(self, line: str):
        seconds = time.perf_counter() - self._start
        print(f"[{seconds:6.1f} s] {line}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jaxdyn",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = importlib.metadata.version("jaxdyn")
    parser.add_argument("--version", action="version", version=f"jaxdyn {version}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    _identify_parser(commands)
    _info_parser(commands)
    _demo_parser(commands)
    return parser


def _command(commands, name, run, help, description=None) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=help,
        description=description or help,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--traceback", action="store_true", help="show where in the code an error arose"
    )
    return parser
