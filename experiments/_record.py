"""What an experiment leaves behind: rows, what they depend on, tables and a figure."""

import dataclasses
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any


RESULTS = Path(__file__).parent / "results"
"""Folder of the results that are kept."""


def record(
    run: Callable[[Any], list[dict]], settings: Any, packages: Iterable[str]
) -> dict:
    """Do an experiment: its rows with all that they depend on.

    Args:
        run: The experiment.
        settings: What it is asked to do, a dataclass.
        packages: Whose versions matter; what is not installed is left out.
    """
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "settings": dataclasses.asdict(settings),
        "machine": _machine(),
        "versions": versions,
        "rows": run(settings),
    }


def keep(name: str, record: dict, report: str, figure, folder: Path):
    """Write a record, one row a line, its report and its figure into a folder."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    head = json.dumps({k: v for k, v in record.items() if k != "rows"}, indent=2)
    rows = ",\n".join("    " + json.dumps(row) for row in record["rows"])
    (folder / f"{name}.json").write_text(f'{head[:-2]},\n  "rows": [\n{rows}\n  ]\n}}\n')
    (folder / f"{name}.md").write_text(report + "\n")
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def kept(name: str, folder: Path) -> dict:
    """The record of an experiment that was done before.

    Raises:
        FileNotFoundError: If there is none.
    """
    path = folder / f"{name}.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no {path}. Run `python -m experiments.{name}` without --from-json."
        )
    return json.loads(path.read_text())


def circumstances(record: dict) -> str:
    """Versions and machine of a record, as text."""
    versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    machine = record["machine"]
    return (
        f"{versions}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_GB']} GB, {machine['system']}, load {machine['load']} before"
    )


def listed(verdicts: Iterable[tuple[str, bool]]) -> str:
    """Goals as a list, each with what became of it."""
    return "\n".join(
        f"- {'reached' if reached else '**NOT reached**'}: {text}"
        for text, reached in verdicts
    )


def rounded(x: float | None, digits: int = 4) -> float | None:
    """A number without the digits that mean nothing."""
    return None if x is None else float(f"{x:.{digits}g}")


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    lines = [header, ["---", *("--:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(x: float | None) -> str:
    """A number in three digits or, if whole, in all; a dash where there is none."""
    if x is None:
        return "–"
    if isinstance(x, int):
        return str(x)
    decimals = 0 if x >= 100 else 1 if x >= 10 else 2 if x >= 1 else 3
    return f"{x:.{decimals}f}"


def say(text: str):
    """Tell what is going on, beside the results."""
    print(text, file=sys.stderr, flush=True)


def _machine() -> dict:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_GB": round(memory / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    """What the processor calls itself."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
