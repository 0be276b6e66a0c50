"""Runs simulations side by side, each in a process of its own, and follows how far they are.

A simulation needs nothing of another one, so the answers are the same as one after the other. Each process
tells its progress through a pipe, and ends at the latest when nobody reads there any more. However this
process ends, the others are ended before.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass
from tangram.errors import BadInput
from tangram.loading import is_expected
from tangram.planning.simulated import Run

Tell = Callable[[int], None]
"""Is told how many arrivals have come."""
Job = Callable[[Tell], Run]
"""One simulation. It can be sent to another process."""
Follow = Callable[[str, int], None]
"""Is told which simulation has seen how many arrivals."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a simulation has no answer. Shape: ``is_expected`` where a user can cause it."""

    told: str
    is_expected: bool


def run_all(jobs: Mapping[str, Job], follow: Follow, processors: int | None = None) -> dict[str, Run]:
    """Return what each simulation finds, by its name.

    Shape: with one job or one processor they run here, one after the other.
    Raises: BadInput where a simulation cannot be carried out; here also as the simulation itself.
    """
    if min(len(jobs), processors or usable_processors()) < 2:
        return {name: job(lambda count, name=name: follow(name, count)) for name, job in jobs.items()}  # type: ignore[misc]
    with _started(jobs) as pipes:
        return _collected(pipes, follow)


def usable_processors() -> int:
    """Return how many processors this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_method() -> str:
    """Return how processes are started.

    A fork costs nothing and shares what was read, but another thread's locks would stay locked in it, and
    other systems' libraries do not allow it: there a new Python gets a copy of what was read.
    """
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


@contextmanager
def _started(jobs: Mapping[str, Job]) -> Iterator[dict[Connection, str]]:
    """Start a process for each job, and give the pipes on which they tell. They are ended with the block."""
    context: Any = multiprocessing.get_context(start_method())
    processes = []
    pipes: dict[Connection, str] = {}
    try:
        for name, job in jobs.items():
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(job, there), name=f"tangram: {name}", daemon=True)
            process.start()
            there.close()
            processes.append(process)
            pipes[here] = name
        yield pipes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()
        for pipe in pipes:
            pipe.close()


def _work(job: Job, pipe: Connection) -> None:
    """Run one simulation, and send what becomes of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        pipe.send(job(pipe.send))
    except BrokenPipeError:
        return  # the process that asked has ended
    except Exception as error:  # noqa: BLE001 - told and raised by the process that asked
        expected = is_expected(error)
        pipe.send(_Failure(str(error) if expected else traceback.format_exc(), expected))


def _collected(pipes: Mapping[Connection, str], follow: Follow) -> dict[str, Run]:
    """Return the answers, in the order in which the simulations were started."""
    found: dict[str, Run] = {}
    open_ones = dict(pipes)
    while open_ones:
        for ready in wait(list(open_ones)):
            name = open_ones[ready]  # type: ignore[index]  # wait returns what it was given
            answer = _received(ready, name)  # type: ignore[arg-type]
            if isinstance(answer, int):
                follow(name, answer)
            elif isinstance(answer, Run):
                found[name] = answer
                del open_ones[ready]  # type: ignore[arg-type]
            elif answer.is_expected:
                raise BadInput(answer.told)
            else:
                raise RuntimeError(f"the simulation of {name} failed:\n{answer.told}")
    return {name: found[name] for name in pipes.values()}


def _received(pipe: Connection, name: str) -> int | Run | _Failure:
    try:
        found: int | Run | _Failure = pipe.recv()
    except EOFError:
        raise BadInput(
            f"simulate: the process for {name} was ended from outside before it had an answer, perhaps for "
            "want of memory; simulate one policy at a time: --policy"
        ) from None
    return found
