"""Fair timing: each contender in a process of its own, on the same cores, in turns.

A process is pinned before it starts, so that libraries find as many cores as they may
use. One alone works at any time. Rounds alternate between all, so that a machine that
slows down slows all; what counts is the fastest round, since noise only ever adds.
"""

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import NamedTuple


class Prepared(NamedTuple):
    """Something ready to be timed."""

    calls: dict[str, tuple[Callable[[], object], int]]
    """What is called, and how often in one round."""
    facts: dict
    """What is worth telling about it; can be pickled."""


class Result(NamedTuple):
    """What is known of one contender after the race."""

    facts: dict
    """What it told when it was ready; `"error"` if it lacks something."""
    seconds: dict[str, float]
    """Shortest time of each call. [s]"""


def race[T](
    prepare: Callable[[T], Prepared],
    contenders: Sequence[tuple[T, Sequence[int]]],
    *,
    rounds: int,
    check: Callable[[list[dict]], None] = lambda facts: None,
) -> list[Result]:
    """Time contenders against one another.

    Args:
        prepare: Makes a contender ready, in the contender's own process. It raises a
            `ModuleNotFoundError` where the contender is not installed.
        contenders: What `prepare` takes, and the cores that the contender may use.
        rounds: How often each has its turn.
        check: Called with the facts of all before anything is timed; it may raise.
    """
    with contextlib.ExitStack() as stack:
        racers = [
            stack.enter_context(contextlib.closing(_Racer(prepare, *contender)))
            for contender in contenders
        ]
        check([racer.facts for racer in racers])
        for _ in range(rounds):
            for racer in racers:
                racer.turn()
    return [Result(racer.facts, racer.seconds) for racer in racers]


@contextlib.contextmanager
def pinned(cores: Iterable[int]) -> Generator[None]:
    """Keep this thread, and the processes it starts, on some cores, where Linux can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def available_cores() -> tuple[int, ...]:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


class _Racer:
    """A contender's process, seen from here."""

    def __init__(self, prepare, task, cores):
        processes = multiprocessing.get_context("spawn")
        self.task, self.seconds = task, {}
        self.connection, theirs = processes.Pipe()
        self.process = processes.Process(target=_run, args=(theirs, prepare, task))
        with pinned(cores):
            self.process.start()
        theirs.close()
        self.facts = self._receive()

    def turn(self):
        if "error" in self.facts:
            return
        self.connection.send("go")
        for name, seconds in self._receive().items():
            self.seconds[name] = min(seconds, self.seconds.get(name, seconds))

    def close(self):
        self.connection.close()
        self.process.join()

    def _receive(self) -> dict:
        try:
            return self.connection.recv()
        except EOFError as error:
            self.close()
            raise RuntimeError(
                f"The process of {self.task} ended with code {self.process.exitcode}; "
                "what it printed above says why."
            ) from error


def _run(connection, prepare, task):
    """What happens in a contender's process."""
    try:
        ready = prepare(task)
    except ModuleNotFoundError as error:
        connection.send({"error": f"{error.name} is not installed"})
        return
    with contextlib.suppress(EOFError, BrokenPipeError):  # the race is over
        connection.send(ready.facts)
        while connection.recv():
            connection.send({name: _best(*call) for name, call in ready.calls.items()})


def _best(call: Callable[[], object], repeats: int) -> float:
    """Shortest of some calls after one that warms the caches. [s]"""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times[1:])
