"""The command line: each command is a few calls of this package, and what they say."""

import argparse
import hashlib
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import jaxdyn

from ._arguments import parser, SPELLINGS
from ._demo import demo
from ._figures import extra
from ._holdout import hold_out
from ._identify import Identification, identify
from ._info import info
from ._inspect import inspect
from ._log import Log
from ._mount import mount
from ._read_log import read_log
from ._report import report
from ._results import as_json, as_text
from ._validate import validate, Validation


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The words after `jaxdyn`; those of the command line by default.

    Returns:
        The exit code: 0 only if the command did all that it was asked for.
    """
    command_line = parser({"identify": _identify, "info": _info, "demo": _demo})
    options = command_line.parse_args(arguments)
    if options.run is None:
        command_line.print_help(sys.stderr)
        return 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning  # ty: ignore[invalid-assignment]
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
    out = _out(options)
    _check_files(options)
    model = _model(options)
    progress(f"{options.robot}: {model.nb} bodies, {model.nv} joints")
    if out is not None:
        _rehearse(model, out, options.robot)
    logs = _read(options, model, options.logs, progress)
    if options.validate:
        held_out = _read(options, model, options.validate, progress)
    else:
        logs, held_out = hold_out(logs, options.hold_out)

    identified = _fitted(options, model, logs, progress)
    validation = validate(identified, held_out)
    progress("validated")
    print(as_text(identified, validation))
    _write(options, out, identified, validation)


def _info(options: argparse.Namespace):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `info` tells what is left out
        model = jaxdyn.load(options.robot, strict=False, repair=options.repair)
    print(info(model))


def _demo(options: argparse.Namespace):
    print(demo(options.out, seed=options.seed, progress=_Progress()))


def _out(options: argparse.Namespace) -> Path | None:
    """Where the identified robot goes, if anywhere."""
    if options.out or options.report or options.json:
        return options.out
    return Path(f"{options.robot.stem}_identified{options.robot.suffix}")


def _check_files(options: argparse.Namespace):
    """Find out before the long computation what would stop it, or fail after it."""
    for log in (*options.logs, *options.validate):
        if not log.is_file():
            raise FileNotFoundError(f"There is no log file {str(log)!r}.")
    for log in set(options.logs) & set(options.validate):
        _say(f"warning: {log} is to be validated with, but is also fitted.")
    for path, endings in (
        (options.report, (".html", ".htm")),
        (options.json, (".json",)),
    ):
        if path is not None and path.suffix.lower() not in endings:
            raise ValueError(f"{path} does not end in {endings[0]}. Rename it.")
    for path in (_out(options), options.report, options.json):
        if path is not None:
            _check_writable(path)
    if options.report:
        extra("jinja2")
        extra("matplotlib")


def _check_writable(path: Path):
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
    except OSError as error:
        raise OSError(
            f"{path} cannot be written: {error.strerror}. Choose another place."
        ) from error


def _rehearse(model: jaxdyn.Model, out: Path, source: Path):
    """Write the robot as it is, to nowhere, for what `jaxdyn.write` may refuse."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jaxdyn.write(model, Path(folder) / out.name, source=source)


def _model(options: argparse.Namespace) -> jaxdyn.Model:
    model = jaxdyn.load(
        options.robot,
        strict=options.strict,
        repair=options.repair,
        locked=dict(options.lock or ()),
    )
    if options.gravity:
        model = model.with_gravity(options.gravity)
    if options.base_orientation:
        model = mount(model, options.base_orientation)
    return model


def _read(
    options: argparse.Namespace,
    model: jaxdyn.Model,
    paths: Iterable[Path],
    progress: "_Progress",
) -> tuple[Log, ...]:
    """Logs, if nothing is wrong with them."""
    logs, wrong = [], []
    for path in paths:
        log = read_log(
            path,
            model,
            joints=options.joints,
            columns=dict(options.columns),
            degrees=options.degrees,
            gear=_gear_ratios(options.gear),
            time_unit=options.time_unit,
        )
        progress(f"{path}: {len(log)} samples, {log.t[-1]:.4g} s")
        logs.append(log)
        for finding in inspect(log, model):
            _say(str(finding))
            if finding.level == "error":
                wrong.append(path.name)
    if wrong and not options.force:
        raise ValueError(
            f"Something is wrong with {', '.join(dict.fromkeys(wrong))}: see above. "
            "Correct it, or go on with --force."
        )
    return tuple(logs)


def _gear_ratios(words: Sequence[float | tuple[str, float]] | None):
    """Ratios as `read_log` takes them."""
    named = dict(word for word in words or () if isinstance(word, tuple))
    if not words or not named:
        return words or 1.0
    if len(named) < len(words):
        raise ValueError("--gear takes either numbers or JOINT=NUMBER, not both.")
    return named


def _fitted(options, model, logs, progress) -> Identification:
    with warnings.catch_warnings(record=True) as caught:
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
    for warning in caught:  # remarks are printed with the results
        if str(warning.message) not in identified.remarks:
            warnings.warn(warning.message, stacklevel=2)
    return identified


def _write(
    options: argparse.Namespace,
    out: Path | None,
    identified: Identification,
    validation: Validation,
):
    """Write all results that were asked for, the other ones also if one is refused."""
    written, refused = "not asked for", None
    if out is not None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what it warns of is in its result
                written = jaxdyn.write(identified.model, out, source=options.robot)
            print(f"\nWrote {written}")
            if identified.offsets.any():
                print("  not expressed: offsets of the joints, see above")
        except ValueError as error:
            written, refused = f"not written. {error}", error
    inputs = {
        "robot": _digests([options.robot]),
        "logs": _digests(options.logs),
        "validate": _digests(options.validate),
    }
    elsewhere = {"run", "traceback", "out", "report", "json", *inputs}
    settings = {k: v for k, v in vars(options).items() if k not in elsewhere}
    if options.json:
        provenance = {"inputs": inputs, "settings": settings, "written": str(written)}
        text = as_json(identified, validation, provenance=provenance)
        options.json.write_text(f"{text}\n", encoding="utf-8")
        print(f"Wrote {options.json}")
    if options.report:
        report(
            identified,
            validation,
            options.report,
            title=f"{options.robot.stem}, identified",
            provenance={**inputs, "settings": settings, "written": str(written)},
        )
        print(f"Wrote {options.report}")
    if refused is not None:
        raise refused


def _digests(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file."""
    digests = {}
    for path in paths:
        with path.open("rb") as file:
            digests[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def _message(error: Exception) -> str:
    """What an error says, and how the command line spells what it recommends."""
    match error:
        case KeyError(args=[str(text)]):
            message = text
        case OSError(filename=str(name), strerror=str(reason)):
            message = f"{name}: {reason}"
        case ValueError() | OSError() | ModuleNotFoundError() | RuntimeError():
            message = str(error).strip()
        case _:
            message = (
                f"{type(error).__name__}: {error}. Run the command with --traceback for "
                "where it arose."
            )
    spelled = [
        f"{name} is {option}" for name, option in SPELLINGS.items() if name in message
    ]
    return (
        f"{message}\n  On the command line, {', '.join(spelled)}." if spelled else message
    )


def _show_warning(message, category, filename, lineno, file=None, line=None):
    _say(f"warning: {' '.join(str(message).split())}")


def _say(line: str):
    print(line, file=sys.stderr, flush=True)


class _Progress:
    """A line on stderr for each stage, with the seconds since the start."""

    def __init__(self):
        self._start = time.perf_counter()

    def __call__(self, line: str):
        seconds = time.perf_counter() - self._start
        _say(f"[{seconds:6.1f} s] {line}")
