"""Data that a fit does not see."""

from collections.abc import Sequence

from ._log import Log


def hold_out(
    logs: Sequence[Log], share: float = 1 / 3
) -> tuple[tuple[Log, ...], tuple[Log, ...]]:
    """The first part of each log to fit, and the last part to validate with.

    The parts are whole stretches of time, as neighbouring samples know of each other.

    Args:
        logs: The logs.
        share: Share of each log that is held out.
    """
    if not 0 < share < 1:
        raise ValueError(f"The share to hold out is between 0 and 1, but came {share}.")
    cuts = [round((1 - share) * len(log)) for log in logs]
    return (
        tuple(log[:cut] for log, cut in zip(logs, cuts, strict=True)),
        tuple(log[cut:] for log, cut in zip(logs, cuts, strict=True)),
    )
