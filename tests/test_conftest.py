"""What a test run does without data, and with a sample of the slow tests."""

from pathlib import Path

import pytest


pytest_plugins = ["pytester"]

VARIABLES = ["MENAGERIE_ROOT", "JAXDYN_DATA", "JAXDYN_REQUIRE_DATA", "JAXDYN_SLOW_SAMPLE"]
CONFTEST = Path(__file__).with_name("conftest.py").read_text()


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs tests beside our conftest, in an environment with these variables alone."""
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers =\n slow\n data\n menagerie")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def run(source: str, **environment: object) -> dict[str, int]:
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        pytester.makepyfile(f"import pytest\n{source}")
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
        return {k.rstrip("s"): n for k, n in result.parseoutcomes().items()}

    return run


DATA = """
@pytest.mark.data
def test_logs(data):
    assert data.is_dir()

@pytest.mark.menagerie
def test_robots_are_there(menagerie):
    assert menagerie.is_dir()

def test_without():
    pass
"""
SLOW = """
@pytest.mark.slow
@pytest.mark.parametrize("k", range(200))
def test_slow(k):
    pass

def test_quick():
    pass
"""


def test_data_that_is_not_there_skips(run):
    assert run(DATA) == {"passed": 1, "skipped": 2}


def test_data_that_is_required_does_not_skip(run):
    assert run(DATA, JAXDYN_REQUIRE_DATA=1) == {"passed": 1, "error": 2}


def test_data_that_is_there_is_used(run, tmp_path):
    folders = {"JAXDYN_DATA": tmp_path, "MENAGERIE_ROOT": tmp_path}
    assert run(DATA, **folders, JAXDYN_REQUIRE_DATA=1) == {"passed": 3}


def test_a_folder_that_does_not_exist_is_an_error(run, tmp_path):
    outcome = run(DATA, JAXDYN_DATA=tmp_path / "nowhere", MENAGERIE_ROOT=tmp_path)
    assert outcome == {"passed": 2, "error": 1}


def test_slow_tests_run_unless_a_sample_is_wanted(run):
    assert run(SLOW) == {"passed": 201}
    sample = run(SLOW, JAXDYN_SLOW_SAMPLE=1)
    assert 30 < sample["deselected"] < 190
    assert sample["passed"] + sample["deselected"] == 201
    assert run(SLOW) == sample
