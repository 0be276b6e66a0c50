"""What may be a mistake in a class: kinds that no pod can get, values that cannot be compared with those of
any device, and selectors that select no device.

Takes classes and the properties of devices; returns sentences. A class that selects nothing is not wrong: the
devices may be published later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from scheduler_core.frontends.classes.keys import KIND, KINDS, names_versions
from scheduler_core.frontends.classes.model import (
    ORDERED,
    ResourceClass,
    Selector,
    ValueOperator,
    ValueRequirement,
)
from scheduler_core.frontends.classes.selection import is_met, selects
from scheduler_core.frontends.classes.values import Value, order, value_of

_MOST_VALUES: Final = 8
Devices = Sequence[Mapping[str, Value]]
"""The properties of devices."""


def why_unserved(resource_class: ResourceClass) -> str | None:
    """Return why no pod in a cluster can get a device of a class; None if a pod may.

    The controller gives pods devices of Tangram's driver, since no other prepares them for a class. None of
    these has a Kind outside the table of kinds: such devices are listed by hand, or are a node's resources.
    """
    kinds = [_unserved_kinds(selector) for selector in resource_class.selectors if selector]
    return _kind_text([one for found in kinds for one in found]) if kinds and all(kinds) else None


def advice(resource_class: ResourceClass, devices: Devices) -> Iterator[tuple[str, str]]:
    """Yield what may be a mistake. Shape: the path of a field, and a sentence.

    Without devices only the class itself is judged.
    """
    if not resource_class.selectors:
        yield "spec.resourceSelector", "is empty, so the class selects no device"
    for index, selector in enumerate(resource_class.selectors):
        path = f"spec.resourceSelector[{index}]"
        if not selector:
            yield path, "has no matchExpressions, so it selects no device"
            continue
        yield from _of_selector(selector, path, devices)


def _of_selector(selector: Selector, path: str, devices: Devices) -> Iterator[tuple[str, str]]:
    kinds = _unserved_kinds(selector)
    # Other nodes may have devices of kinds that no device here has, and what these have is unknown.
    are_known = not kinds and all(_is_met_by_any(one, devices) for one in _kind_demands(selector))
    is_judged = bool(devices) and are_known
    findings: list[tuple[str, str]] = []
    for index, requirement in enumerate(selector):
        place = f"{path}.matchExpressions[{index}]"
        incomparable = list(_incomparable(requirement, devices))
        findings += [(f"{place}.values", text) for text in incomparable]
        if kinds and requirement.key == KIND:
            findings.append((f"{place}.values", _kind_text(kinds)))
        if is_judged and not incomparable and not _is_met_by_any(requirement, devices):
            findings.append((place, _unmet(requirement, devices)))
    yield from findings
    if (
        is_judged
        and not findings
        and not any(selects(ResourceClass("", (selector,)), one) for one in devices)
    ):
        yield path, "some device meets each of its expressions, but none meets all of them"


def _is_met_by_any(requirement: ValueRequirement, devices: Devices) -> bool:
    return any(is_met(requirement, one) for one in devices)


def _unserved_kinds(selector: Selector) -> tuple[str, ...]:
    """Return the kinds that a selector demands, if none of them is one that Tangram publishes."""
    served = {row.kind for row in KINDS}
    return next((one.values for one in _kind_demands(selector) if served.isdisjoint(one.values)), ())


def _kind_demands(selector: Selector) -> list[ValueRequirement]:
    return [
        one for one in selector if one.key == KIND and one.operator in (ValueOperator.IN, ValueOperator.EQ)
    ]


def _kind_text(kinds: Sequence[str]) -> str:
    served = ", ".join(row.kind for row in KINDS)
    return (
        f"Kind {' or '.join(dict.fromkeys(kinds))}: Tangram publishes no such devices; pods get {served}. "
        "Huge pages and other node resources are requested in the container's resources, as hugepages-1Gi"
    )


def _incomparable(requirement: ValueRequirement, devices: Devices) -> Iterator[str]:
    """Yield a sentence for each value that cannot be compared with what any device has under the key."""
    key, present = requirement.key, _present(requirement.key, devices)
    for text in requirement.values:
        wanted = value_of(text)
        comparable = (_is_comparable(one, wanted, requirement.operator) for one in present.values())
        if present and not any(comparable):
            values = _listed([f"{name} ({_reading(value)})" for name, value in present.items()])
            yield f"{text!r} is {_reading(wanted)} and cannot be compared with {key} of any device: {values}"
        elif not present and names_versions(key) and wanted.version is None:
            yield f"{text!r} is {_reading(wanted)}, but {key} is compared as a version, such as 535 or 12.4"


def _is_comparable(present: Value, wanted: Value, operator: ValueOperator) -> bool:
    are_texts = present == Value(present.text) and wanted == Value(wanted.text) and present.text != ""
    return order(present, wanted) is not None or (are_texts and operator not in ORDERED)


def _reading(value: Value) -> str:
    if value.amount is not None:
        return "an amount" if value.version is None else "a number"
    if value.version is not None:
        return "a version"
    return "text" if value.text else "no single value"


def _unmet(requirement: ValueRequirement, devices: Devices) -> str:
    """Return a sentence about a requirement that no device meets."""
    key, present = requirement.key, _present(requirement.key, devices)
    values = " or ".join(requirement.values)
    if requirement.operator is ValueOperator.DOES_NOT_EXIST:
        return f"every device has {key}"
    if requirement.operator is ValueOperator.NOT_IN:
        return f"every device has {key} {values}"
    if not present:
        keys = {name for one in devices for name in one}
        near = get_close_matches(key, sorted(keys), n=3)
        return f"no device has {key}" + (f"; similar: {', '.join(near)}" if near else "")
    return f"no device has {key} {requirement.operator} {values}; present: {_listed(list(present))}"


def _present(key: str, devices: Devices) -> dict[str, Value]:
    """Return the different values that devices have under a key, by their text."""
    values = (one[key] for one in devices if key in one)
    return {str(value): value for value in values}


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _MOST_VALUES} more" if len(texts) > _MOST_VALUES else ""
    return ", ".join(sorted(texts)[:_MOST_VALUES]) + more
