"""Log files: which signal of which joint each column is."""

import dataclasses
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from jaxtyping import Float64

import jaxdyn

from ._log import Log, Signal, SIGNALS


_WORDS: dict[Signal, tuple[str, ...]] = {
    "t": ("t", "time", "timestamp"),
    "q": ("q", "position", "pos"),
    "qd": ("qd", "dq", "velocity", "vel"),
    "qdd": ("qdd", "ddq", "acceleration", "acc"),
    "tau": ("tau", "torque", "effort"),
}
"""What a file may call each signal; the first of these words that it uses is read."""

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

Column = np.ndarray | pl.Series


def read_log(
    path: str | Path,
    model: jaxdyn.Model,
    *,
    joints: Sequence[str] | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    degrees: bool = False,
    gear: float | Sequence[float] | Mapping[str, float] = 1.0,
    time_unit: Literal["s", "ms", "us", "ns"] = "s",
) -> Log:
    """A robot's log from a CSV, Parquet or NPZ file, in the model's order of joints.

    The file holds time and, for every joint, position and torque, and velocity and
    acceleration if they were measured. It calls these signals, in upper or lower case,

    - `t`, `time` or `timestamp`,
    - `q`, `position` or `pos`,
    - `qd`, `dq`, `velocity` or `vel`,
    - `qdd`, `ddq`, `acceleration` or `acc`,
    - `tau`, `torque` or `effort`.

    A column belongs to a joint by name (`q_elbow`, `elbow.q`, `position/elbow`, `elbow
    position`) or by number (`q0`, `tau_1`, `effort[2]`, from 0 or 1). An NPZ file may
    hold arrays of shape `(samples, joints)` instead (`q`, `tau`), and the names of the
    joints in `joints` or `names`. Numbered columns and arrays are in the order of
    `joints`, else of the model. Time is counted from the first sample.

    Args:
        path: The file; its ending, .csv, .parquet or .npz, tells the format.
        model: The robot. Joints that the file lacks must be locked in it.
        joints: Names of the joints of numbered columns and arrays, in their order.
            Those that are not in the model are left out.
        columns: The columns or array of a signal, for files with names of their own:
            `{"tau": ["current 1", "current 2"]}`, in the order of `joints`. An empty
            list leaves a signal out.
        degrees: Angles are in degrees, not radians.
        gear: Turns of the motor in a turn of the joint, negative if it turns the other
            way: one number for all joints, one for each joint of the model, or some by
            name. Positions and torques of the file are then those of the motors.
        time_unit: Unit of time in the file.

    Returns:
        The log, in s, rad, m, N m and N, always float64.

    Raises:
        ValueError: If a signal or a joint is missing or given twice, or a value is not
            a number; the message lists what there is and says what to do.
    """
    file = _File.open(Path(path), model, joints, columns or {})
    time = file.time()
    places = {signal: file.places(signal) for signal in SIGNALS if signal != "t"}
    used = {time}.union(*places.values())
    to_joint = _to_joint(model, degrees=degrees, gear=gear)
    return Log(
        t=_SECONDS[time_unit] * file.elapsed(time),
        **{s: to_joint[s] * file.stack(at) for s, at in places.items() if at},
        joints=model.joint_names,
        name=file.name,
        unread=tuple(column for column in file.columns if column not in used),
    )


@dataclasses.dataclass(frozen=True)
class _File:
    """A log file's columns, and what decides which joint's which signal each one is."""

    name: str
    columns: Mapping[str, Column]
    """Columns by name; those of an array `q` are `q[0]`, `q[1]`, …"""
    joints: tuple[str, ...]
    """Joints of the model."""
    order: tuple[str, ...]
    """Joints of numbered columns, in the file's order."""
    chosen: Mapping[str, list[str]]
    """Columns that the caller gave to a signal."""

    @classmethod
    def open(
        cls,
        path: Path,
        model: jaxdyn.Model,
        order: Sequence[str] | None,
        chosen: Mapping[str, str | Sequence[str]],
    ) -> "_File":
        columns, names = _read(path)
        order = tuple(order or names or model.joint_names)
        if repeated := {joint for joint in order if order.count(joint) > 1}:
            raise ValueError(f"{path.name}: joint {_quoted(repeated)} is named twice.")
        file = cls(path.name, columns, model.joint_names, order, {})
        expanded = {s: file.expand(s, choice) for s, choice in chosen.items()}
        return dataclasses.replace(file, chosen=expanded)

    def expand(self, signal: str, choice: str | Sequence[str]) -> list[str]:
        """Columns that the caller means, an array standing for all of its columns."""
        if signal not in _WORDS:
            raise ValueError(
                f"`columns` has no signal {signal!r}; signals are {_quoted(_WORDS)}."
            )
        columns = []
        for name in [choice] if isinstance(choice, str) else choice:
            found = [c for c in self.columns if c == name or c.startswith(f"{name}[")]
            if not found:
                raise ValueError(f"{self.name} has no column {name!r}. {self.contents}")
            columns += found
        return columns

    def time(self) -> str:
        """The column of the times."""
        for column in self.chosen.get("t", []):
            return column
        for word in _WORDS["t"]:
            if "" in (labels := self.labels(word)):
                return labels[""]
        raise ValueError(
            f"{self.name} has no time, a column called {' or '.join(_WORDS['t'])}. "
            f"{self.contents} Say which it is by `columns={{'t': ...}}`."
        )

    def places(self, signal: Signal) -> list[str]:
        """The column of each joint of the model, or none if the signal is optional."""
        if signal in self.chosen:
            places = self.in_order(signal, self.chosen[signal])
        else:
            places = self.by_label(signal)
        if not places:
            if signal in ("qd", "qdd"):
                return []
            raise ValueError(
                f"{self.name} has no {SIGNALS[signal]}: neither columns such as "
                f"{signal}_{self.joints[0]} or {signal}1 nor an array, called "
                f"{' or '.join(_WORDS[signal])}. {self.contents} Say which they are by "
                f"`columns={{{signal!r}: [...]}}`."
            )
        if missing := [joint for joint in self.joints if joint not in places]:
            raise ValueError(
                f"{self.name} has no {SIGNALS[signal]} of {_quoted(missing)}, only of "
                f"{_quoted(places)}; the model's joints are {_quoted(self.joints)}. "
                f"Lock a joint that stood still, by `--lock {missing[0]}=VALUE` or "
                f"`jaxdyn.lock(model, {{{missing[0]!r}: value}})`, or say which "
                f"columns these are by `columns={{{signal!r}: [...]}}`."
            )
        return [places[joint] for joint in self.joints]

    def by_label(self, signal: Signal) -> dict[str, str]:
        """Columns of a signal by joint, from their names."""
        for word in _WORDS[signal]:
            labels = self.labels(word)
            if named := {j: labels[j] for j in self.joints if j in labels}:
                return named
            numbers = sorted(int(label) for label in labels if label.isdigit())
            if numbers and numbers[-1] - numbers[0] + 1 != len(numbers):
                raise ValueError(
                    f"{self.name} numbers its columns of {SIGNALS[signal]} with gaps: "
                    f"{', '.join(map(str, numbers))}. Say which they are, in order, by "
                    f"`columns={{{signal!r}: [...]}}`."
                )
            if numbers:
                return self.in_order(signal, [labels[str(n)] for n in numbers])
            if "" in labels:
                return self.in_order(signal, [labels[""]])
        return {}

    def labels(self, word: str) -> dict[str, str]:
        """Columns called by a word, by the joint's name or number that goes with it."""
        after = rf"{word}(?:[_./: -]?\[?0*(\d+)\]?|[_./: -](.+)|)"
        before = rf"(.+)[_./: -]{word}"
        labels = {}
        for column in self.columns:
            match = re.fullmatch(f"{after}|{before}", column, re.IGNORECASE)
            if match is None:
                continue
            label = "".join(group or "" for group in match.groups())
            if label in labels:
                raise ValueError(
                    f"{self.name} has both {labels[label]!r} and {column!r}. Say which "
                    "columns to read by `columns={...}`."
                )
            labels[label] = column
        return labels

    def in_order(self, signal: Signal, columns: Sequence[str]) -> dict[str, str]:
        """Columns of a signal by joint, from their order."""
        if columns and len(columns) != len(self.order):
            raise ValueError(
                f"{self.name} has {len(columns)} columns of {SIGNALS[signal]}, but "
                f"there are {len(self.order)} joints: {_quoted(self.order)}. Name the "
                "joints of its columns, in order, by `joints=[...]`; those that are "
                "not in the model are left out. Joints of the model that the log lacks "
                "must be locked, by `--lock JOINT=VALUE` or `jaxdyn.lock(model, "
                "{joint: value})`."
            )
        return dict(zip(self.order, columns, strict=False))

    def stack(self, places: Sequence[str]) -> Float64[np.ndarray, "N nv"]:
        """Columns of numbers, side by side."""
        channels = [self.numbers(column).astype(float) for column in places]
        if len({len(channel) for channel in channels}) > 1:
            lengths = [f"{c!r} {len(x)}" for c, x in zip(places, channels, strict=True)]
            raise ValueError(
                f"{self.name}: columns differ in length: {', '.join(lengths)}."
            )
        return np.stack(channels, axis=1)

    def elapsed(self, column: str) -> Float64[np.ndarray, " N"]:
        """Time since the first sample; whole numbers lose no digits."""
        time = self.numbers(column)
        whole = np.issubdtype(time.dtype, np.integer)
        time = time.astype(np.int64 if whole else float)
        return (time - time[:1]).astype(float)

    def numbers(self, column: str) -> np.ndarray:
        """A column's numbers, NaN where a cell is empty."""
        cells = pl.Series(column, self.columns[column])
        numbers = cells
        if cells.dtype == pl.String:
            numbers = cells.str.strip_chars().cast(pl.Float64, strict=False)
            wrong = (numbers.is_null() & cells.is_not_null()).arg_true()
            if len(wrong):
                raise ValueError(
                    f"{self.name}: {cells[wrong[0]]!r} in row {wrong[0]} of column "
                    f"{column!r} is not a number such as 1.5."
                )
        if not numbers.dtype.is_numeric():
            raise ValueError(
                f"{self.name}: column {column!r} holds {cells.dtype}, not numbers."
            )
        return numbers.to_numpy()

    @property
    def contents(self) -> str:
        """A sentence on what the file holds, for messages."""
        return f"It has {', '.join(dict.fromkeys(map(_stem, self.columns)))}."


def _read(path: Path) -> tuple[Mapping[str, Column], Sequence[str]]:
    """Columns of a file by name, and the names of its joints if it says so."""
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".npz": _read_npz}
    if (suffix := path.suffix.lower()) not in readers:
        raise ValueError(
            f"{path.name!r} does not end in .csv, .parquet or .npz, the formats of logs."
        )
    try:
        return readers[suffix](path)
    except (UnicodeDecodeError, zipfile.BadZipFile, pl.exceptions.PolarsError) as error:
        raise ValueError(
            f"{path.name} is not in the format of {suffix}: {error}"
        ) from error


def _read_parquet(path: Path) -> tuple[Mapping[str, Column], Sequence[str]]:
    return pl.read_parquet(path).to_dict(), ()


def _read_csv(path: Path) -> tuple[Mapping[str, Column], Sequence[str]]:
    with path.open(encoding="utf-8-sig") as file:
        header = file.readline()
    separator = max(",;\t", key=header.count)
    names = [name.strip(" \"'#%\r\n") for name in header.split(separator)]
    if all(map(_is_number, names)):
        raise ValueError(
            f"{path.name} begins with numbers. Add a first line with the names of its "
            "columns: time, and q_<joint> and tau_<joint> of each joint."
        )
    if len(names) == 1 and len(header.split()) > 1:
        raise ValueError(
            f"The first line of {path.name} is {names[0]!r}. Separate columns by commas, "
            "semicolons or tabs."
        )
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{path.name} has more than one column {_quoted(repeated)}.")
    try:
        frame = pl.read_csv(
            path,
            has_header=False,
            skip_rows=1,
            new_columns=names,
            separator=separator,
            infer_schema_length=None,
        )
    except pl.exceptions.PolarsError as error:
        raise ValueError(
            f"{path.name} is no table with the columns of its first line, "
            f"{_quoted(names)}: {error}"
        ) from error
    empty = pl.all_horizontal(pl.all().is_null())
    return frame.filter(~empty).to_dict(), ()


def _read_npz(path: Path) -> tuple[Mapping[str, Column], Sequence[str]]:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise zipfile.BadZipFile("it is no archive of arrays")
    with np.load(path) as file:
        arrays = dict(file)
    names = arrays.pop("joints", arrays.pop("names", np.array([])))
    columns = {name: array for name, array in arrays.items() if array.ndim == 1}
    for name, array in arrays.items():
        if array.ndim == 2:
            columns |= {f"{name}[{i}]": column for i, column in enumerate(array.T)}
    return columns, [str(name) for name in names]


def _to_joint(
    model: jaxdyn.Model,
    *,
    degrees: bool,
    gear: float | Sequence[float] | Mapping[str, float],
) -> dict[Signal, Float64[np.ndarray, " nv"]]:
    """Factors from a file's motor side and units to joints, rad and N m."""
    ratio = np.ones(model.nv)
    if isinstance(gear, Mapping):
        for joint, value in gear.items():
            ratio[model.joint(joint)] = value
    elif np.size(gear) in (1, model.nv):
        ratio *= gear
    else:
        raise ValueError(
            f"`gear` has {np.size(gear)} ratios, but the model has {model.nv} joints: "
            f"{_quoted(model.joint_names)}."
        )
    if not (np.isfinite(ratio) & (ratio != 0)).all():
        raise ValueError(f"A gear ratio is neither 0 nor infinite, but `gear` is {gear}.")
    hinge = np.array([kind == "hinge" for kind in model.joint_types])
    motion = np.where(hinge & degrees, np.pi / 180, 1.0) / ratio
    return {"q": motion, "qd": motion, "qdd": motion, "tau": ratio}


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _stem(column: str) -> str:
    """Name of the array that a column belongs to, or of the column itself."""
    return re.sub(r"\[\d+\]$", "", column)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
