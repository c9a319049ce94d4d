"""The command line: a few calls of this package each, and what they say."""

import argparse
import importlib.metadata
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import jaxdyn

from ._columns import Term, TERMS
from ._demo import demo
from ._holdout import hold_out
from ._identify import identify
from ._info import info
from ._mount import mount
from ._read_log import read_log
from ._report import report
from ._summary import summary, tables
from ._validate import validate


DESCRIPTION = """\
Identify robots: from a robot file and a log of its motion to the masses, inertias and
frictions of its joints, checked on data that the fit has not seen."""

IDENTIFY = """\
Identify a robot from logs of time, joint positions and joint torques, and check the
result on data that the fit has not seen: the logs after --validate, else the last part
of each log (see --holdout), which is then left out of the fit.

Logs are CSV, Parquet or NPZ: a column `time`, and for each joint `q_<joint>`,
`tau_<joint>` and, if they were measured, `qd_<joint>` and `qdd_<joint>`. Units are s,
rad, m, N m and N. Joints that a log lacks must be locked (--lock).

What is written: --out, --report and --json say so; without any of them the identified
robot goes to <ROBOT>_identified.<xml or urdf> in the current folder."""

EXAMPLES = """\
examples:
  jaxdyn demo                                       see all of it at work, on made-up data
  jaxdyn info panda.xml                             what a robot file holds
  jaxdyn identify panda.xml log.csv --report a.html from a log to an identified robot"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0 only if it did what it is for."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except KeyboardInterrupt:
        print("jaxdyn: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if options.traceback:
            raise
        print(f"jaxdyn: error: {_message(error)}", file=sys.stderr)
        return 1
    return 0


def _identify(options: argparse.Namespace):
    progress = _Progress()
    source = options.robot
    model = _load(options)
    progress(f"{source.name}: {model.nb} bodies, {model.nv} joints")
    read = lambda path: read_log(
        path,
        model,
        joints=options.joints,
        columns=dict(options.columns),
        degrees=options.degrees,
        gear=options.gear,
        time_unit=options.time_unit,
    )
    logs = [read(path) for path in options.logs]
    if options.validate:
        held_out = [read(path) for path in options.validate]
    else:
        logs, held_out = hold_out(logs, options.holdout)
    ...


def _load(options: argparse.Namespace) -> jaxdyn.Model:
    model = jaxdyn.load(options.robot, strict=options.strict, repair=options.repair)
    model = jaxdyn.lock(model, dict(options.lock)) if options.lock else model
    model = model.with_gravity(options.gravity) if options.gravity else model
    if options.base_orientation:
        model = mount(model, options.base_orientation)
    return model
