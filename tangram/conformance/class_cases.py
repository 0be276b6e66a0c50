"""Cases of resource classes: devices, classes, then pods or events, and what each class selects and counts.

Every class is compiled to a DeviceClass as well, which must select the same devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.classes.compile import expression_of
from scheduler_core.frontends.classes.errors import InvalidNodeDevices, InvalidResourceClass
from scheduler_core.frontends.classes.events import (
    AddPod,
    DeletePod,
    Event,
    EventRefused,
    Outcome,
    PodPlaced,
    PodUnplaced,
)
from scheduler_core.frontends.classes.published import published
from scheduler_core.frontends.classes.state import State, after, selected, statuses
from scheduler_core.rules.selectors import compile_selector, view
from tangram.conformance.class_objects import check_expected, event_of, first_events, pod_event
from tangram.conformance.runs import unequal

_DRIVER: Final = "cases.example.com"


@dataclass(slots=True)
class ClassRun:
    """A case, answered. Shape: ``steps`` has an entry per event."""

    content: Mapping[str, Any]
    state: State = field(default_factory=State)
    allocations: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def answer(self) -> dict[str, Any]:
        """Return what is selected, counted and allocated in the end, and the status after each event."""
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
            for name, wanted in (expect.get(key) or {}).items():
                yield from unequal(f"{key} of {name}", _even(wanted), _even(answer[key].get(name)))
        if "allocations" in expect:
            yield from unequal("allocations", expect["allocations"], self.allocations)
        events = self.content.get("events") or ()
        for number, (event, step) in enumerate(zip(events, self.steps, strict=True)):
            yield from _step_differences(f"event {number}", event, step)
        yield from _compiled_otherwise(self.content, self.state)

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks of what the case accepts."""
        if not any(not list(self.differences(other)) for other in accept.get("any_of", ())):
            yield f"the answer is none of those that are accepted: {self.answer}"


def counted(content: Mapping[str, Any]) -> ClassRun:
    """Return the answer to a case. Raises: InvalidInput for an object that the front end refuses."""
    run = ClassRun(content)
    case = Fields(content, f"case {content.get('name')}", "", InvalidInput)
    check_expected(case)
    for event in first_events(case):
        run.state, _ = after(run.state, event)
    for fields in case.children("pods"):
        _happened(run, pod_event(fields))
    for fields in case.children("events"):
        run.steps.append(_step(run, fields))
    return run


def _happened(run: ClassRun, event: Event) -> Outcome:
    """Take an event in; what pods were given is kept, and marked when they go."""
    run.state, outcome = after(run.state, event)
    match event:
        case AddPod(name):
            run.allocations.append({"pod": name, **_given(outcome)})
        case DeletePod(name):
            for allocation in run.allocations:
                if allocation["pod"] == name and "node" in allocation:
                    allocation["released"] = True
        case _:
            pass
    return outcome


def _given(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case PodPlaced(grant):
            uses = [
                {"class": use.class_name, "device": use.device, "quantity": use.quantity}
                for use in grant.uses
            ]
            return {"node": grant.node, "devices": uses}
        case _:
            return {"unschedulable": True}


def _step(run: ClassRun, fields: Fields) -> dict[str, Any]:
    """Take one event in. An object that is refused as invalid is as rejected as one that contradicts."""
    try:
        outcome = _happened(run, event_of(fields))
    except (InvalidResourceClass, InvalidNodeDevices) as error:
        outcome = EventRefused(str(error))
    return {
        "status": _statuses(run.state),
        "rejected": isinstance(outcome, EventRefused),
        "unschedulable": isinstance(outcome, PodUnplaced),
    }


def _selected(state: State) -> dict[str, list[str]]:
    return {name: [device.name for _, device in selected(state, name)] for name in state.classes}


def _statuses(state: State) -> dict[str, dict[str, int]]:
    return {
        name: {"Allocatable": one.allocatable, "Requested": one.requested}
        for name, one in statuses(state).items()
    }


def _step_differences(where: str, event: Mapping[str, Any], step: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in (event.get("expect_status") or {}).items():
        yield from unequal(f"{where}: status of {name}", wanted, step["status"].get(name))
    for key in ("rejected", "unschedulable"):
        if key in event:
            yield from unequal(f"{where}: {key}", event[key], step[key])
    if event.get("remove_class") in step["status"]:
        yield f"{where}: {event['remove_class']} still has a status"


def _compiled_otherwise(content: Mapping[str, Any], state: State) -> Iterator[str]:
    """Yield the classes whose DeviceClass selects other devices than they do themselves."""
    views = {}
    for one in content.get("devices") or ():
        texts = {key: _text(value) for key, value in (one.get("properties") or {}).items()}
        if one["node"] in state.nodes:
            views[one["node"], one["name"]] = view(_DRIVER, published(one["name"], texts, _DRIVER))
    for name, resource_class in state.classes.items():
        selector = compile_selector(expression_of(resource_class))
        compiled = {key for key, seen in views.items() if selector.matches(seen)}
        own = {(node, device.name) for node, device in selected(state, name)} & views.keys()
        yield from unequal(f"the DeviceClass of {name}", sorted(own), sorted(compiled))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _even(value: Any) -> Any:
    """Return names in an order of their own: sets of devices have none."""
    return sorted(value) if isinstance(value, list) else value
