"""Double precision, strict types, and where data that is not ours is found."""

import os
from pathlib import Path

import hypothesis
import jax
import pytest


jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("jaxdyn", deadline=None, derandomize=True)
hypothesis.settings.load_profile("jaxdyn")


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
        pytest.skip(f"{variable} is not set: see README, 'Tests'")
    return Path(folder)
