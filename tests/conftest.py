"""Double precision, strict types, and where data that is not ours is found."""

import os
import zlib
from pathlib import Path

import hypothesis
import jax
import jaxtyping
import pytest


jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("jaxdyn", deadline=None, derandomize=True)
hypothesis.settings.load_profile("jaxdyn")


@pytest.fixture
def unchecked():
    """No run-time type checks, which answer a wrong argument before the function can."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def menagerie() -> Path:
    """Folder of the MuJoCo Menagerie's robots."""
    return _folder("MENAGERIE_ROOT")


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of recorded logs."""
    return _folder("JAXDYN_DATA")


def _folder(variable: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set: see README, 'Tests and data'")
    assert Path(folder).is_dir(), f"{variable} is {folder!r}, which is no folder"
    return Path(folder)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]):
    """With `JAXDYN_SLOW_SAMPLE` set, run one in four of the slow tests."""
    if not os.environ.get("JAXDYN_SLOW_SAMPLE"):
        return

    def drawn(item: pytest.Item) -> bool:
        return zlib.crc32(item.nodeid.encode()) % 4 == 0

    left_out = [i for i in items if i.get_closest_marker("slow") and not drawn(i)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """With `JAXDYN_REQUIRE_DATA` set, a test that lacks its robots or logs has failed."""
    report = yield
    about_it = {mark.name for mark in item.iter_markers()} | {*item.fixturenames}
    needs_data = not about_it.isdisjoint({"data", "menagerie"})
    if report.skipped and needs_data and os.environ.get("JAXDYN_REQUIRE_DATA"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but JAXDYN_REQUIRE_DATA is set"
    return report
