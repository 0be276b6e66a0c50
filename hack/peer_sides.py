"""The two sides of a comparison. Questions enter, answers leave in their order; both have one form.

The upstream side is the program in hack/upstream-allocator, the own side calls the core in this process.
An answer has ``results``, ``unschedulable``, ``fits``, ``nanoseconds``, ``cold_nanoseconds``, ``timed_out``
and, where something was wrong, ``error``; ``crashed`` where that was no error of ours to report.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType

from peer_objects import Json

from scheduler_core.allocate import Cluster, allocate
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_claim, decode_class
from scheduler_core.errors import CoreError
from scheduler_core.features import Features
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation
from tangram.results import status_of

Side = Callable[[Iterable[Json]], Iterator[Json]]
HERE = Path(__file__).parent
_ONCE_ABOVE_NS = 1_000_000_000  # a longer run is not repeated, as in the upstream program


def built_upstream() -> Path:
    """Return the upstream program, built where it is not. Ends this program where Go is absent."""
    build = HERE / "upstream-allocator/build.sh"
    done = subprocess.run(["sh", build], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return Path(done.stdout.strip())


def upstream(program: Path, limit_s: float) -> Side:
    """Return the side that asks the upstream allocator, one process for all questions."""

    def answers(questions: Iterable[Json]) -> Iterator[Json]:
        command = [str(program), "-limit", f"{limit_s}s"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdin
            assert running.stdout
            writer = threading.Thread(target=_write, args=(running, questions), daemon=True)
            writer.start()
            for line in running.stdout:
                yield json.loads(line)
            writer.join()
        if running.returncode:
            sys.exit(running.returncode)

    return answers


def _write(running: subprocess.Popen[str], questions: Iterable[Json]) -> None:
    assert running.stdin
    with running.stdin as sink:
        for one in questions:
            sink.write(json.dumps(one, separators=(",", ":")) + "\n")


def ours(limit_s: float) -> Side:
    """Return the side that asks the core."""

    def answers(questions: Iterable[Json]) -> Iterator[Json]:
        for one in questions:
            try:
                yield _Own(one).answer(limit_s)
            except Exception as error:  # noqa: BLE001 - a crash is a difference to tell, and no end
                yield _nothing(0) | {"error": f"{type(error).__name__}: {error}", "crashed": True}

    return answers


class _TimeIsUp(BaseException):
    """The limit has struck; no error that the core might catch."""


class _Own:
    """One question, decoded."""

    def __init__(self, asked: Json) -> None:
        self._classes = {found.name: found for found in map(decode_class, asked["classes"])}
        self._pools = v1.pools(map(v1.decode_slice, asked["slices"]))
        self._repeat = asked.get("repeat", 1)
        self._features = Features.only(asked["features"], groups="kep-5963")
        self._kept = "sequence" in asked
        self._claims = [decode_claim(one) for one in asked.get("sequence") or asked["claims"]]
        held = (DeviceId(one["driver"], one["pool"], one["device"]) for one in asked["allocated"]["devices"])
        self._held = (_holder("held", (AllocatedDevice("held", device) for device in held)),)
        names = asked.get("nodes") or [asked["node"]["metadata"]["name"]]
        self._nodes = [Node(name) for name in names]

    def answer(self, limit_s: float) -> Json:
        """Answer once cold, then warm as often as asked."""
        previous = signal.signal(signal.SIGALRM, _strike)
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        started = time.perf_counter_ns()
        try:
            first = self._pass()
            times = first["nanoseconds"]
            if sum(times) < _ONCE_ABOVE_NS:
                first["nanoseconds"] = [
                    took for _ in range(self._repeat) for took in self._pass()["nanoseconds"]
                ]
            return first | {"cold_nanoseconds": times[0]}
        except CoreError as error:
            return _nothing(time.perf_counter_ns() - started) | {"error": str(error)}
        except _TimeIsUp:
            return _nothing(time.perf_counter_ns() - started) | {"timed_out": True}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)

    def _pass(self) -> Json:
        held, results, times = list(self._held), [], []
        fits: list[str] = []
        cluster = Cluster(pools=self._pools, classes=self._classes, features=self._features)
        for batch in [[one] for one in self._claims] if self._kept else [self._claims]:
            started = time.perf_counter_ns()
            cluster = replace(cluster, allocated=tuple(held))
            answers = [allocate(batch, cluster, node) for node in self._nodes]
            times.append(time.perf_counter_ns() - started)
            found = [answer for answer in answers if isinstance(answer, Allocation)]
            fits = [answer.node for answer in found]
            results += [self._result(claim, found[0]) if found else None for claim in batch]
            if self._kept and found:
                held += [_holder(claim.ref.name, found[0].results[claim.ref]) for claim in batch]
        refused = None in results
        kept = results if self._kept or not refused else [None] * len(batch)
        return _nothing(0) | {
            "results": kept,
            "unschedulable": refused,
            "fits": fits,
            "nanoseconds": times,
        }

    def _result(self, claim: Claim, allocation: Allocation) -> Json:
        result: Json = status_of(claim, allocation, self._classes)["allocation"]
        return result


def _strike(_signal: int, _frame: FrameType | None) -> None:
    raise _TimeIsUp


def _holder(name: str, results: Iterable[AllocatedDevice]) -> AllocatedClaim:
    return AllocatedClaim(ref=ClaimRef("held", name), results=tuple(results))


def _nothing(took_ns: int) -> Json:
    return {
        "results": [],
        "unschedulable": False,
        "fits": [],
        "nanoseconds": [took_ns],
        "cold_nanoseconds": took_ns,
        "timed_out": False,
    }
