"""The report, its tables and its numbers."""

import dataclasses
import html
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import jaxdyn
from identification import as_json, as_text, identify, report, validate
from identification._figures import extra, svg, torque_figure
from identification._results import (
    base_table,
    base_values,
    body_table,
    covered,
    joint_table,
    own_std,
)
from identification._table import Table
from tests.recordings import altered, record, robot, SCARA


ROBOT = robot(SCARA)
TRUTH = altered(ROBOT, seed=1)


@pytest.fixture(scope="module")
def results():
    """A fit, and its validation with two logs."""
    noise = np.array([0.1, 0.1, 0.2])
    logs = record(TRUTH, 4, seed=2, noise=noise, offset=0.3, duration=8.0)
    identified = identify(ROBOT, logs[:2], method="physical", prior_weight=1e-3)
    return identified, validate(identified, logs[2:])


@pytest.fixture(scope="module")
def page(results, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    provenance = {"logs": {"a.csv": "0123abcd"}, "operator": "<b>me</b> & you"}
    report(*results, path, title="Scara & <friends>", provenance=provenance)
    return path.read_text()


class Outline(HTMLParser):
    """Tags that are open, attributes that name something else, and the text."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.links, self.ids, self.words = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data", "action"):
                self.links.append(value)
            elif name == "id":
                self.ids.append(value)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.remove(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_is_whole_and_alone(page):
    outline = Outline(page)
    assert not outline.open
    assert outline.links
    assert all(link.startswith("#") for link in outline.links)
    assert {link[1:] for link in outline.links} <= set(outline.ids)
    assert not re.search(r"<script|<link|<iframe|@import|url\((?!#)", page)
    assert len(page) < 1e6


def test_the_page_shows_all(results, page):
    identified, validation = results
    text = html.unescape(" ".join(Outline(page).words))
    assert f"{100 * validation.relative_error:.3g} %" in text
    for expression in identified.base.expressions():
        assert expression in text
    for value in identified.estimate.base:
        assert f"{value:.4g}" in text
    for curves in validation.curves:
        assert curves.name in text
    for remark in identified.remarks:
        assert remark in text
    assert page.count("<figure>") == 2 * ROBOT.nv
    assert page.count('class="strip"') == identified.base.rank
    assert "a.csv: 0123abcd" in text
    assert jaxdyn.__name__ in text


def test_what_is_not_ours_is_escaped(page):
    assert "Scara & <friends>" not in page
    assert "Scara &amp; &lt;friends&gt;" in page
    assert "&lt;b&gt;me&lt;/b&gt; &amp; you" in page


def test_the_same_results_give_the_same_page(results, tmp_path):
    for name in ("a.html", "b.html"):
        report(*results, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_page_shows_the_truth_where_it_is_known(results, page, tmp_path):
    identified, _ = results
    report(*results, tmp_path / "a.html", truth=TRUTH)
    text = " ".join(Outline((tmp_path / "a.html").read_text()).words)
    assert f"{100 * covered(identified, TRUTH):.3g} %" in text
    for value in base_values(identified, TRUTH):
        assert f"{value:.4g}" in text
    assert 'class="true"' not in page


def test_impossible_bodies_stand_out(results, tmp_path):
    identified, validation = results
    fault = jaxdyn.Inconsistency("upper", "its mass is -1 kg", -1.0)
    wrong = dataclasses.replace(validation, consistency=(fault,))
    report(identified, wrong, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert '<b class="bad">4 of 5</b>' in page
    assert page.count('<td class="bad">no</td>') == 1
    assert "INCONSISTENT: no rigid body has the inertia of upper." in as_text(
        identified, wrong
    )


def test_covered_counts_error_bars_that_hold_the_truth(results):
    identified, _ = results
    estimate, true = identified.estimate, base_values(identified, TRUTH)
    inside = [
        value - 1.96 * std <= truth <= value + 1.96 * std
        for value, std, truth in zip(estimate.base, estimate.std, true, strict=True)
    ]
    assert covered(identified, TRUTH) == np.mean(inside)


def test_own_std_is_of_parameters_that_stand_alone(results):
    identified, _ = results
    own = own_std(identified)
    for name, expression, std in zip(
        identified.base.names,
        identified.base.expressions(),
        identified.estimate.std,
        strict=True,
    ):
        assert own.get(name) == (std if expression == name else None)
    assert "pan.fc" in own


def test_tables_say_what_the_model_says(results):
    identified, validation = results
    joints = joint_table(identified)
    column = dict(zip(joints.header, zip(*joints.rows, strict=True), strict=True))
    assert column["joint"] == ROBOT.joint_names
    np.testing.assert_array_equal(column["fv"], identified.model.damping)
    np.testing.assert_array_equal(column["offset"], identified.offsets)
    bodies = body_table(identified, validation)
    np.testing.assert_array_equal(
        [row[bodies.header.index("mass")] for row in bodies.rows],
        identified.model.inertial[:, 0],
    )
    base = base_table(identified, truth=TRUTH)
    assert base.header == (
        "combination",
        "file",
        "truth",
        "identified",
        "σ",
        "σ [%]",
    )
    np.testing.assert_array_equal(
        [row[3] for row in base.rows], identified.base.K @ identified.estimate.parameters
    )


def test_json_is_strict(results):
    identified, validation = results
    lost = identified.estimate.covariance.copy()
    lost[0, 0] = np.inf
    unknown = dataclasses.replace(
        identified, estimate=dataclasses.replace(identified.estimate, covariance=lost)
    )
    still = dataclasses.replace(
        validation, joints=(dataclasses.replace(validation.joints[0], r2=-np.inf),)
    )
    provenance = {"settings": {"cutoff": np.nan, "seed": np.int64(3)}}
    text = as_json(unknown, still, provenance=provenance)
    numbers = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    assert numbers["base"]["std"][0] is None
    assert numbers["base"]["std"][1] == identified.estimate.std[1]
    assert numbers["validation"]["joints"]["pan"]["r2"] is None
    assert numbers["settings"] == {"cutoff": None, "seed": 3}


def test_text_fits_a_terminal(results):
    text = as_text(*results, truth=TRUTH)
    tables = [line for line in text.splitlines() if "─" in line]
    assert len(tables) == 4
    assert max(map(len, tables)) < 120
    assert "motion2, motion3" in text


@pytest.mark.slow
def test_what_is_no_term_is_not_shown(results):
    identified, _ = results
    logs = record(TRUTH, 2, seed=5, duration=8.0)
    friction = identify(identified.model, logs[0], terms=("fv", "fc"), method="wls")
    text = as_text(friction, validate(friction, logs[1]))
    assert "Bodies" not in text
    assert "Base inertial parameters" not in text
    assert "pan" in text


def test_joints_that_are_hardly_explained_are_named(results):
    identified, validation = results
    poor = dataclasses.replace(validation.joints[1], r2=-3.0)
    joints = (validation.joints[0], poor, validation.joints[2])
    text = as_text(identified, dataclasses.replace(validation, joints=joints))
    assert "torque of tilt is hardly explained" in text
    assert "hardly explained" not in as_text(identified, validation)


def test_a_table_aligns_rounds_and_keeps_all_digits():
    table = Table(("name", "x"), (("a", 1 / 3), ("long", None), ("c", 1e-17)))
    assert str(table).splitlines() == [
        "name       x",
        "────  ──────",
        "a     0.3333",
        "long       –",
        "c          0",
    ]
    frame = pl.read_csv(table.csv().encode())
    assert frame["x"].to_list() == [1 / 3, None, 1e-17]
    assert str(Table(("a", "b"), ())).splitlines()[0] == "a  b"


def test_figures_leave_out_points_but_not_the_ends():
    t = np.linspace(0, 1, 10_001)
    figure = torque_figure(t, np.sin(t), np.cos(t), unit="N m", title="a", points=500)
    (measured, predicted), (residual, _) = (axes.lines for axes in figure.axes)
    assert len(measured.get_xdata()) <= 500
    np.testing.assert_allclose(
        residual.get_ydata(), measured.get_ydata() - predicted.get_ydata()
    )
    assert svg(figure).startswith("<svg")


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"jinja2.*pip install 'jaxdyn\[report"):
        extra("jinja2")
