"""Figures of torques and parameters, by matplotlib: of the extra `report`."""

import importlib
import io
import re
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float


if TYPE_CHECKING:
    from matplotlib.figure import Figure


INK = "#5b6470"
"""Axes and text; legible on white and, as the page's own colour, on black."""
MEASURED = "#8d99a8"
PREDICTED = "#0d8f83"
PRIOR = "#d98324"


def torque_figure(
    t: Float[np.ndarray, "time"],
    measured: Float[np.ndarray, "time"],
    predicted: Float[np.ndarray, "time"],
    *,
    unit: str,
    title: str = "",
    legend: bool = True,
    points: int = 1500,
) -> "Figure":
    """Measured and predicted torque of one joint, and what is left between them.

    Args:
        t: Time. [s]
        measured: As measured, filtered.
        predicted: As predicted, filtered alike.
        unit: Unit of the torques.
        title: Title of the figure.
        legend: Whether to say which curve is which.
        points: Points of a curve at most; more are left out evenly.
    """
    every = -(-len(t) // points)
    t, measured, predicted = t[::every], measured[::every], predicted[::every]
    figure = extra("matplotlib.figure").Figure(figsize=(7.2, 2.9), layout="constrained")
    above, below = figure.subplots(
        2, sharex=True, gridspec_kw={"height_ratios": [2.4, 1]}
    )
    above.plot(t, measured, color=MEASURED, lw=2.4, label="measured")
    above.plot(t, predicted, color=PREDICTED, lw=1.1, label="predicted")
    if legend:
        above.legend(loc="best", ncols=2, frameon=False, fontsize="small")
    above.set(ylabel=unit, title=title)
    below.plot(t, measured - predicted, color=PRIOR, lw=0.9)
    below.axhline(0, color=INK, lw=0.5)
    below.set(xlabel="time [s]", ylabel="residual")
    _style(above, below)
    return figure


def parameter_figure(
    names: Sequence[str],
    value: Float[np.ndarray, "r"],
    deviation: Float[np.ndarray, "r"],
    truth: Float[np.ndarray, "r"],
    prior: Float[np.ndarray, "r"],
) -> "Figure":
    """How far each parameter is from the truth, in standard deviations, before and after.

    The band is where 95 % of correct estimates lie.
    """
    Figure = extra("matplotlib.figure").Figure
    figure = Figure(figsize=(7.2, 1.2 + 0.17 * len(names)), layout="constrained")
    axes = figure.subplots()
    row = np.arange(len(names))
    axes.axvspan(-1.96, 1.96, color=PREDICTED, alpha=0.12, lw=0)
    axes.plot((prior - truth) / deviation, row, "o", ms=4, mfc="none", color=PRIOR)
    axes.plot((value - truth) / deviation, row, "o", ms=4, color=PREDICTED)
    axes.set_xscale("symlog", linthresh=4)
    axes.set(xlabel="distance from the truth [standard deviations]", ylim=(len(row), -1))
    axes.set_yticks(row, names, fontsize="x-small")
    axes.legend(
        ["95 % band", "file", "identified"],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=3,
        frameon=False,
        fontsize="small",
    )
    _style(axes)
    return figure


def svg(figure: "Figure") -> str:
    """The figure as an SVG element for a page, its text in the page's own colour."""
    text = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    style = {"svg.fonttype": "none", "svg.hashsalt": "jaxdyn"}
    with extra("matplotlib").rc_context(style):
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    element = text.getvalue()
    element = element[element.index("<svg") :].replace(INK, "currentColor")
    element = re.sub(r' (width|height)="[\d.]+pt"', "", element, count=2)
    return re.sub(r' id="[a-z0-9.]+_\d+"', "", element)


def _style(*all_axes):
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(INK)
        axes.tick_params(colors=INK, labelsize="small")
        axes.title.set_color(INK)
        axes.xaxis.label.set_color(INK)
        axes.yaxis.label.set_color(INK)
        if legend := axes.get_legend():
            for text in legend.get_texts():
                text.set_color(INK)


def extra(module: str) -> ModuleType:
    """A module that reports need and the rest of the package does not.

    Raises:
        ModuleNotFoundError: If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"Figures and reports need {error.name}, which is not installed. Install the "
            "extra: `pip install 'jaxdyn[report]'`."
        ) from error
