"""Functions of one sample along long records, in double precision and bounded memory."""

import functools
from collections.abc import Callable, Iterator

import jax
import numpy as np
from jaxtyping import Float, Float64

import jaxdyn


_TILE = 128
"""Samples that are evaluated together; their intermediates stay in the cache."""

_BYTES = 32e6
"""About how much the result of one batch takes."""


def along[**P](
    fn: Callable[P, jax.Array],
    model: jaxdyn.Model,
    *samples: Float[np.ndarray, "N _"],
    **options,
) -> Float64[np.ndarray, "N ..."]:
    """`fn(model, *sample, **options)` for each sample of a record.

    Args:
        fn: A function of one sample, defined once: it is compiled once.
        model: The robot.
        *samples: For each argument of the function, one row a sample.
        **options: Further arguments, hashable.
    """
    return np.concatenate(list(batches(fn, model, *samples, **options)))


def batches[**P](
    fn: Callable[P, jax.Array],
    model: jaxdyn.Model,
    *samples: Float[np.ndarray, "N _"],
    **options,
) -> Iterator[Float64[np.ndarray, "n ..."]]:
    """As `along`, a batch of some thousand samples at a time."""
    given = fn, tuple(sorted(options.items())), model
    with jax.enable_x64(True):
        row = _tiles.eval_shape(*given, *(x[:1] for x in samples))
    if not row.size:  # a robot without joints
        yield np.zeros((len(samples[0]), *row.shape[1:]))
        return
    size = _TILE * int(np.clip(_BYTES / row.size / row.dtype.itemsize / _TILE, 1, 32))
    for start in range(0, len(samples[0]), size):
        batch = [x[start : start + size] for x in samples]
        short = size - len(batch[0])
        padded = [np.pad(x, ((0, short), (0, 0)), mode="edge") for x in batch]
        with jax.enable_x64(True):
            yield np.asarray(_tiles(*given, *padded))[: len(batch[0])]


@functools.partial(jax.jit, static_argnums=(0, 1))
def _tiles(fn, options, model, *samples):
    def one(sample):
        return fn(model, *sample, **dict(options))

    return jax.lax.map(one, samples, batch_size=_TILE)
