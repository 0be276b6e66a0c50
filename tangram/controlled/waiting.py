"""The pods that wait for the controller, and what becomes of each. Takes a coordinator; returns values."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decide.decisions import Decision, NotTogether, Placed, Served
from controller.model.pods import Pod
from controller.run.coordinator import Coordinator
from scheduler_core.base.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWaiting:
    """A pod that waits for devices.

    Shape: ``node`` is where it gets them now, None where it gets none; ``devices`` by claim; ``is_served``
           where only its gate has to go; ``reason`` why it gets none, as its condition says it.
    """

    pod: Pod
    node: str | None = None
    devices: Mapping[str, tuple[str, ...]]
    is_served: bool = False
    reason: str = ""


def waiting(coordinator: Coordinator) -> tuple[PodWaiting, ...]:
    """Decide about all pods that wait for the controller, and return them in the order of the decisions.

    Pods whose waiting is not the controller's business are left out: it would tell them nothing.
    """
    found = []
    for uid, decision in decide_all(coordinator).items():
        one = what_becomes_of(coordinator.seen.waiting[uid], decision, coordinator)
        if one.node is not None or one.is_served or one.reason:
            found.append(one)
    for uid, why in coordinator.standing.notes.items():
        pod = coordinator.seen.waiting[uid]
        if why and pod.is_gated:
            found.append(PodWaiting(pod=pod, devices={}, reason=why))
    return tuple(found)


def decide_all(coordinator: Coordinator) -> Mapping[str, Decision]:
    """Decide about all pods, and return the decisions by the pods' UIDs."""
    decided: dict[str, Decision] = {}
    coordinator.wake()
    while (one := coordinator.decide()) is not None:
        decided |= {decision.question.pod.uid: decision for decision in one.decisions}
    found: dict[str, Decision] = {}
    for uid, decision in decided.items():
        # Pods that ask for the same are refused together; of groups every member is decided about.
        is_alone = isinstance(decision, Placed | Served | NotTogether)
        same = [uid] if is_alone else coordinator.standing.same_shape(uid)
        found.update(dict.fromkeys(same, decision))
    return found


def what_becomes_of(pod: Pod, decision: Decision, coordinator: Coordinator) -> PodWaiting:
    """Return a decision about a pod in words."""
    match decision:
        case Placed():
            return PodWaiting(pod=pod, node=decision.node, devices=devices_of(decision))
        case Served():
            node = coordinator.seen.rooms.node_of(pod.uid)
            return PodWaiting(pod=pod, node=node, devices={}, is_served=True)
        case _:
            return PodWaiting(pod=pod, devices={}, reason=coordinator.standing.why(decision))


def devices_of(decision: Placed) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the devices by claim."""
    given = decision.devices
    return {str(ref): tuple(str(one.device) for one in results) for ref, results in given.items()}
