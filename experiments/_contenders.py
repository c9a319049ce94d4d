"""How each library computes the same quantities: for one sample, and for many.

All get the same states and each its best way: JAX libraries a compiled loop over tiles
of the batch, whose size is tried out, writing into memory that the last call left;
Pinocchio its C++ loop where there is one, else a loop over samples that were cut out
beforehand; MuJoCo such a loop too.

New memory costs a page fault every 4 kB, more than the arithmetic where a result is
large: a batch of regressors of a humanoid takes hundreds of megabytes. Pinocchio
overwrites one matrix; so results of the JAX libraries overwrite those of the last call.
"""

import contextlib
import dataclasses
import functools
import importlib.metadata
import io
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from ._race import Prepared
from ._robots import ROBOTS, spec, urdf


Function = Literal["rnea", "crba", "aba", "regressor"]


@dataclasses.dataclass(frozen=True)
class Task:
    """One function of one robot in one library."""

    robot: str
    """One of `ROBOTS`."""
    function: Function
    """Inverse dynamics, mass matrix, forward dynamics or regressor."""
    tool: str
    """One of `TOOLS`."""
    precision: Literal["float64", "float32"] = "float64"
    """Of the arithmetic."""
    cores: int = 1
    """How many are used."""
    batch: int = 4096
    """Number of samples."""
    tiles: tuple[int, ...] = (32, 64, 128, 256)
    """Sizes of tiles that are tried, beside the whole batch at once."""

    def states(self, nv: int) -> tuple[np.ndarray, ...]:
        """Arguments of the function, one row a sample: positions and two vectors."""
        x = np.random.default_rng(0).uniform(-1, 1, (3, self.batch, nv))
        return tuple(x[: 1 if self.function == "crba" else 3].astype(self.precision))

    @property
    def supported(self) -> bool:
        """Whether the library can do it."""
        functions, precisions, many_cores = TOOLS[self.tool].can
        if self.cores > 1 and self.function not in many_cores:
            return False
        return self.function in functions and self.precision in precisions
