"""gRPC to model and back, for both versions of the kubelet's contract from one implementation.

Requests enter, an entry for every claim of them leaves: one claim's failure stays its own. Claims are
read here, and refused where they are not allocated or not the ones that the kubelet means.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import grpc

from plugin._pb.dra_v1 import api_pb2 as v1
from plugin._pb.dra_v1 import api_pb2_grpc as v1_grpc
from plugin._pb.dra_v1beta1 import api_pb2 as v1beta1
from plugin._pb.dra_v1beta1 import api_pb2_grpc as v1beta1_grpc
from plugin.base.errors import ClaimUnreadable, ClaimUnusable, PluginError, Unexpected
from plugin.claim.driver import Driver
from plugin.claim.plan import PreparedDevice
from plugin.claim.preparation import Begun
from plugin.claim.record import checked_uid, is_uid
from plugin.telling.deferred_log import held_back
from plugin.telling.ports import ClaimReader, Witness
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
    """What one claim is told. Shape: ``error`` empty on success; ``devices`` empty on failure."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


Deed = Callable[[ClaimUid, ClaimRef], tuple[PreparedDevice, ...]]


class Service:
    """Prepare and unprepare for lists of claims, whatever version asks."""

    def __init__(self, driver: Driver, claims: ClaimReader, witness: Witness) -> None:
        self._driver = driver
        self._claims = claims
        self._witness = witness

    def prepare(self, wanted: Iterable[WireClaim], context: grpc.ServicerContext) -> Mapping[str, Outcome]:
        """Prepare claims, one after the other. Shape: an entry for each, by UID."""
        ours: dict[str, tuple[AllocatedDevice, ...]] = {}
        wait = self._driver.patience.begin(context.is_active)

        def deed(uid: ClaimUid, ref: ClaimRef) -> tuple[PreparedDevice, ...]:
            # A caller that hung up may already have asked to unprepare: nothing new is begun for it.
            if not context.is_active():
                raise ClaimUnreadable("prepare", f"claim {ref}", "the kubelet gave up waiting")
            with ExitStack() as block:
                begun: list[Begun] = []
                # Locking, looking and writing down what is coming take as long as the API server's answer.
                allocated = self._read(
                    uid, ref, lambda: begun.append(block.enter_context(self._driver.begun(uid, ref, wait)))
                )
                ours[uid] = tuple(one for one in allocated.results if one.device.driver == self._driver.name)
                devices = begun[0].prepare(allocated)
            if devices:
                _afterwards(context, partial(self._witness.changed, uid, ref))
            return devices

        with held_back() as lines:
            outcomes = {claim.uid: self._outcome("prepare", claim, deed, ours) for claim in wanted}
        _afterwards(context, lines.write)
        return outcomes

    def unprepare(self, wanted: Iterable[WireClaim], context: grpc.ServicerContext) -> Mapping[str, Outcome]:
        """Unprepare claims. Shape: an entry for each, by UID, also for claims never heard of."""

        def deed(uid: ClaimUid, ref: ClaimRef) -> tuple[PreparedDevice, ...]:
            self._driver.unprepare(uid, ref)
            # One that was never prepared may say in its status why.
            _afterwards(context, partial(self._witness.changed, uid, ref))
            return ()

        with held_back() as lines:
            outcomes = {claim.uid: self._outcome("unprepare", claim, deed, {}) for claim in wanted}
        _afterwards(context, lines.write)
        return outcomes

    def _outcome(
        self,
        attempted: str,
        claim: WireClaim,
        deed: Deed,
        ours: Mapping[str, Sequence[AllocatedDevice]],
    ) -> Outcome:
        """Run a deed for one claim and turn whatever comes out of it into its entry.

        Shape: ``ours`` are the devices that are not ready where the deed fails, by UID, as far as known.
        """
        ref = ClaimRef(claim.namespace, claim.name)
        try:
            return Outcome(devices=deed(checked_uid(claim.uid, ref), ref))
        except PluginError as error:
            told = _told(ref, error)
            _log.warning("%s", told)
            failure = error
        except Exception as error:  # noqa: BLE001 - the outermost loop: the other claims must get their answer
            _log.exception("claim %s: %s failed unexpectedly", ref, attempted)
            failure = Unexpected(attempted, f"claim {ref}", f"unexpected {type(error).__name__}: {error}")
            told = str(failure)
        if is_uid(claim.uid):
            self._witness.failed(ClaimUid(claim.uid), ref, attempted, failure, ours.get(claim.uid, ()))
        return Outcome(error=told)

    def _read(self, uid: ClaimUid, ref: ClaimRef, meanwhile: Callable[[], None]) -> AllocatedClaim:
        try:
            claim = decode_allocated_claim(self._claims.read(ref, meanwhile))
        except CoreError as error:
            raise ClaimUnusable("read", f"claim {ref}", _without_subject(error)) from error
        if claim is None:
            raise ClaimUnusable("prepare", f"claim {ref}", "it is not allocated")
        if claim.uid != uid:
            reason = f"the kubelet means UID {uid}, and the claim of that name has {claim.uid}: replaced"
            raise ClaimUnusable("prepare", f"claim {ref}", reason, "the pod of the old claim must go")
        return claim


def _afterwards(context: grpc.ServicerContext, tell: Callable[[], None]) -> None:
    """Tell somebody once the answer is out: a thread that wakes before would hold it up."""
    if not context.add_callback(tell):  # the caller is gone
        tell()


def _without_subject(error: CoreError) -> str:
    """Return what is wrong with an object for a sentence that names it already."""
    text = str(error)
    return text.removeprefix(f"{error.subject}: ") if isinstance(error, InvalidInput) else text


def _told(ref: ClaimRef, error: PluginError) -> str:
    """Return an error's text with the claim named, once."""
    return str(error) if error.subject.endswith(f"claim {ref}") else f"claim {ref}: {error}"


class DraV1(v1_grpc.DRAPluginServicer):
    """``k8s.io.kubelet.pkg.apis.dra.v1``."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def NodePrepareResources(  # noqa: D102, N802 - the wire's name
        self, request: v1.NodePrepareResourcesRequest, context: grpc.ServicerContext
    ) -> v1.NodePrepareResourcesResponse:
        response = v1.NodePrepareResourcesResponse()
        for uid, outcome in self._service.prepare(request.claims, context).items():
            entry = response.claims[uid]
            entry.error = outcome.error
            for device in outcome.devices:
                entry.devices.add(
                    request_names=device.requests,
                    pool_name=device.pool,
                    device_name=device.device,
                    cdi_device_ids=device.cdi_ids,
                )
        return response

    def NodeUnprepareResources(  # noqa: D102, N802 - the wire's name
        self, request: v1.NodeUnprepareResourcesRequest, context: grpc.ServicerContext
    ) -> v1.NodeUnprepareResourcesResponse:
        response = v1.NodeUnprepareResourcesResponse()
        for uid, outcome in self._service.unprepare(request.claims, context).items():
            response.claims[uid].error = outcome.error
        return response


class DraV1Beta1(v1beta1_grpc.DRAPluginServicer):
    """``k8s.io.kubelet.pkg.apis.dra.v1beta1``: the same bytes on the wire, but for what v1 added."""

    def __init__(self, newer: DraV1) -> None:
        self._newer = newer

    def NodePrepareResources(  # noqa: D102, N802 - the wire's name
        self, request: v1beta1.NodePrepareResourcesRequest, context: grpc.ServicerContext
    ) -> v1beta1.NodePrepareResourcesResponse:
        asked = v1.NodePrepareResourcesRequest.FromString(request.SerializeToString())
        answered = self._newer.NodePrepareResources(asked, context)
        return v1beta1.NodePrepareResourcesResponse.FromString(answered.SerializeToString())

    def NodeUnprepareResources(  # noqa: D102, N802 - the wire's name
        self, request: v1beta1.NodeUnprepareResourcesRequest, context: grpc.ServicerContext
    ) -> v1beta1.NodeUnprepareResourcesResponse:
        asked = v1.NodeUnprepareResourcesRequest.FromString(request.SerializeToString())
        answered = self._newer.NodeUnprepareResources(asked, context)
        return v1beta1.NodeUnprepareResourcesResponse.FromString(answered.SerializeToString())
