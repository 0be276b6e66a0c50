"""Converts the objects in cases of resource classes to what the front end works on.

Each goes through the front end's reader, so an error in a case names its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.classes.decode import (
    CLASS_KIND,
    DEVICES_KIND,
    decode_node_devices,
    decode_resource_class,
)
from scheduler_core.frontends.classes.events import (
    AddClass,
    AddNode,
    AddPod,
    DeletePod,
    Event,
    RemoveClass,
    RemoveNode,
    UpdateClass,
)
from scheduler_core.frontends.classes.model import ClassDevice, ResourceClass
from scheduler_core.frontends.classes.pods import requests_of

_WORDS = ("add_class", "update_class", "remove_class", "add_node", "remove_node", "add_pod", "delete_pod")


def first_events(case: Fields) -> Iterator[Event]:
    """Yield the nodes, in the order in which the list of devices names them first, then the classes."""
    listed = list(case.children("devices"))
    for node in dict.fromkeys(one.text("node") for one in listed):
        yield AddNode(node, _devices(node, [one for one in listed if one.text("node") == node]))
    for one in case.children("classes"):
        yield AddClass(_class(one))


def check_expected(case: Fields) -> None:
    """Refuse an expectation that nothing could be compared with. Raises: InvalidInput."""
    expect = case.child("expect")
    accepted = [one.optional("selected") for one in case.optional("accept").children("any_of")]
    for chosen in (expect.optional("selected"), *accepted):
        for name in chosen.values:
            chosen.texts(name)
    expect.optional("status")
    for event in case.children("events"):
        event.optional("expect_status")


def pod_event(fields: Fields) -> AddPod | DeletePod:
    """Return a pod that comes, or goes. Raises: InvalidInput."""
    if fields.has("delete"):
        return DeletePod(fields.text("delete"))
    fields.only("name", "requests")
    name = fields.text("name")
    return AddPod(name, requests_of(f"{fields.subject}: Pod {name}", fields.child("requests").values))


def event_of(fields: Fields) -> Event:
    """Return an event. Raises: InvalidInput for what is no event, InvalidResourceClass for a bad class."""
    words = [word for word in _WORDS if fields.has(word)]
    if len(words) != 1:
        raise fields.refuse("", f"must have exactly one of {', '.join(_WORDS)}", sorted(fields.values))
    (word,) = words
    match word:
        case "add_class":
            return AddClass(_class(fields.child(word)))
        case "update_class":
            return UpdateClass(_class(fields.child(word)))
        case "remove_class":
            return RemoveClass(_name(fields, word))
        case "add_node":
            name, place = _name(fields, word), fields
            if isinstance(fields.values[word], dict):
                place = fields.child(word)
            return AddNode(name, _devices(name, list(place.children("devices"))))
        case "remove_node":
            return RemoveNode(_name(fields, word))
        case "add_pod":
            return pod_event(fields.child(word))
        case _:
            return DeletePod(_name(fields, word))


def _name(fields: Fields, word: str) -> str:
    """Return a name; cases write it bare or in an object."""
    if isinstance(fields.values[word], dict):
        return fields.child(word).text("name")
    return fields.text(word)


def _devices(node: str, listed: list[Fields]) -> tuple[ClassDevice, ...]:
    bare: list[dict[str, Any]] = [
        {key: value for key, value in one.values.items() if key != "node"} for one in listed
    ]
    _, devices = decode_node_devices({"kind": DEVICES_KIND, "metadata": {"name": node}, "devices": bare})
    return devices


def _class(fields: Fields) -> ResourceClass:
    fields.only("name", "resourceSelector")
    spec = {"resourceSelector": fields.values.get("resourceSelector")}
    obj = {"kind": CLASS_KIND, "metadata": {"name": fields.text("name")}, "spec": spec}
    return decode_resource_class(obj)
