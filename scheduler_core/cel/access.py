"""Names, fields, indexes and presence: how an expression reaches a value.

``device.attributes["domain"].identifier`` is one step: it is what nearly every selector does.
Source: CEL language definition; cel-go ``interpreter/attributes``.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel.errors import EvaluationError, no_such_key
from scheduler_core.cel.library.equality import has_key
from scheduler_core.cel.steps import Build, Code, Scope, Slots, Step, constant
from scheduler_core.cel.tree import Call, Name, Node, Presence, Select
from scheduler_core.cel.values import NONE, Domains, Option, TypeValue, Uint, some
from scheduler_core.cel.view import FIELDS, DeviceView

_DEVICE: Final = "device"
_MAPS: Final = ("attributes", "capacity")


def name(node: Name, scope: Scope) -> Step:
    """Read a loop variable, the device, or a type."""
    slot = scope.names.get(node.name)
    if slot is not None:
        return Step(scope.lazy[slot] if slot in scope.lazy else lambda _view, slots: slots[slot], cost=1)
    if node.name == _DEVICE:
        return Step(lambda view, _slots: view, cost=1)
    return constant(TypeValue(node.name), cost=1)


def is_device(node: Node, scope: Scope) -> bool:
    """Whether a node is the device itself, not a loop variable of that name."""
    return isinstance(node, Name) and node.name == _DEVICE and _DEVICE not in scope.names


def select(node: Select, scope: Scope, build: Build) -> Step:
    """Read a field of the device, of a map or of an optional."""
    if is_device(node.operand, scope):
        return _device_field(node.field)
    return member(build(node.operand, scope), node.field)


def _device_field(field: str) -> Step:
    match field:
        case "driver":
            return Step(lambda view, _slots: view.driver, cost=2)
        case "attributes":
            return Step(lambda view, _slots: view.attributes, cost=2, path=(field,))
        case "capacity":
            return Step(lambda view, _slots: view.capacity, cost=2, path=(field,))
        case _:
            attribute = FIELDS[field]
            return Step(lambda view, _slots: getattr(view, attribute), cost=2)


def index(node: Call, scope: Scope, build: Build) -> Step:
    """Read an element of a list, or a value of a map."""
    container, key = (build(argument, scope) for argument in node.arguments)
    if key.is_constant and isinstance(key.constant, str):
        return member(container, key.constant)
    read, read_key = container.run, key.run

    def run(view: DeviceView, slots: Slots) -> Any:
        return element(read(view, slots), read_key(view, slots))

    return Step(run, cost=container.cost + key.cost + 1)


def member(operand: Step, key: str) -> Step:
    """Read ``operand[key]`` with a key known at compile time."""
    cost = operand.cost + 1
    if operand.path and operand.path[0] in _MAPS and len(operand.path) < 3:
        path = (*operand.path, key)
        return Step(_domain(*path) if len(path) == 2 else _fused(*path), cost=cost, path=path)
    read = operand.run

    def run(view: DeviceView, slots: Slots) -> Any:
        value = read(view, slots)
        if type(value) is dict:
            try:
                return value[key]
            except KeyError:
                raise no_such_key(key) from None
        return element(value, key)

    return Step(run, cost=cost)


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


def element(container: Any, key: Any) -> Any:
    """Return an element, a value or a field; through an optional, an optional.

    Raises: EvaluationError where there is none.
    """
    match container:
        case Option():
            return optional_element(container, key)
        case Domains():
            return container[key]
        case dict():
            if has_key(container, key):
                return container[key]
            raise no_such_key(key)
        case list():
            return container[_position(container, key)]
        case DeviceView() if key in FIELDS:
            return container.field(key)
        case _:
            raise no_such_key(key)


def _position(values: list[Any], key: Any) -> int:
    if type(key) not in (int, Uint, float) or key != int(key):
        raise EvaluationError(f"unsupported index: {key!r}")
    position = int(key)
    if not 0 <= position < len(values):
        raise EvaluationError(f"index out of bounds: {position}")
    return position


def optional_element(container: Any, key: Any) -> Option:
    """Return ``container[?key]``: none where there is no such element."""
    match container:
        case Option():
            return optional_element(container.value, key) if container.is_present else NONE
        case Domains():
            return some(container[key])
        case dict():
            return some(container[key]) if has_key(container, key) else NONE
        case list():
            is_inside = type(key) in (int, Uint) and 0 <= key < len(container)
            return some(container[key]) if is_inside else NONE
        case DeviceView() if key in FIELDS:
            return some(container.field(key))
        case _:
            return NONE


def optional_select(node: Call, scope: Scope, build: Build) -> Step:
    """Read ``operand.?field`` or ``operand[?key]``."""
    operand, key = (build(argument, scope) for argument in node.arguments)
    read, read_key = operand.run, key.run
    return Step(
        lambda view, slots: optional_element(read(view, slots), read_key(view, slots)),
        cost=operand.cost + key.cost + 1,
    )


def presence(node: Presence, scope: Scope, build: Build) -> Step:
    """Whether ``operand.field`` can be read. The device has all its fields, every domain is a map."""
    operand, field = build(node.operand, scope), node.field
    read = operand.run
    if len(operand.path) == 2:
        return Step(lambda view, slots: field in read(view, slots), cost=operand.cost)
    return Step(lambda view, slots: is_present(read(view, slots), field), cost=operand.cost)


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
