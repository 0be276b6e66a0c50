"""Why a pod that asks by amounts does not get one device, and which claims to end so that it could.

Takes a pod's ask, a device, a node and a placer; returns a value. The state is as before afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduler_core.advice.remedies import EndClaims
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.pod_reasons.words import requirement_text
from scheduler_core.frontends.pods.cards import Card
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.planning.ending import EndingSearch, Questions, Wish
from scheduler_core.planning.freeing import holders_that_may_end
from scheduler_core.state.cluster_state import ClusterState

_QUESTIONS = 400
_NOT_ASKED = "the pod asks for no device of its type"
_POSSIBLE = "it could be had; another choice is closer together, or comes first"
_ALONE = "it is free, but the pod needs more than it"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDevice:
    """What keeps a pod from one device.

    Shape: ``is_asked`` where the pod asks for devices of its type; ``is_given`` where the pod gets it;
           ``is_possible`` where it could; ``why`` is a sentence without a full stop; ``remedies`` are claims
           to end; ``instead`` are the devices that the pod gets, empty where it gets none.
    """

    device: DeviceId
    node: str
    is_asked: bool = True
    is_given: bool = False
    is_possible: bool = False
    why: str = ""
    remedies: tuple[EndClaims, ...] = ()
    instead: tuple[DeviceId, ...] = ()


def pod_device(
    ask: PodAsk, device: DeviceId, node: Node, placer: PodPlacer, given: Sequence[DeviceId]
) -> PodDevice:
    """Return the verdict on a device. Shape: ``given`` is what the pod gets, empty for nothing."""
    found = PodDevice(device=device, node=node.name, instead=tuple(given))
    if device in given:
        return replace(found, is_given=True, is_possible=True, instead=())
    return _judged(found, ask, node, placer)


def _judged(found: PodDevice, ask: PodAsk, node: Node, placer: PodPlacer) -> PodDevice:
    asked = _asked(ask, found.device, node, placer)
    if asked is None:
        return replace(found, is_asked=False, why=_NOT_ASKED)
    kind, (card, now) = asked
    selector = ask.hint(kind).selector
    unmet = [one for one in selector.requirements if not one.admits(card.labels)] if selector else []
    if unmet:
        has = card.labels.get(unmet[0].key)
        told = f"its {unmet[0].key} is {has}" if has is not None else f"it has no {unmet[0].key}"
        return replace(found, why=f"the hint selects {requirement_text(unmet[0])}; {told}")
    if now.is_free:
        return replace(found, is_possible=True, why=_POSSIBLE if found.instead else _ALONE)
    seen = placer.state.seen_from(node)
    unused = PodPlacer(ClusterState.of(replace(seen, allocated=())))
    alone = _asked(ask, found.device, node, unused)
    if alone is None or not alone[1][1].is_free:
        return replace(found, why=now.why)
    return replace(found, why=now.why, remedies=_ending(ask, found.device, node, placer))


def _ending(ask: PodAsk, device: DeviceId, node: Node, placer: PodPlacer) -> tuple[EndClaims, ...]:
    """Return the fewest claims whose end makes the device free for the pod, if they were found."""

    def is_free() -> bool:
        asked = _asked(ask, device, node, placer)
        return asked is not None and asked[1][1].is_free

    holders = holders_that_may_end(placer.state.concerning(node), ())
    wish = Wish(is_free, 1, any(hint.exclusive is not None for hint in ask.hints.values()))
    search = EndingSearch(placer.state, wish, node, holders, Questions(_QUESTIONS), len(holders))
    ending = search.run()
    if ending is None:
        return ()
    return (EndClaims(node=node.name, held=ending.ended, is_fewest=ending.is_fewest),)


def _asked(
    ask: PodAsk, device: DeviceId, node: Node, placer: PodPlacer
) -> tuple[str, tuple[Card, NodeDevice]] | None:
    """Return the type for which a pod could take a device, and the GPU or card that has it."""
    for kind in ask.asks:
        for card, now in placer.each(ask, kind, node):
            if any(one.id == device for one in card.devices):
                return kind, (card, now)
    return None
