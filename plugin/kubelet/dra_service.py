"""The kubelet's calls about claims, whatever version of its contract they came in.

Takes the names of claims; returns an entry for each of them, so one claim's failure affects no other. Claims
are read here, and refused where they are not allocated or their UID is not the one that the kubelet gave.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import grpc

from plugin.base.claim_uid import checked_uid, is_uid
from plugin.base.errors import ClaimUnreadable, ClaimUnusable, PluginError, Unexpected
from plugin.claim.driver import Driver
from plugin.claim.holder_wait import HolderWait
from plugin.claim.members import pools_of
from plugin.claim.plan import PreparedDevice
from plugin.claim.ports import ClaimReader
from plugin.claim.preparation import Preparation
from plugin.telling.deferred_log import deferred
from plugin.telling.ports import ClaimObserver
from scheduler_core.base.errors import CoreError, InvalidInput
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid

_log = logging.getLogger(__name__)


class WireClaim(Protocol):
    """A claim as every version of the contract names it."""

    @property
    def namespace(self) -> str: ...  # noqa: D102 - the wire's fields
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def uid(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer for one claim. Shape: ``error`` empty on success; ``devices`` empty on failure."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


@dataclass(slots=True, kw_only=True)
class _ClaimCall:
    """One claim of one call.

    Shape: ``ours`` its devices of this node of which the claim's status speaks, empty until its allocation is
           read.
    """

    attempted: str
    ref: ClaimRef
    uid: str
    context: grpc.ServicerContext
    ours: tuple[AllocatedDevice, ...] = ()

    def checked_uid(self) -> ClaimUid:
        """Return the UID. Raises: ClaimUnusable where it cannot be used."""
        return checked_uid(self.uid, self.ref)


Action = Callable[[_ClaimCall], tuple[PreparedDevice, ...]]


class Service:
    """Prepares and unprepares lists of claims, for every version of the contract."""

    def __init__(self, driver: Driver, claims: ClaimReader, observer: ClaimObserver) -> None:
        self._driver = driver
        self._claims = claims
        self._observer = observer

    def prepare(self, wanted: Iterable[WireClaim], context: grpc.ServicerContext) -> Mapping[str, Outcome]:
        """Prepare claims, one after the other. Shape: an entry for each, by UID."""
        wait = self._driver.holder_waits.begin(context.is_active)
        return self._outcomes("prepare", wanted, context, partial(self._prepare, wait))

    def unprepare(self, wanted: Iterable[WireClaim], context: grpc.ServicerContext) -> Mapping[str, Outcome]:
        """Unprepare claims. Shape: an entry for each, by UID, also for claims that are not known."""
        return self._outcomes("unprepare", wanted, context, self._unprepare)

    def _prepare(self, wait: HolderWait, call: _ClaimCall) -> tuple[PreparedDevice, ...]:
        uid, ref = call.checked_uid(), call.ref
        # A caller that hung up may already have asked to unprepare: nothing new is begun for it.
        if not call.context.is_active():
            raise ClaimUnreadable("prepare", f"claim {ref}", "the kubelet gave up waiting")
        with ExitStack() as block:
            opened: list[Preparation] = []
            # Opening takes about as long as the API server's answer, so both happen at the same time.
            allocated = self._read(
                uid, ref, lambda: opened.append(block.enter_context(self._driver.opened(uid, ref, wait)))
            )
            call.ours = tuple(one for one in allocated.results if self._is_told(one))
            name = self._driver.name
            pools = {pool: self._claims.members(name, pool) for pool in pools_of(allocated, name)}
            devices = self._driver.finish(opened[0], allocated, pools)
        if devices:
            _after_answer(call.context, partial(self._observer.changed, uid, ref))
        return devices

    def _is_told(self, one: AllocatedDevice) -> bool:
        """Whether the claim's status tells of a device. Of other nodes' devices their own plugins tell."""
        return (one.device.driver, one.device.pool) == (self._driver.name, self._driver.node_name)

    def _unprepare(self, call: _ClaimCall) -> tuple[PreparedDevice, ...]:
        uid = call.checked_uid()
        self._driver.unprepare(uid, call.ref)
        # The status of a claim that was never prepared may say why: that goes, too.
        _after_answer(call.context, partial(self._observer.changed, uid, call.ref))
        return ()

    def _outcomes(
        self, attempted: str, wanted: Iterable[WireClaim], context: grpc.ServicerContext, action: Action
    ) -> Mapping[str, Outcome]:
        calls = [
            _ClaimCall(
                attempted=attempted, ref=ClaimRef(one.namespace, one.name), uid=one.uid, context=context
            )
            for one in wanted
        ]
        with deferred() as lines:
            outcomes = {call.uid: self._outcome(call, action) for call in calls}
        _after_answer(context, lines.write)
        return outcomes

    def _outcome(self, call: _ClaimCall, action: Action) -> Outcome:
        """Run an action for one claim and turn its result or its error into the claim's entry."""
        try:
            return Outcome(devices=action(call))
        except PluginError as error:
            text = _with_claim(call.ref, error)
            _log.warning("%s", text)
            failure = error
        except Exception as error:  # noqa: BLE001 - the outermost loop: the other claims must get their answer
            _log.exception("claim %s: %s failed unexpectedly", call.ref, call.attempted)
            reason = f"unexpected {type(error).__name__}: {error}"
            failure = Unexpected(call.attempted, f"claim {call.ref}", reason)
            text = str(failure)
        if is_uid(call.uid):
            self._observer.failed(ClaimUid(call.uid), call.ref, call.attempted, failure, call.ours)
        return Outcome(error=text)

    def _read(self, uid: ClaimUid, ref: ClaimRef, meanwhile: Callable[[], None]) -> AllocatedClaim:
        try:
            claim = decode_allocated_claim(self._claims.read(ref, meanwhile))
        except CoreError as error:
            raise ClaimUnusable("read", f"claim {ref}", _without_subject(error)) from error
        if claim is None:
            raise ClaimUnusable("prepare", f"claim {ref}", "it is not allocated")
        if claim.uid != uid:
            reason = f"the kubelet asks for UID {uid}, but the claim was replaced by one with UID {claim.uid}"
            raise ClaimUnusable("prepare", f"claim {ref}", reason, "the pod of the old claim must be deleted")
        return claim


def _after_answer(context: grpc.ServicerContext, action: Callable[[], None]) -> None:
    """Run an action once the answer is out: a thread that it wakes earlier would delay the answer."""
    if not context.add_callback(action):  # the caller is gone
        action()


def _without_subject(error: CoreError) -> str:
    """Return an error's text without the object that it is about: the caller's sentence names it already."""
    text = str(error)
    return text.removeprefix(f"{error.subject}: ") if isinstance(error, InvalidInput) else text


def _with_claim(ref: ClaimRef, error: PluginError) -> str:
    """Return an error's text, with the claim named exactly once."""
    return str(error) if error.subject.endswith(f"claim {ref}") else f"claim {ref}: {error}"
