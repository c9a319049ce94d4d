"""Logs to files that `read_log` reads."""

from pathlib import Path

import polars as pl

from ._log import Log, SIGNALS


def write_log(log: Log, path: str | Path):
    """Write a log as CSV or Parquet: `time`, `q_<joint>`, `tau_<joint>`, ….

    Args:
        log: The log.
        path: The file; its ending, .csv or .parquet, tells the format.
    """
    path = Path(path)
    channels = {"time": log.t}
    for signal in SIGNALS:
        samples = getattr(log, signal)
        if signal != "t" and samples is not None:
            channels |= {
                f"{signal}_{joint}": column
                for joint, column in zip(log.joints, samples.T, strict=True)
            }
    frame = pl.DataFrame(channels)
    match path.suffix.lower():
        case ".csv":
            frame.write_csv(path)
        case ".parquet":
            frame.write_parquet(path)
        case suffix:
            raise ValueError(
                f"A log is written as .csv or .parquet, but {path.name} ends in "
                f"{suffix or 'nothing'}. Rename it."
            )
