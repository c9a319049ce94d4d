"""The words that the command line understands."""

import argparse
import importlib.metadata
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

from ._columns import TERMS, WIDTH
from ._log import SIGNALS


METHODS = ("physical", "wls", "ols", "optax")

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
of each log (--hold-out), which is then left out of the fit.

A log is a CSV, Parquet or NPZ file with a column `time` and, for each joint, columns
`q_<joint>` and `tau_<joint>`, and `qd_<joint>` and `qdd_<joint>` if they were measured;
numbered columns (`q0`, `q1`, …) and other words (`position`, `effort`, …) are understood.
Units are s, rad, m, N m and N. Joints that a log lacks must be locked.

Without --out, --report and --json, the identified robot is written to the current folder
as <ROBOT>_identified.xml or .urdf. Only a robot that can exist is written, such as the
method physical finds; reports and numbers are written of any. The exit code is 0 only if
all results were written.

Options that take several words accept spaces or commas between them. They end at the next
option, or at --, so that ROBOT and LOG come first:
  jaxdyn identify robot.xml a.csv b.csv --terms inertia fv --lock finger1=0 finger2=0
  jaxdyn identify --terms inertia fv -- robot.xml a.csv b.csv"""

SPELLINGS = {
    "strict=False": "--no-strict",
    "repair=": "--repair nearest",
    "columns=": "--columns SIGNAL=COLUMN,…",
    "joints=": "--joints JOINT,…",
    "time_unit=": "--time-unit",
    "`gear`": "--gear",
    "`free`": "--free BODY,…",
    "jaxdyn.lock": "--lock JOINT=VALUE",
    "cut-off": "--cutoff HZ",
}
"""How the command line spells what messages call by its name in Python."""

Run = Callable[[argparse.Namespace], None]


def parser(commands: Mapping[str, Run]) -> argparse.ArgumentParser:
    """The parser of the command line; `options.run` is the command that was asked for."""
    top = argparse.ArgumentParser(
        prog="jaxdyn",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = f"jaxdyn {importlib.metadata.version('jaxdyn')}"
    top.add_argument("--version", action="version", version=version)
    top.set_defaults(run=None)
    under = top.add_subparsers(metavar="COMMAND", title="commands")
    for name, (usage, help, description, add) in _COMMANDS.items():
        command = under.add_parser(
            name,
            usage=f"jaxdyn {name} {usage}",
            help=help,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=commands[name])
        add(command)
        command.add_argument(
            "--traceback", action="store_true", help="show where in the code errors arise"
        )
    return top


def _identify(command: argparse.ArgumentParser):
    add = command.add_argument
    _robot(command)
    add("logs", type=Path, nargs="+", metavar="LOG", help="logs to fit")

    data = command.add_argument_group("data")
    data.add_argument(
        "--validate",
        type=Path,
        nargs="+",
        default=[],
        metavar="LOG",
        help="logs to check the result on; by default the last part of each log",
    )
    data.add_argument(
        "--hold-out",
        type=float,
        default=1 / 3,
        metavar="SHARE",
        help="share of each log that is kept for that (default: 1/3)",
    )
    _several(
        data,
        "--joints",
        str,
        metavar="JOINT",
        help="joints of numbered columns, in their order",
    )
    data.add_argument(
        "--columns",
        type=_columns,
        nargs="+",
        default=[],
        metavar="SIGNAL=C,C,…",
        help=f"columns of a signal ({', '.join(SIGNALS)}) that has names of its own",
    )
    data.add_argument("--degrees", action="store_true", help="angles are in degrees")
    _several(
        data,
        "--gear",
        _gear,
        metavar="N",
        help="turns of the motor in a turn of the joint, if the log is the motors': one "
        "for all joints, one for each, or J=N for some",
    )
    data.add_argument(
        "--time-unit", choices=("s", "ms", "us", "ns"), default="s", help="default: s"
    )
    data.add_argument(
        "--force", action="store_true", help="go on although a log looks wrong"
    )

    robot = command.add_argument_group("robot")
    _several(
        robot,
        "--lock",
        _pair,
        metavar="J=V",
        help="hold joints that do not move at these positions [rad or m]",
    )
    robot.add_argument(
        "--gravity",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="free fall in world axes (default: the file's) [m/s²]",
    )
    robot.add_argument(
        "--base-orientation",
        type=float,
        nargs="+",
        metavar="A",
        help="how the base is mounted: roll pitch yaw [rad], or a quaternion w x y z",
    )
    robot.add_argument(
        "--no-strict",
        dest="strict",
        action="store_false",
        help="leave out what the file has and is not represented, with a warning",
    )

    fit = command.add_argument_group("fit")
    _several(
        fit,
        "--terms",
        _term,
        default=["inertia", "fv", "fc", "offset"],
        metavar="TERM",
        help=f"what to identify, of {', '.join(TERMS)} (default: all but Ia)",
    )
    fit.add_argument(
        "--cutoff",
        type=_cutoff,
        default=5.0,
        metavar="HZ",
        help="where the low-pass filter of torques and columns has gain ½ (default: 5); "
        "none for logs that hold accelerations and are not to be filtered",
    )
    fit.add_argument(
        "--method",
        choices=METHODS,
        default="physical",
        help="estimator (default: physical, whose bodies are all consistent)",
    )
    _several(
        fit,
        "--free",
        str,
        metavar="BODY",
        help="bodies to identify (default: each that a joint moves)",
    )
    fit.add_argument(
        "--width",
        type=float,
        default=WIDTH,
        metavar="SPEED",
        help="speed within which dry friction changes its sign "
        f"(default: {WIDTH}) [rad/s or m/s]",
    )

    results = command.add_argument_group("results").add_argument
    results("--out", type=Path, metavar="FILE", help="the identified robot")
    results("--report", type=Path, metavar="FILE.html", help="a page of figures, tables")
    results("--json", type=Path, metavar="FILE.json", help="all numbers, for programs")


def _info(command: argparse.ArgumentParser):
    _robot(command)


def _demo(command: argparse.ArgumentParser):
    command.add_argument(
        "--out",
        type=Path,
        default=Path("jaxdyn-demo"),
        metavar="DIR",
        help="folder for the results (default: jaxdyn-demo)",
    )
    command.add_argument(
        "--seed", type=int, default=0, help="another one makes another true robot"
    )


def _robot(command: argparse.ArgumentParser):
    command.add_argument(
        "robot", type=Path, metavar="ROBOT", help="the robot's file, MJCF or URDF"
    )
    command.add_argument(
        "--repair",
        choices=("nearest",),
        help="replace inertias that no rigid body has by the nearest that one has",
    )


_COMMANDS = {
    "identify": (
        "ROBOT LOG [LOG ...] [options]",
        "from a robot file and logs to an identified robot",
        IDENTIFY,
        _identify,
    ),
    "info": (
        "ROBOT [options]",
        "what a robot file holds, and what is wrong with it",
        "Bodies, masses and joints of a robot; what the file lacks, what is refused or "
        "set\naside, and whether each body is physically consistent.",
        _info,
    ),
    "demo": (
        "[options]",
        "see it all at work, on a robot that is made up",
        "Simulate a robot that differs from its file, with friction and sensor noise, "
        "identify it\nfrom its logs, and leave tables, plots and the identified robot in "
        "a folder.",
        _demo,
    ),
}


def _several(group, option: str, kind: Callable[[str], object], **settings):
    """An option of several words, with spaces or commas between them."""

    def words(text: str) -> list[object]:
        return [kind(word) for word in text.split(",") if word]

    group.add_argument(option, type=words, nargs="+", action=_Joined, **settings)


class _Joined(argparse.Action):
    """Lists of words, joined; the option may come again."""

    def __call__(self, parser, namespace, values, option_string=None):
        """Append the words to those that came before, if any."""
        before = getattr(namespace, self.dest)
        before = [] if before is self.default else before
        setattr(namespace, self.dest, [*before, *itertools.chain(*values)])


def _term(word: str) -> str:
    if word not in TERMS:
        raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(TERMS)}")
    return word


def _cutoff(word: str) -> float | None:
    if word == "none":
        return None
    try:
        return float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is no frequency in Hz") from None


def _columns(text: str) -> tuple[str, list[str]]:
    signal, equals, names = text.partition("=")
    if not equals or signal not in SIGNALS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not SIGNAL=COLUMN,COLUMN,… with one of {', '.join(SIGNALS)}"
        )
    return signal, [name for name in names.split(",") if name]


def _pair(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        if name:
            return name, float(value)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not JOINT=NUMBER")


def _gear(text: str) -> float | tuple[str, float]:
    try:
        return float(text)
    except ValueError:
        return _pair(text)
