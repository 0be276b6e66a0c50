"""The state of classes, nodes and pods, and how each event changes it.

Takes a state and an event; returns a new state and the outcome. A refused event changes nothing. Every number
is computed from the stored facts, so no amount can leak: a pod that ends releases its devices, and a node
that returns has its pods again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import field, replace
from typing import TypeVar

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.classes.events import (
    AddClass,
    AddNode,
    AddPod,
    DeletePod,
    Done,
    Event,
    EventRefused,
    Outcome,
    PodPlaced,
    PodUnplaced,
    RemoveClass,
    RemoveNode,
    UpdateClass,
)
from scheduler_core.frontends.classes.first_fit import ClassRequest, first_fit
from scheduler_core.frontends.classes.model import ClassDevice, Grant, ResourceClass
from scheduler_core.frontends.classes.selection import selects

_One = TypeVar("_One")


@dataclass(frozen=True, slots=True)
class Status:
    """Amounts of the devices that a class selects, on all present nodes.

    Shape: ``requested`` counts everything in use of them, for whichever class it was given.
    """

    allocatable: int
    requested: int


@dataclass(frozen=True, slots=True)
class GrantedPod:
    """A pod that holds devices. Shape: ``requests`` by class, None where only the grant is known."""

    requests: Mapping[str, int] | None
    grant: Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The facts. Shape: each in the order of arrival; nodes keep the order of their devices."""

    classes: Mapping[str, ResourceClass] = field(default_factory=dict)
    nodes: Mapping[str, tuple[ClassDevice, ...]] = field(default_factory=dict)
    pods: Mapping[str, GrantedPod] = field(default_factory=dict)


def after(state: State, event: Event) -> tuple[State, Outcome]:
    """Return the state after an event, and the outcome of the event."""
    match event:
        case AddClass(added):
            return _add_class(state, added)
        case UpdateClass(updated) if updated.name not in state.classes:
            return state, EventRefused(f"ResourceClass {updated.name} cannot be updated: it does not exist")
        case UpdateClass(updated):
            return _add_class(state, updated)
        case RemoveClass(name):
            return replace(state, classes=_without(state.classes, name)), Done()
        case AddNode(name, devices):
            return replace(state, nodes={**state.nodes, name: devices}), Done()
        case RemoveNode(name):
            return replace(state, nodes=_without(state.nodes, name)), Done()
        case AddPod():
            return _add_pod(state, event)
        case DeletePod(name):
            return replace(state, pods=_without(state.pods, name)), Done()


def statuses(state: State) -> Mapping[str, Status]:
    """Return the status of every class, in the order of classes."""
    used = _used(state)
    return {name: _status(one, state, used) for name, one in state.classes.items()}


def selected(state: State, class_name: str) -> Iterator[tuple[str, ClassDevice]]:
    """Yield the devices that a class selects, each with its node, in order."""
    for node, devices in state.nodes.items():
        for device in devices:
            if selects(state.classes[class_name], device.properties):
                yield node, device


def in_use(state: State, node: str) -> Mapping[str, int]:
    """Return the amounts in use on a node, by device; without devices that are not in use."""
    return _used(state).get(node, {})


def _status(one: ResourceClass, state: State, used: Mapping[str, Mapping[str, int]]) -> Status:
    devices = list(selected(state, one.name))
    return Status(
        allocatable=sum(device.quantity for _, device in devices),
        requested=sum(used.get(node, {}).get(device.name, 0) for node, device in devices),
    )


def _add_class(state: State, added: ResourceClass) -> tuple[State, Outcome]:
    known = state.classes.get(added.name)
    if known is not None and known != added:
        rule = "its spec is immutable; delete it and create another"
        return state, EventRefused(f"ResourceClass {added.name} cannot be changed: {rule}")
    return replace(state, classes={**state.classes, added.name: added}), Done()


def _add_pod(state: State, event: AddPod) -> tuple[State, Outcome]:
    known = state.pods.get(event.name)
    if known is not None:
        return state, _again(known, event)
    if event.grant is not None:
        return _held(state, event, event.grant), PodPlaced(event.grant)
    grant = _grant(state, event)
    if grant is None:
        return state, PodUnplaced(_why_not(state, event))
    return _held(state, event, grant), PodPlaced(grant)


def _again(known: GrantedPod, event: AddPod) -> Outcome:
    """Return the outcome for a pod that is known already: a repeated event changes nothing."""
    is_same_place = event.grant is None or event.grant == known.grant
    is_same_request = None in (known.requests, event.requests) or known.requests == event.requests
    if is_same_place and is_same_request:
        return PodPlaced(known.grant)
    return EventRefused(f"pod {event.name} cannot be changed: it holds devices on {known.grant.node}")


def _held(state: State, event: AddPod, grant: Grant) -> State:
    return replace(state, pods={**state.pods, event.name: GrantedPod(event.requests, grant)})


def _grant(state: State, event: AddPod) -> Grant | None:
    requests = {name: quantity for name, quantity in (event.requests or {}).items() if quantity}
    if any(name not in state.classes for name in requests):
        return None
    used = _used(state)
    for node, devices in state.nodes.items():
        free = _free(node, devices, used, event.without)
        wants = [_want(state, name, quantity, devices) for name, quantity in requests.items()]
        uses = first_fit(wants, free)
        if uses is not None:
            return Grant(node, uses)
    return None


def _want(state: State, name: str, quantity: int, devices: tuple[ClassDevice, ...]) -> ClassRequest:
    one = state.classes[name]
    return ClassRequest(name, quantity, tuple(d.name for d in devices if selects(one, d.properties)))


def _free(
    node: str,
    devices: tuple[ClassDevice, ...],
    used: Mapping[str, Mapping[str, int]],
    without: Set[tuple[str, str]],
) -> dict[str, int]:
    """Return the free amounts by device. A node may report less later than what is in use."""
    taken = used.get(node, {})
    return {
        one.name: 0 if (node, one.name) in without else max(0, one.quantity - taken.get(one.name, 0))
        for one in devices
    }


def _why_not(state: State, event: AddPod) -> str:
    requests = event.requests or {}
    unknown = [name for name in requests if name not in state.classes]
    if unknown:
        return f"there is no ResourceClass {', '.join(unknown)}"
    used = _used(state)
    most = {name: 0 for name in requests}
    for node, devices in state.nodes.items():
        free = _free(node, devices, used, event.without)
        for name in requests:
            total = sum(free[one] for one in _want(state, name, 0, devices).devices)
            most[name] = max(most[name], total)
    short = [
        f"{name}: {quantity} asked, at most {most[name]} free"
        for name, quantity in requests.items()
        if quantity > most[name]
    ]
    if not short:
        return "no single node has enough for all of its classes together"
    return f"no single node has enough: {'; '.join(short)}"


def _used(state: State) -> dict[str, dict[str, int]]:
    """Return the amounts in use by node and device."""
    found: dict[str, dict[str, int]] = {}
    for pod in state.pods.values():
        on_node = found.setdefault(pod.grant.node, {})
        for use in pod.grant.uses:
            on_node[use.device] = on_node.get(use.device, 0) + use.quantity
    return found


def _without(mapping: Mapping[str, _One], name: str) -> Mapping[str, _One]:
    return {key: value for key, value in mapping.items() if key != name}
