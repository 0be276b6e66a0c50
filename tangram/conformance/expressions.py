"""Cases of expressions: a selector against a device with its cost, and the value of any expression."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.base.version import Version
from scheduler_core.cel.evaluate.loops import pairs
from scheduler_core.cel.library.numbers import double_text
from scheduler_core.cel.library.time_texts import duration_text, timestamp_text
from scheduler_core.cel.measured import measured_cost
from scheduler_core.cel.values import Duration, Option, Timestamp, TypeValue, type_name
from scheduler_core.model.device import AttributeValue, Device, DeviceName
from scheduler_core.model.names import qualified
from scheduler_core.rules.selectors import DeviceView, Expression, Selector, view
from tangram.conformance.runs import unequal

_ESTIMATES: Final = ("maxCost", "upstreamCost")
_WALKS_A_MAP: Final = re.compile(
    r"device\.(attributes|capacity)(\[[^\]]*\])?\.(all|exists|exists_one|existsOne|filter|map|transform\w+)\("
)


@dataclass(frozen=True, slots=True)
class Match:
    """A selector, evaluated.

    Shape: ``content`` is the case. The estimate must agree where the case has one, and the cost of the
           evaluation where it came to an answer: one that was broken off, or that walks a map (Go does so
           in a random order), has no cost of its own.
    """

    content: Mapping[str, Any]
    answer: Mapping[str, Any]

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield how the answer differs; of an error the kind must agree, not the text."""
        ((kind, value),) = expect.items()
        if kind == "match":
            yield from unequal("match", value, self.answer.get("match", self.answer))
        elif kind not in self.answer:
            yield from unequal("answer", {kind: value}, self.answer)
        costs = [*_ESTIMATES, "cost"] if self._has_own_cost else _ESTIMATES
        for cost in costs:
            if cost in self.content and "compileError" not in self.answer:
                yield from unequal(cost, self.content[cost], self.answer[cost])

    @property
    def _has_own_cost(self) -> bool:
        return "match" in self.answer and not _WALKS_A_MAP.search(self.content["expression"])

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks: any of several answers is fine."""
        if not any(not list(self.differences(other)) for other in accept.get("any_of", ())):
            yield f"the answer is none that is accepted: {self.answer}"


def evaluated(content: Mapping[str, Any]) -> Match:
    """Evaluate the expression of a case against its device."""
    text, device = content["expression"], _device(content["device"])
    try:
        selector = Selector(text)
    except SelectorError as error:
        return Match(content, {"compileError": error.reason})
    costs = {"maxCost": selector.max_cost, "upstreamCost": selector.max_cost}
    wanted = {key: value for key, value in costs.items() if key in content}
    if "cost" in content:
        wanted["cost"] = measured_cost(text, device)
    try:
        return Match(content, {"match": selector.matches(device), **wanted})
    except SelectorError as error:
        return Match(content, {"runtimeError": error.reason, **wanted})


def _device(content: Mapping[str, Any]) -> DeviceView:
    """Read a device without the limits of the API: cases go beyond them on purpose."""
    driver = content["driver"]
    attributes = content.get("attributes") or {}
    capacity = content.get("capacity") or {}
    device = Device(
        name=DeviceName(content.get("name", "device")),
        attributes={qualified(key, driver): _value(one) for key, one in attributes.items()},
        capacity={qualified(key, driver): Quantity.parse(str(one["value"])) for key, one in capacity.items()},
        is_shareable=bool(content.get("allowMultipleAllocations")),
    )
    return view(driver, device)


def _value(attribute: Mapping[str, Any]) -> AttributeValue:
    ((kind, value),) = attribute.items()
    values = value if isinstance(value, list) else [value]
    read = tuple(Version.parse(one) if kind.startswith("version") else one for one in values)
    return read if isinstance(value, list) else read[0]


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an expression. Shape: ``answer`` has the one key ``value``, ``error`` or ``compile``."""

    answer: Mapping[str, Any]

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield how the answer differs; of an error the kind must agree, not the text."""
        ((kind, wanted),) = expect.items()
        if kind not in self.answer:
            yield from unequal("answer", expect, self.answer)
        elif kind == "value":
            yield from unequal("value", _ordered(wanted), _ordered(self.answer["value"]))

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks: a value has no alternatives."""
        return self.differences(accept)


def valued(text: str) -> Value:
    """Evaluate an expression that reads no device, with values of any type as results."""
    try:
        expression = Expression(text)
    except SelectorError as error:
        return Value({"compile": error.reason})
    try:
        return Value({"value": _typed(expression.value(DeviceView("")))})
    except SelectorError as error:
        return Value({"error": error.reason})


def _typed(value: Any) -> Any:
    """Return a value with its type, as case files have it: ``{"int": "1"}``; a bool or a list as it is."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        return [_typed(part) for part in value]
    if isinstance(value, dict):
        return {"map": [[_typed(key), _typed(part)] for key, part in pairs(value)]}
    if isinstance(value, Option):
        return {"some": _typed(value.value)} if value.is_present else {"none": True}
    if value is None:
        return {"null": True}
    write = _TEXTS.get(type(value), str)
    return {type_name(value).removeprefix("google.protobuf.").lower(): write(value)}


_TEXTS: Final[Mapping[type, Callable[[Any], str]]] = {
    float: double_text,
    bytes: bytes.hex,
    TypeValue: lambda value: value.name,
    Duration: duration_text,
    Timestamp: timestamp_text,
}


def _ordered(value: Any) -> Any:
    """Return a typed value with the entries of maps in one order: Go's maps have none."""
    match value:
        case list():
            return [_ordered(part) for part in value]
        case {"map": list(entries)}:
            return {"map": sorted((_ordered(entry) for entry in entries), key=json.dumps)}
        case dict():
            return {kind: _ordered(part) for kind, part in value.items()}
        case _:
            return value
