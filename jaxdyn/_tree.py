"""How the tree is walked: the only loops over its links.

Links are numbered depth-first, so that an unbranched chain of them is a slice. A walk is
one `lax.scan` for each chain: nearly as fast as an unrolled loop, and compiled once for
the chain and not for each of its links.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np


type PyTree = Any
type Step = Callable[[PyTree, PyTree, PyTree], tuple[PyTree, PyTree]]


@runtime_checkable
class Tree(Protocol):
    """Links numbered depth-first."""

    @property
    def parents(self) -> tuple[int, ...]:
        """Parent of each link; `-1` is the world."""
        ...

    def chain(self, links: slice) -> PyTree:
        """The links of one chain, stacked."""
        ...


class Chain(NamedTuple):
    """Links `start, …, stop - 1`, each the only child of the one before."""

    start: int
    stop: int
    parent: int
    """The chain that carries this one; `-1` for the world."""


@functools.cache
def chains(parents: tuple[int, ...]) -> tuple[Chain, ...]:
    """The chains of a tree whose link `i` is carried by link `parents[i]`."""
    if not parents:
        return (Chain(0, 0, -1),)
    found: list[Chain] = []
    chain_of: list[int] = []
    for i, parent in enumerate(parents):
        if parent >= 0 and parent == i - 1 and parents.count(parent) == 1:
            found[-1] = found[-1]._replace(stop=i + 1)
        else:
            found.append(Chain(i, i + 1, chain_of[parent] if parent >= 0 else -1))
        chain_of.append(len(found) - 1)
    return tuple(found)


def ancestry(parents: tuple[int, ...]) -> np.ndarray:
    """Entry `[i, j]` tells whether link `j` carries link `i`, or is it."""
    carries = np.eye(len(parents), dtype=bool)
    for i, parent in enumerate(parents):
        if parent >= 0:
            carries[i] |= carries[parent]
    return carries


def outward(tree: Tree, step: Step, root: PyTree, xs: PyTree) -> PyTree:
    """Walk from the roots to the leaves: `state, y = step(state of parent, link, x)`.

    Args:
        tree: The links.
        step: What happens from a link's parent to the link.
        root: State of the world.
        xs: Inputs of all links, stacked.

    Returns:
        Outputs `y` of all links, stacked.
    """
    ends, outputs = [], []
    for chain in chains(tree.parents):
        state = ends[chain.parent] if chain.parent >= 0 else root
        state, y = _scan(tree, chain, step, state, xs)
        ends.append(state)
        outputs.append(y)
    return _joined(outputs)


def inward(tree: Tree, step: Step, leaf: PyTree, xs: PyTree) -> PyTree:
    """Walk from the leaves to the roots: `state, y = step(sum of children, link, x)`.

    Args:
        tree: The links.
        step: What happens at a link, given the sum of the states of its children.
        leaf: The sum of no states: zero.
        xs: Inputs of all links, stacked.

    Returns:
        Outputs `y` of all links, stacked.
    """
    arriving: dict[int, PyTree] = {}
    outputs = []
    for i, chain in reversed(list(enumerate(chains(tree.parents)))):
        state, y = _scan(tree, chain, step, arriving.get(i, leaf), xs, reverse=True)
        outputs.insert(0, y)
        if chain.parent in arriving:
            state = jax.tree.map(jnp.add, arriving[chain.parent], state)
        arriving[chain.parent] = state
    return _joined(outputs)


def _scan(
    tree: Tree, chain: Chain, step: Step, state: PyTree, xs: PyTree, *, reverse=False
) -> tuple[PyTree, PyTree]:
    links = slice(chain.start, chain.stop)

    # Without the barrier XLA fuses a whole walk into one kernel on the CPU, and computes
    # what several links share once for each of them.
    def fenced(state, x):
        return jax.lax.optimization_barrier(step(state, *x))

    x = (tree.chain(links), jax.tree.map(lambda x: x[links], xs))
    if chain.stop - chain.start == 1:
        state, y = fenced(state, jax.tree.map(lambda x: x[0], x))
        return state, jax.tree.map(lambda y: y[None], y)
    return jax.lax.scan(fenced, state, x, reverse=reverse)


def _joined(outputs: list[PyTree]) -> PyTree:
    if len(outputs) == 1:
        return outputs[0]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *outputs)
