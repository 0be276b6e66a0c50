"""Whether a case has the form of its kind, before anything is made of it.

Input: a case as JSON. An error names the place of a field of the wrong form. What is inside API objects is
checked by their decoders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.features import Features
from scheduler_core.codec.fields import Fields
from tangram.conformance.kinds import Kind

_RESULT: Final = ("request", "driver", "pool", "device")
_PROPERTIES: Final[Mapping[str, tuple[str, ...]]] = {
    "devicesFrom": ("request",),
    "count": ("request",),
    "sameAttribute": ("attribute",),
    "distinctAttribute": ("attribute",),
    "sameSet": ("attribute",),
    "overlap": ("attribute",),
}
"""The texts that each kind of property needs, of those that have any."""


def check_form(content: Mapping[str, Any], name: str, kind: Kind) -> None:
    """Refuse a case that is not in the form of its kind.

    Raises: InvalidInput naming the case, the field, the value and the rule.
    """
    case = Fields(content, f"case {name}", "", InvalidInput)
    if kind is Kind.VALUE:
        _value(case)
        return
    if not case.has("expect"):
        raise case.refuse("expect", "is required")
    match kind:
        case Kind.SELECTOR:
            _selector(case)
        case Kind.NAMED:
            _situation(case)
            _named(case.child("expect"))
        case Kind.LISTED | Kind.FEASIBLE:
            _situation(case)
            _listed(case.child("expect"))
        case _:
            return


def _selector(case: Fields) -> None:
    case.text("expression")
    device = case.child("device")
    device.text("driver")
    for key in ("attributes", "capacity"):
        named = device.optional(key)
        for name in named.values:
            if len(named.child(name).values) != 1:
                raise named.refuse(name, "must have exactly one value", named.values[name])
            if key == "capacity":
                named.child(name).quantity("value")
    if len(case.child("expect").values) != 1:
        raise case.refuse("expect", "must be exactly one of match, compileError and runtimeError")


def _value(case: Fields) -> None:
    case.text("expression")
    if case.child("kubernetes").values.keys() not in ({"value"}, {"error"}, {"compile"}):
        raise case.refuse("kubernetes", "must be exactly one of value, error and compile")


def _situation(case: Fields) -> None:
    for key in ("slices", "classes", "claims"):
        for one in case.children(key):
            one.optional("metadata")
    for one in case.children("slices"):
        list(one.child("spec").children("devices"))
    _features(case)
    nodes = list(case.children("nodes")) or [case.optional("node")]
    for node in nodes:
        described = node.optional("metadata") if node.has("metadata") else node
        described.text("name", "")
        labels = described.optional("labels")
        for label in labels.values:
            labels.text(label)
    _allocated(case)


def _features(case: Fields) -> None:
    try:
        Features.only(case.texts("features"))
    except ValueError as unknown:
        raise case.refuse("features", str(unknown)) from None


def _allocated(case: Fields) -> None:
    """Check what is held: claims, devices, or devices and shares."""
    if not isinstance(case.values.get("allocated"), Mapping):
        for one in case.children("allocated"):
            if one.has("device"):
                _texts(one, _RESULT[1:])
        return
    held = case.child("allocated")
    for key in ("devices", "shared", "capacity"):
        for one in held.children(key):
            _texts(one, _RESULT[1:])
            for amount in one.child("consumed").values if key == "capacity" else ():
                one.child("consumed").quantity(amount)


def _named(expect: Fields) -> None:
    allocation = expect.optional("allocation")
    for claim in allocation.values:
        for one in allocation.child(claim).children("results"):
            _texts(one, _RESULT)
    for one in expect.children("accept"):
        _texts(one, ("kind", *_PROPERTIES.get(one.text("kind"), ())))
    for key in ("allocatable", "feasibleNodes", "steps"):
        if key in expect.values and not expect.has(key):
            raise expect.refuse(key, "must be a list")
    for key in ("allocatable", "feasibleNodes"):
        expect.texts(key)
    for step in expect.children("steps"):
        step.texts("allocatable")
        for key in ("allocate", "release"):
            _step(step, key)
        if not step.has("allocatable"):
            raise step.refuse("allocatable", "is required")


def _step(step: Fields, key: str) -> None:
    """A step takes or gives back devices: one or several, by name or as an entry of results."""
    value = step.values.get(key, [])
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, str):
            Fields(one, step.subject, step.at(key), InvalidInput).text("device")


def _listed(expect: Fields) -> None:
    if expect.values.get("feasible") is True and not expect.has("firstFit"):
        raise expect.refuse("firstFit", "is required where the claims fit")
    for one in expect.children("results"):
        for result in one.child("devices").children("results"):
            _texts(result, _RESULT)
    for index, results in enumerate(expect.items("firstFit")):
        if not isinstance(results, list):
            raise expect.refuse(f"firstFit[{index}]", "must be a list", results)
        for result in results:
            _texts(Fields(result, expect.subject, expect.at(f"firstFit[{index}]"), InvalidInput), _RESULT)


def _texts(fields: Fields, keys: tuple[str, ...]) -> None:
    for key in keys:
        fields.text(key)
