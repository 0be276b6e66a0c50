"""Asks an engine one question, cold once and then warm, and measures each time.

Cold is a new engine without compiled selectors: pools and held claims are entered, then the claims are
allocated. Warm is the same engine asked again. A time covers all nodes and, in a sequence, holding the
devices that were found; it never covers decoding.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from time import perf_counter_ns
from typing import Any, Final
from uuid import UUID, uuid5

from scheduler_core.base.errors import CoreError
from scheduler_core.base.limits import RESULTS
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.allocations import allocation_result
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT, Policy
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef, DeviceRequest
from scheduler_core.model.device import DeviceId
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.limit import TimeIsUp, time_limit
from tangram.bench.question import Question
from tangram.refusals import mistake_in
from tangram.undecided import decided, decided_or_none

LIMIT_S: Final = 60.0
_ONCE_ABOVE_NS: Final = 1_000_000_000  # a longer run is not repeated: its time stands for a warm one
_SHARES: Final = UUID("a6d5ad0f-6a0c-5c7e-9f70-4d1f2b1c4a11")

Result = Mapping[str, Any]


@dataclass(slots=True)
class Answer:
    """What came out and how long it took.

    Shape: ``results`` of the first node that fits, one per claim, None in a sequence for one that does
           not; ``fits`` the nodes that do, of a sequence those of its last claim; ``nanoseconds`` one
           per repeat, or per claim of a sequence and repeat.
    """

    results: list[Result | None] = field(default_factory=list)
    unschedulable: bool = False
    fits: list[str] = field(default_factory=list)
    nanoseconds: list[int] = field(default_factory=list)
    cold_nanoseconds: int = 0
    timed_out: bool = False
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the object that is printed."""
        shown = {
            "results": self.results,
            "unschedulable": self.unschedulable,
            "fits": self.fits,
            "nanoseconds": self.nanoseconds,
            "cold_nanoseconds": self.cold_nanoseconds,
            "timed_out": self.timed_out,
        }
        return shown | ({"error": self.error} if self.error is not None else {})


def answer(question: Question, policy: Policy = FIRST_FIT, limit_s: float = LIMIT_S) -> Answer:
    """Answer a question. What the core refuses is the answer's ``error``; after the limit it is cut off.

    Units: ``limit_s`` for the cold and all warm runs together; only the main thread can be cut off.
    """
    compile_selector.cache_clear()
    gc.collect()
    started = perf_counter_ns()
    try:
        with time_limit(limit_s):
            return _timed(question, policy)
    except CoreError as error:
        return _nothing(perf_counter_ns() - started, error=str(error))
    except TimeIsUp:
        return _nothing(perf_counter_ns() - started, timed_out=True)


def _with_mistake(found: Answer, mistake: str | None) -> Answer:
    """Return the answer as the peer gives it: what a person must fix is an error, not a refusal."""
    if mistake is None:
        return found
    return replace(found, results=[], unschedulable=False, fits=[], error=mistake)


def _timed(question: Question, policy: Policy) -> Answer:
    started = perf_counter_ns()
    asked = _Asked(question, policy)
    entered = perf_counter_ns() - started
    cold = asked.once()
    times = cold.nanoseconds
    cold.cold_nanoseconds = entered + (times[0] if times else 0)
    if sum(times) < _ONCE_ABOVE_NS:
        cold.nanoseconds = [took for _ in range(question.repeat) for took in asked.once().nanoseconds]
    return _with_mistake(cold, asked.mistake() if cold.unschedulable else None)


def _nothing(took: int, *, timed_out: bool = False, error: str | None = None) -> Answer:
    return Answer(nanoseconds=[took], cold_nanoseconds=took, timed_out=timed_out, error=error)


class _Asked:
    """An engine with everything that is in use entered."""

    def __init__(self, question: Question, policy: Policy) -> None:
        self._question = question
        self._engine = Engine(ClusterState(question.classes, question.features), policy)
        for pool in question.pools:
            self._engine.state.set_pool(pool)
        self._engine.state.hold(question.held)
        self._shareable = frozenset(
            pool.id_of(device) for pool in question.pools for device in pool.devices if device.is_shareable
        )

    def once(self) -> Answer:
        """Ask for every batch once; what a sequence holds is given back at the end."""
        found = Answer()
        kept: list[ClaimRef] = []
        share_ids = _share_ids()
        try:
            for batch in self._question.batches:
                started = perf_counter_ns()
                fits, allocation = self._everywhere(batch)
                if allocation is not None:
                    allocation = self._with_share_ids(allocation, share_ids)
                    if self._question.is_kept:
                        kept += self._hold(allocation)
                found.nanoseconds.append(perf_counter_ns() - started)
                found.fits = fits
                found.unschedulable = found.unschedulable or allocation is None
                if allocation is not None:
                    found.results += [allocation_result(allocation, claim.ref) for claim in batch]
                elif self._question.is_kept:
                    found.results.append(None)
        finally:
            for ref in kept:
                self._engine.state.release(ref)
        return found

    def mistake(self) -> str | None:
        """Return the error that must be fixed before the claims can fit, if there is one. Not timed."""
        if self._question.is_kept or not self._may_be_mistaken():
            return None
        (batch,) = self._question.batches
        refusal = self._engine.allocate(batch, self._question.nodes[0])
        return mistake_in(refusal, batch) if isinstance(refusal, Unallocatable) else None

    def _may_be_mistaken(self) -> bool:
        """Whether reasons are worth their time: an ordinary refusal is never a mistake."""
        asked = self._question
        options = [one for batch in asked.batches for claim in batch for one in _options(claim)]
        return sum(option.count or RESULTS + 1 for option in options) > RESULTS or not all(
            pool.is_complete and pool.problem is None for pool in asked.pools
        )

    def _everywhere(self, batch: Sequence[Claim]) -> tuple[list[str], Allocation | None]:
        """Return the nodes that fit, and what is allocated on the first of them."""
        nodes = self._question.nodes
        if len(nodes) == 1:
            allocation = decided_or_none(self._engine.decide(batch, nodes[0]))
            return [] if allocation is None else [nodes[0].name], allocation
        feasible = self._engine.feasible_nodes(batch, nodes)
        fits = list(feasible.names)
        for undecided in feasible.undecided:
            decided(undecided)
        if not fits:
            return fits, None
        first = next(node for node in nodes if node.name == fits[0])
        return fits, decided_or_none(self._engine.decide(batch, first))

    def _hold(self, allocation: Allocation) -> Iterator[ClaimRef]:
        for ref, results in allocation.results.items():
            self._engine.state.hold(AllocatedClaim(ref=ref, results=results))
            yield ref

    def _with_share_ids(self, allocation: Allocation, share_ids: Iterator[str]) -> Allocation:
        """Return the allocation with an id for each share: the core makes none, being without chance."""
        if not self._shareable:
            return allocation
        results = {
            ref: tuple(_shared(one, self._shareable, share_ids) for one in devices)
            for ref, devices in allocation.results.items()
        }
        return replace(allocation, results=results)


def _options(claim: Claim) -> Iterator[DeviceRequest]:
    return (option for request in claim.requests for option in request.alternatives)


def _shared(
    device: AllocatedDevice, shareable: frozenset[DeviceId], share_ids: Iterator[str]
) -> AllocatedDevice:
    return replace(device, share_id=next(share_ids)) if device.device in shareable else device


def _share_ids() -> Iterator[str]:
    """Yield ids that are the same in every run."""
    return (str(uuid5(_SHARES, str(number))) for number in count())
