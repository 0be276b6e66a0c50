"""Cases of resource classes: devices, classes, then pods or events, and what each class selects and counts.

The form is the cases' own; objects go through the readers of the front end, and every class is compiled
to a DeviceClass as well, which must select the same devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scheduler_core.codec.fields import Fields
from scheduler_core.errors import InvalidInput
from scheduler_core.frontends.classes.compile import expression_of
from scheduler_core.frontends.classes.decode import (
    CLASS_KIND,
    DEVICES_KIND,
    decode_node_devices,
    decode_resource_class,
)
from scheduler_core.frontends.classes.errors import InvalidNodeDevices, InvalidResourceClass
from scheduler_core.frontends.classes.events import (
    AddClass,
    AddNode,
    AddPod,
    DeletePod,
    Event,
    Outcome,
    Placed,
    Refused,
    RemoveClass,
    RemoveNode,
    Unplaced,
    UpdateClass,
)
from scheduler_core.frontends.classes.model import ClassDevice, ResourceClass
from scheduler_core.frontends.classes.pods import requests_of
from scheduler_core.frontends.classes.published import published
from scheduler_core.frontends.classes.state import State, after, selected, statuses
from scheduler_core.selectors import compile_selector, view
from tangram.conformance.runs import unequal

_DRIVER: Final = "cases.example.com"
_WORDS: Final = (
    "add_class",
    "remove_class",
    "update_class",
    "add_node",
    "remove_node",
    "add_pod",
    "delete_pod",
)


@dataclass(slots=True)
class ClassRun:
    """A case, answered. Shape: ``steps`` has an entry per event."""

    content: Mapping[str, Any]
    state: State = field(default_factory=State)
    allocations: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def answer(self) -> dict[str, Any]:
        """Return what is selected, counted and allocated in the end."""
        return {
            "selected": _selected(self.state),
            "status": _statuses(self.state),
            "allocations": self.allocations,
            "events": self.steps,
        }

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield how the answer, or one after an event, differs, and where a DeviceClass selects otherwise."""
        answer = self.answer
        for key in ("selected", "status"):
            found = answer[key]
            for name, wanted in (expect.get(key) or {}).items():
                yield from unequal(f"{key} of {name}", _even(wanted), _even(found.get(name)))
        if "allocations" in expect:
            yield from unequal("allocations", _even(expect["allocations"]), _even(self.allocations))
        for number, (event, step) in enumerate(
            zip(self.content.get("events") or (), self.steps, strict=True)
        ):
            yield from _step_differences(f"event {number}", event, step)
        yield from _compiled_otherwise(self.content, self.state)

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks of what the case accepts."""
        if not any(not list(self.differences(other)) for other in accept.get("any_of", ())):
            yield f"the answer is none of those that are accepted: {self.answer}"


def counted(content: Mapping[str, Any]) -> ClassRun:
    """Return the answer to a case. Raises: InvalidInput for an object that the front end refuses."""
    run = ClassRun(content)
    for node, devices in _nodes(content.get("devices") or ()):
        run.state, _ = after(run.state, AddNode(node, devices))
    for one in content.get("classes") or ():
        run.state, _ = after(run.state, AddClass(_class(one)))
    for one in content.get("pods") or ():
        _pod(run, one)
    for one in content.get("events") or ():
        run.steps.append(_step(run, one))
    return run


def _pod(run: ClassRun, one: Mapping[str, Any]) -> Outcome:
    if "delete" in one:
        run.state, outcome = after(run.state, DeletePod(str(one["delete"])))
        for allocation in run.allocations:
            if allocation["pod"] == one["delete"] and "node" in allocation:
                allocation["released"] = True
        return outcome
    name = str(one["name"])
    run.state, outcome = after(run.state, AddPod(name, requests_of(f"Pod {name}", one["requests"])))
    run.allocations.append({"pod": name, **_given(outcome)})
    return outcome


def _given(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Placed(placement):
            uses = [
                {"class": use.class_name, "device": use.device, "quantity": use.quantity}
                for use in placement.uses
            ]
            return {"node": placement.node, "devices": uses}
        case _:
            return {"unschedulable": True}


def _step(run: ClassRun, one: Mapping[str, Any]) -> dict[str, Any]:
    """Take one event in. An object that is refused as invalid is as rejected as one that contradicts."""
    (word,) = [key for key in one if key in _WORDS]
    try:
        outcome = _pod(run, _pod_of(word, one[word])) if "pod" in word else _taken(run, _event(word, one))
    except (InvalidResourceClass, InvalidNodeDevices) as error:
        outcome = Refused(str(error))
    return {
        "status": _statuses(run.state),
        "rejected": isinstance(outcome, Refused),
        "unschedulable": isinstance(outcome, Unplaced),
    }


def _taken(run: ClassRun, event: Event) -> Outcome:
    run.state, outcome = after(run.state, event)
    return outcome


def _pod_of(word: str, value: Any) -> Mapping[str, Any]:
    if word == "delete_pod":
        return {"delete": _name(value)}
    return dict(value)


def _event(word: str, one: Mapping[str, Any]) -> Event:
    value = one[word]
    match word:
        case "add_class":
            return AddClass(_class(value))
        case "update_class":
            return UpdateClass(_class(value))
        case "remove_class":
            return RemoveClass(_name(value))
        case "remove_node":
            return RemoveNode(_name(value))
        case _:
            devices = value.get("devices") if isinstance(value, Mapping) else one.get("devices")
            return AddNode(_name(value), _devices(_name(value), devices or ()))


def _name(value: Any) -> str:
    return str(value["name"] if isinstance(value, Mapping) else value)


def _nodes(listed: Any) -> Iterator[tuple[str, tuple[ClassDevice, ...]]]:
    """Yield the nodes in the order in which the list of devices names them first."""
    for node in dict.fromkeys(str(one["node"]) for one in listed):
        yield node, _devices(node, [one for one in listed if str(one["node"]) == node])


def _devices(node: str, listed: Any) -> tuple[ClassDevice, ...]:
    bare = [{key: value for key, value in one.items() if key != "node"} for one in listed]
    _, devices = decode_node_devices({"kind": DEVICES_KIND, "metadata": {"name": node}, "devices": bare})
    return devices


def _class(one: Mapping[str, Any]) -> ResourceClass:
    fields = Fields(one, f"{CLASS_KIND} {one.get('name')}", "", InvalidInput)
    fields.only("name", "resourceSelector")
    spec = {"resourceSelector": one.get("resourceSelector")}
    return decode_resource_class({"kind": CLASS_KIND, "metadata": {"name": one["name"]}, "spec": spec})


def _selected(state: State) -> dict[str, list[str]]:
    return {name: [device.name for _, device in selected(state, name)] for name in state.classes}


def _statuses(state: State) -> dict[str, dict[str, int]]:
    return {
        name: {"Allocatable": one.allocatable, "Requested": one.requested}
        for name, one in statuses(state).items()
    }


def _step_differences(where: str, event: Mapping[str, Any], step: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in event.get("expect_status", {}).items():
        yield from unequal(f"{where}: status of {name}", wanted, step["status"].get(name))
    for key in ("rejected", "unschedulable"):
        if key in event:
            yield from unequal(f"{where}: {key}", event[key], step[key])
    gone = event.get("remove_class")
    if gone is not None and _name(gone) in step["status"]:
        yield f"{where}: {_name(gone)} still has a status"


def _compiled_otherwise(content: Mapping[str, Any], state: State) -> Iterator[str]:
    """Yield the classes whose DeviceClass selects other devices than they do themselves."""
    listed = content.get("devices") or ()
    views = {}
    for one in listed:
        texts = {key: str(value) for key, value in (one.get("properties") or {}).items()}
        views[one["node"], one["name"]] = view(_DRIVER, published(one["name"], texts, _DRIVER))
    for name, resource_class in state.classes.items():
        selector = compile_selector(expression_of(resource_class))
        compiled = {key for key, seen in views.items() if selector.matches(seen)}
        own = {(node, device.name) for node, device in selected(state, name)} & views.keys()
        gone = {key for key in views if key[0] not in state.nodes}
        yield from unequal(f"the DeviceClass of {name}", sorted(own), sorted(compiled - gone))


def _even(value: Any) -> Any:
    """Return a value with its lists in an order of their own: sets of devices have none."""
    match value:
        case dict():
            return {key: _even(one) for key, one in value.items()}
        case list() if all(isinstance(one, str) for one in value):
            return sorted(value)
        case list():
            return [_even(one) for one in value]
        case _:
            return value
