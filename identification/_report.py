"""The report of an identification: one page that needs nothing but itself."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

import jaxdyn

from ._figures import extra, svg, torque_figure
from ._identify import Identification
from ._results import (
    base_values,
    body_table,
    covered,
    joint_table,
    parameter_table,
    percent,
    summary,
    validation_table,
    versions,
)
from ._validate import Curves, Validation


_POINTS = 15_000
"""Points of all curves of a page together, about."""
_STRIP = 160
"""Width of the strip on which an error bar is drawn. [pixels]"""
_NOTHING = (None, False, [], {})
"""Settings that say nothing."""


def report(
    identified: Identification,
    validation: Validation,
    path: str | Path,
    *,
    title: str = "Identified robot",
    provenance: Mapping[str, object] | None = None,
    truth: jaxdyn.Model | None = None,
):
    """Write an identification and its validation as a page for a browser.

    The page is one HTML file, with figures and styles inside; it loads nothing.

    Args:
        identified: The identified robot.
        validation: Its validation.
        path: The file.
        title: Title of the page.
        provenance: Where the results come from: names, and texts or mappings.
        truth: The robot that the logs are of, where it is known as they are simulated.

    Raises:
        ModuleNotFoundError: If the extra `report` is not installed.
    """
    jinja2 = extra("jinja2")
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    source = Path(__file__).with_name("report.html.jinja").read_text(encoding="utf-8")
    page = environment.from_string(source).render(
        title=title,
        summary=summary(identified),
        cards=list(_cards(identified, validation, truth)),
        remarks=identified.remarks,
        validation=validation_table(validation),
        logs=list(_logs(identified.model, validation)),
        base=list(_base_rows(identified, truth)),
        simulated=truth is not None,
        strip=_STRIP,
        joints=joint_table(identified),
        bodies=body_table(identified, validation),
        parameters=parameter_table(identified),
        provenance=_provenance({**(provenance or {}), "versions": versions()}),
    )
    Path(path).write_text(page, encoding="utf-8")


def _provenance(given: Mapping[str, object]) -> dict[str, object]:
    """What there is to say, mappings as lines."""
    told = {name: value for name, value in given.items() if value not in _NOTHING}
    return {
        name: "\n".join(f"{key}: {item}" for key, item in _provenance(value).items())
        if isinstance(value, Mapping)
        else value
        for name, value in told.items()
    }


def _cards(
    identified: Identification, validation: Validation, truth: jaxdyn.Model | None
) -> Iterator[dict[str, str]]:
    """The numbers to see first: value, label, and whether they are good or bad."""
    wrong = len(validation.consistency)
    definite = validation.positive_definite
    nb = identified.model.nb
    yield {
        "value": percent(validation.relative_error),
        "label": "of the torque is not explained, in data that the fit has not seen",
        "tone": "",
    }
    yield {
        "value": percent(validation.prior_relative_error),
        "label": "is not explained by the robot's file",
        "tone": "",
    }
    if truth is not None:
        yield {
            "value": percent(covered(identified, truth)),
            "label": "of the 95 % error bars cover the truth",
            "tone": "",
        }
    yield {
        "value": f"{identified.rank} + {identified.base.rank - identified.rank}",
        "label": "base parameters of inertia, and of friction and offset",
        "tone": "",
    }
    yield {
        "value": f"{nb - wrong} of {nb}",
        "label": "bodies are physically consistent",
        "tone": "bad" if wrong else "good",
    }
    yield {
        "value": percent(definite),
        "label": f"of {validation.poses} poses have a positive definite mass matrix",
        "tone": "good" if definite == 1 else "bad",
    }


def _logs(model: jaxdyn.Model, validation: Validation) -> Iterator[dict[str, object]]:
    """The figures of each log."""
    points = min(1500, max(100, _POINTS // (model.nv * len(validation.curves))))
    for curves in validation.curves:
        yield {
            "name": curves.name,
            "figures": [
                {
                    "joint": joint,
                    "svg": _figure(curves, j, model.joint_types[j], points),
                    "error": percent(_relative_error(curves, j)),
                }
                for j, joint in enumerate(model.joint_names)
            ],
        }


def _figure(curves: Curves, j: int, kind: str, points: int) -> str:
    figure = torque_figure(
        curves.t,
        curves.measured[:, j],
        curves.predicted[:, j],
        unit="N m" if kind == "hinge" else "N",
        legend=False,
        points=points,
    )
    return svg(figure)


def _relative_error(curves: Curves, j: int) -> float:
    measured, predicted = curves.measured[:, j], curves.predicted[:, j]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.linalg.norm(predicted - measured) / np.linalg.norm(measured))


def _base_rows(
    identified: Identification, truth: jaxdyn.Model | None
) -> Iterator[dict[str, object]]:
    """A row for each base parameter: numbers as text, and where to draw them."""
    estimate = identified.estimate
    prior = base_values(identified, identified.unknowns.model)
    true = prior if truth is None else base_values(identified, truth)
    bar = 1.96 * estimate.std
    finite = np.where(np.isfinite(bar), bar, 0)
    reach = np.max([np.abs(prior), np.abs(true), np.abs(estimate.base) + finite], axis=0)
    place = lambda x: _STRIP / 2 + (_STRIP / 2 - 6) * x / np.where(reach > 0, reach, 1)
    places = {
        "prior_at": place(prior),
        "true_at": place(true),
        "at": place(estimate.base),
        "low": place(estimate.base - finite),
        "high": place(estimate.base + finite),
    }
    numbers = {
        "prior": prior,
        "true": true,
        "value": estimate.base,
        "bar": bar,
        "relative": estimate.relative_std,
    }
    for k, expression in enumerate(identified.base.expressions()):
        yield (
            {"expression": expression}
            | {name: f"{x[k]:.4g}" for name, x in numbers.items()}
            | {name: f"{x[k]:.1f}" for name, x in places.items()}
        )
