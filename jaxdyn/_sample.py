"""What all public functions of one sample share: compilation and a look at the input."""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np

from ._model import Model


_STATE = ("q", "qd", "qdd", "tau")


def sample_function[F: Callable](fn: F) -> F:
    """Compile a function of a model and of one sample of its state.

    Arguments called `q` have `nq` numbers, `qd`, `qdd` and `tau` `nv`; names and options
    are static. Leaves and arrays take the widest floating-point type among them.
    """
    called = cast(FunctionType, fn).__name__
    names = list(inspect.signature(fn).parameters)
    static = [n for n in names if n not in {"model", *_STATE}]

    @functools.partial(jax.jit, static_argnames=static)
    @functools.wraps(fn)
    def compiled(*args, **kwargs):
        given = dict(zip(names, args, strict=False)) | kwargs
        model = given["model"]
        _check_model(called, model)
        arrays = {n: jnp.asarray(x) for n, x in given.items() if n in _STATE}
        for name, x in arrays.items():
            size = model.nq if name == "q" else model.nv
            if x.shape != (size,):
                raise ValueError(
                    f"{called} takes one sample: {name} has shape ({size},) for "
                    f"this model, but {x.shape} came. For a batch, use jax.vmap."
                )
        floats = [x.dtype for x in (*jax.tree.leaves(model), *arrays.values())]
        dtype = np.result_type(*(d for d in floats if jnp.issubdtype(d, jnp.inexact)))
        given |= {n: x.astype(dtype) for n, x in arrays.items()}
        return fn(**given | {"model": model.astype(dtype)})

    return cast(F, compiled)


def _check_model(name: str, model: object) -> None:
    if not isinstance(model, Model):
        raise TypeError(
            f"The first argument of {name} is a jaxdyn.Model, but a "
            f"{type(model).__name__} came. jaxdyn.load makes one from a robot's file."
        )
    if model.gravity.shape != (3,):
        raise ValueError(
            f"{name} takes one model, but a stack of {model.gravity.shape[0]} came. "
            "For a stack, use jax.vmap over the model as well."
        )
