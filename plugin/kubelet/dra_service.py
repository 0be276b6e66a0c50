"""The kubelet's calls about claims, whatever version of its contract they came in.

Takes the names of claims; returns an entry for each of them, so one claim's failure affects no other. Claims
are read here, and refused where they are not allocated or their UID is not the one that the kubelet gave.
Claims of one call that share no hardware are worked on side by side, the others one after the other. A call
ends with its caller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Final

import grpc

from plugin.base.claim_uid import is_uid
from plugin.base.errors import CallerGone, ClaimUnusable, Unexpected
from plugin.base.groups import groups_of
from plugin.base.metrics import error_labels
from plugin.claim.driver import Driver
from plugin.claim.members import pools_of
from plugin.claim.plan import PreparedDevice
from plugin.claim.ports import ClaimReader
from plugin.claim.preparation import Preparation
from plugin.kubelet.claim_call import ClaimCall, Outcome, WireClaim, failures_text, fields_of_calls
from plugin.telling.deferred_log import DeferredLines
from plugin.telling.ports import ClaimObserver
from scheduler_core.base.errors import CoreError, InvalidInput
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid

# As many as a node has GPUs.
_SIDE_BY_SIDE: Final = 16
_log = logging.getLogger(__name__)

Action = Callable[[ClaimCall], tuple[PreparedDevice, ...]]


class Service:
    """Prepares and unprepares lists of claims, for every version of the contract."""

    def __init__(self, driver: Driver, claims: ClaimReader, observer: ClaimObserver) -> None:
        self._driver = driver
        self._claims = claims
        self._observer = observer

    def prepare(self, wanted: Iterable[WireClaim], context: grpc.ServicerContext) -> Mapping[str, Outcome]:
        """Prepare claims. Shape: an entry for each, by UID."""
        with _Counted(self._driver, "prepare"):
            calls = self._calls("prepare", wanted, context)
            if len(calls) > 1:
                self._read_ahead(calls)
            return self._outcomes(calls, self._prepare, context)

    def unprepare(self, wanted: Iterable[WireClaim], context: grpc.ServicerContext) -> Mapping[str, Outcome]:
        """Unprepare claims. Shape: an entry for each, by UID, also for claims that are not known."""
        with _Counted(self._driver, "unprepare"):
            return self._outcomes(self._calls("unprepare", wanted, context), self._unprepare, context)

    def _calls(
        self, attempted: str, wanted: Iterable[WireClaim], context: grpc.ServicerContext
    ) -> Sequence[ClaimCall]:
        budget = self._driver.budgets.begin(context.is_active, context.time_remaining())
        return [
            ClaimCall(
                attempted=attempted,
                ref=ClaimRef(one.namespace, one.name),
                uid=one.uid,
                context=context,
                budget=budget,
            )
            for one in wanted
        ]

    def _read_ahead(self, calls: Sequence[ClaimCall]) -> None:
        """Read several claims at once: which of them share hardware is known only then."""

        def read(call: ClaimCall) -> AllocatedClaim:
            call.refuse_gone()
            return self._read(call.checked_uid(), call.ref, lambda: None)

        with ThreadPoolExecutor(min(_SIDE_BY_SIDE, len(calls)), thread_name_prefix="read") as pool:
            for call in calls:
                call.reading = pool.submit(read, call)

    def _prepare(self, call: ClaimCall) -> tuple[PreparedDevice, ...]:
        uid, ref = call.checked_uid(), call.ref
        call.refuse_gone()
        with ExitStack() as block:
            opened: list[Preparation] = []
            # Opening takes about as long as the API server's answer, so both happen at the same time.
            allocated = self._allocated(
                call, lambda: opened.append(block.enter_context(self._driver.opened(uid, ref, call.budget)))
            )
            call.ours = tuple(one for one in allocated.results if self._is_told(one))
            name = self._driver.name
            pools = {pool: self._claims.members(name, pool) for pool in pools_of(allocated, name)}
            call.refuse_gone()
            devices = self._driver.finish(opened[0], allocated, pools)
        if devices:
            _after_answer(call.context, partial(self._observer.changed, uid, ref))
        return devices

    def _allocated(self, call: ClaimCall, meanwhile: Callable[[], None]) -> AllocatedClaim:
        """Return a claim's allocation, read now if it was not read ahead. Raises: PluginError."""
        if call.reading is None:
            return self._read(call.checked_uid(), call.ref, meanwhile)
        allocated = call.reading.result()
        meanwhile()
        return allocated

    def _is_told(self, one: AllocatedDevice) -> bool:
        """Whether the claim's status tells of a device. Of other nodes' devices their own plugins tell."""
        return (one.device.driver, one.device.pool) == (self._driver.name, self._driver.node_name)

    def _unprepare(self, call: ClaimCall) -> tuple[PreparedDevice, ...]:
        uid = call.checked_uid()
        call.refuse_gone()
        self._driver.unprepare(uid, call.ref, call.budget)
        # The status of a claim that was never prepared may say why: that goes, too.
        _after_answer(call.context, partial(self._observer.changed, uid, call.ref))
        return ()

    def _outcomes(
        self, calls: Sequence[ClaimCall], action: Action, context: grpc.ServicerContext
    ) -> Mapping[str, Outcome]:
        with DeferredLines() as lines:
            self._work(calls, action, lines)
            self._tell(calls)
        _after_answer(context, partial(self._settle, lines))
        return {call.uid: call.outcome for call in calls}

    def _settle(self, lines: DeferredLines) -> None:
        """Write and count what a call left for the time after its answer."""
        lines.write()
        self._driver.metrics.settle()

    def _work(self, calls: Sequence[ClaimCall], action: Action, lines: DeferredLines) -> None:
        if len(calls) < 2:
            for call in calls:
                _carry_out(call, action)
            return

        def work(group: Iterable[int]) -> None:
            with lines:
                for place in group:
                    _carry_out(calls[place], action)

        groups = groups_of([self._keys(call) for call in calls])
        with ThreadPoolExecutor(min(_SIDE_BY_SIDE, len(groups)), thread_name_prefix="claims") as pool:
            list(pool.map(work, groups))

    def _keys(self, call: ClaimCall) -> frozenset[Hashable]:
        """Return what no other claim of the call may be worked on beside this one with: itself, hardware."""
        reading = call.reading
        allocated = None if reading is None or reading.exception() is not None else reading.result()
        targets = (
            self._driver.lock_targets(ClaimUid(call.uid), allocated) if is_uid(call.uid) else frozenset()
        )
        return frozenset({call.uid, *targets})

    def _tell(self, calls: Sequence[ClaimCall]) -> None:
        """Log one line about all failures, and have each told to the users of its claim."""
        failed = [(call, call.failure) for call in calls if call.failure is not None]
        if not failed:
            return
        text = failures_text(calls)
        mistakes = (error.__cause__ for _, error in failed if isinstance(error, Unexpected))
        about = fields_of_calls([call for call, _ in failed])
        _log.warning("%s", text, exc_info=next(mistakes, None), extra=about)
        if any(failure.retry and not isinstance(failure, CallerGone) for _, failure in failed):
            self._driver.reconciling.hasten()
        for call, failure in failed:
            error, nvml = error_labels(failure)
            self._driver.metrics.count("errors_total", method=call.attempted, error=error, nvml=nvml)
            if call.can_be_told:
                self._observer.failed(ClaimUid(call.uid), call.ref, call.attempted, failure, call.ours)

    def _read(self, uid: ClaimUid, ref: ClaimRef, meanwhile: Callable[[], None]) -> AllocatedClaim:
        try:
            with self._driver.metrics.timed(
                "step_seconds", self._driver.budgets.clock, method="prepare", step="read"
            ):
                found = self._claims.read(ref, meanwhile)
            self._driver.figures.pods.note(uid, found)
            claim = decode_allocated_claim(found)
        except CoreError as error:
            raise ClaimUnusable("read", f"claim {ref}", _without_subject(error)) from error
        if claim is None:
            raise ClaimUnusable("prepare", f"claim {ref}", "it is not allocated")
        if claim.uid != uid:
            reason = f"the kubelet asks for UID {uid}, but the claim was replaced by one with UID {claim.uid}"
            raise ClaimUnusable("prepare", f"claim {ref}", reason, "the pod of the old claim must be deleted")
        return claim


class _Counted:
    """The block of one call of the kubelet, which is counted and measured."""

    __slots__ = ("_began", "_clock", "_method", "_metrics")

    def __init__(self, driver: Driver, method: str) -> None:
        self._metrics, self._clock, self._method = driver.metrics, driver.budgets.clock, method

    def __enter__(self) -> None:
        self._metrics.add("requests_in_flight", 1.0, method=self._method)
        self._began = self._clock()

    def __exit__(self, *_error: object) -> None:
        self._metrics.observe("request_seconds", self._clock() - self._began, method=self._method)
        self._metrics.add("requests_in_flight", -1.0, method=self._method)


def _carry_out(call: ClaimCall, action: Action) -> None:
    """Do what is asked for one claim and turn its result or its error into the claim's outcome."""
    try:
        call.outcome = Outcome(devices=action(call))
    except Exception as error:  # noqa: BLE001 - the outermost loop: the other claims must get their answer
        call.fail(error)


def _after_answer(context: grpc.ServicerContext, action: Callable[[], None]) -> None:
    """Run an action once the answer is out: a thread that it wakes earlier would delay the answer."""
    if not context.add_callback(action):  # the caller is gone
        action()


def _without_subject(error: CoreError) -> str:
    """Return an error's text without the object that it is about: the caller's sentence names it already."""
    text = str(error)
    return text.removeprefix(f"{error.subject}: ") if isinstance(error, InvalidInput) else text
