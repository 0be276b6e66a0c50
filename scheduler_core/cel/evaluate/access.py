"""Names, fields, indexes and presence tests.

``device.attributes["domain"].identifier`` is one step, because nearly every selector contains it.
Source: CEL language definition; cel-go ``interpreter/attributes``.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

from scheduler_core.cel.errors import CompileError, EvaluationError, no_such_key, shown
from scheduler_core.cel.evaluate.steps import Build, Code, Scope, Slots, Step, constant
from scheduler_core.cel.evaluate.weights import literal_weight
from scheduler_core.cel.library.equality import MISSING, find
from scheduler_core.cel.tree import Call, Name, Node, Presence, Select
from scheduler_core.cel.values import (
    INDEXES,
    INT_MAX,
    INT_MIN,
    NONE,
    Domains,
    Option,
    TypeValue,
    Uint,
    some,
    type_name,
)
from scheduler_core.cel.view import FIELDS, DeviceView
from scheduler_core.cel.work import BOUNDED, Work

_DEVICE: Final = "device"
_MAPS: Final = ("attributes", "capacity")
_READING: Final = 2
_TIMES: Final = ("google.protobuf.Duration", "google.protobuf.Timestamp")


def name(node: Name, scope: Scope) -> Step:
    """Compile a name: a loop variable, the device, or a type."""
    slot = scope.names.get(node.name)
    if slot is not None:
        return Step(scope.lazy.get(slot, lambda _view, slots: slots[slot]))
    if node.name == _DEVICE:
        return Step(lambda view, _slots: view)
    # Types to Google's checker, and no names to Kubernetes: dyn, and messages of protobuf.
    if node.name == "dyn" or (node.name.startswith("google.protobuf.") and node.name not in _TIMES):
        raise CompileError(f"undeclared reference to '{node.name}' (in container '')")
    return constant(TypeValue(node.name), is_literal=True)


def is_device(node: Node, scope: Scope) -> bool:
    """Whether a node is the device itself, not a loop variable of that name."""
    return isinstance(node, Name) and node.name == _DEVICE and _DEVICE not in scope.names


def select(node: Select, scope: Scope, build: Build) -> Step:
    """Compile the selection of a field of the device, of a map or of an optional."""
    if is_device(node.operand, scope):
        return _device_field(node.field)
    return member(build(node.operand, scope), node.field)


def _device_field(field: str) -> Step:
    path = (field,) if field in _MAPS else ()
    read = attrgetter(FIELDS[field])
    return Step(lambda view, _slots: read(view), path=path)


def index(node: Call, scope: Scope, build: Build) -> Step:
    """Compile an index into a list or a map."""
    container, key = (build(argument, scope) for argument in node.arguments)
    _check_key(key)
    if key.is_constant and isinstance(key.constant, str):
        return member(container, key.constant)
    scope.plan.counts = True
    read, read_key = container.run, key.run
    return Step(
        lambda view, slots: element(slots[0], read(view, slots), read_key(view, slots)),
        container.weight + key.weight + _READING,
    )


def _check_key(key: Step) -> None:
    """Refuse a literal that cannot be an index, as cel-go does when it makes the program.

    Raises: CompileError naming the type.
    """
    if key.is_literal and type(key.constant) not in INDEXES:
        raise CompileError(f"invalid qualifier type: {type_name(key.constant)}")


def member(operand: Step, key: str) -> Step:
    """Compile ``operand[key]`` with a key known at compile time."""
    if operand.path and len(operand.path) < 3:
        path = (*operand.path, key)
        run = _domain(*path) if len(path) == 2 else _fused(*path)
        return Step(run, operand.weight + _READING, path=path, is_short=len(path) == 3)
    read = operand.run

    def run_member(view: DeviceView, slots: Slots) -> Any:
        value = read(view, slots)
        if type(value) is dict:
            try:
                return value[key]
            except KeyError:
                raise no_such_key(key) from None
        return element(BOUNDED, value, key)

    return Step(run_member, operand.weight + literal_weight(key) + _READING)


def _domain(field: str, domain: str) -> Code:
    if field == "attributes":
        return lambda view, _slots: view.attributes[domain]
    return lambda view, _slots: view.capacity[domain]


def _fused(field: str, domain: str, identifier: str) -> Code:
    def attribute(view: DeviceView, _slots: Slots) -> Any:
        try:
            return view.attributes[domain][identifier]
        except KeyError:
            raise no_such_key(identifier) from None

    def capacity(view: DeviceView, _slots: Slots) -> Any:
        try:
            return view.capacity[domain][identifier]
        except KeyError:
            raise no_such_key(identifier) from None

    return attribute if field == "attributes" else capacity


def element(work: Work, container: Any, key: Any) -> Any:
    """Return an element of a list, a value of a map or a field of the device; of an optional, an optional.

    Raises: EvaluationError where there is none.
    """
    match container:
        case Option():
            return optional_element(work, container, key)
        case Domains():
            return container[key] if isinstance(key, str) else {}
        case dict():
            value = find(work, container, key) if type(key) in INDEXES else MISSING
            if value is MISSING:
                raise no_such_key(key)
            return value
        case list():
            position = _position(key)
            if not 0 <= position < len(container):
                raise EvaluationError(f"index out of bounds: {position}")
            return container[position]
        case DeviceView() if isinstance(key, str) and key in FIELDS:
            return container.field(key)
        case _:
            raise no_such_key(key)


def _position(key: Any) -> int:
    """Return the position in a list that a key means. Raises: EvaluationError if no 64 bits hold it."""
    is_whole = type(key) in (int, Uint) or (type(key) is float and key.is_integer() and key != INT_MIN)
    if not is_whole or not INT_MIN <= key <= INT_MAX:
        raise EvaluationError(f"unsupported index: {shown(key)}")
    return int(key)


def optional_element(work: Work, container: Any, key: Any) -> Option:
    """Return ``container[?key]``: none where there is no such element."""
    match container:
        case Option():
            return optional_element(work, container.value, key) if container.is_present else NONE
        case Domains():
            return some(element(work, container, key))
        case dict():
            value = find(work, container, key)
            return NONE if value is MISSING else some(value)
        case list():
            position = _position(key)
            return some(container[position]) if 0 <= position < len(container) else NONE
        case DeviceView() if isinstance(key, str) and key in FIELDS:
            return some(container.field(key))
        case _:
            return NONE


def optional_select(node: Call, scope: Scope, build: Build) -> Step:
    """Compile ``operand.?field`` or ``operand[?key]``."""
    operand, key = (build(argument, scope) for argument in node.arguments)
    _check_key(key)
    scope.plan.counts = True
    read, read_key = operand.run, key.run
    return Step(
        lambda view, slots: optional_element(slots[0], read(view, slots), read_key(view, slots)),
        operand.weight + key.weight + _READING,
    )


def presence(node: Presence, scope: Scope, build: Build) -> Step:
    """Compile ``has(operand.field)``. The device has all its fields, and every domain is a map."""
    operand, field = build(node.operand, scope), node.field
    read, weight = operand.run, operand.weight + _READING
    if len(operand.path) == 2:
        return Step(lambda view, slots: field in read(view, slots), weight)
    return Step(lambda view, slots: is_present(read(view, slots), field), weight)


def is_present(container: Any, field: str) -> bool:
    """Whether a map, an optional map or the device has a field."""
    match container:
        case Domains() | DeviceView():
            return True
        case dict():
            return field in container
        case Option():
            return container.is_present and is_present(container.value, field)
        case _:
            return False
