"""Names, fields, indexes and presence: how an expression reaches a value.

``device.attributes["domain"].identifier`` is one step: it is what nearly every selector does.
Source: CEL language definition; cel-go ``interpreter/attributes``.
"""

from __future__ import annotations

from operator import attrgetter
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
        read = scope.lazy.get(slot, lambda _view, slots: slots[slot])
        return Step(read, cost=1, inner=0)
    if node.name == _DEVICE:
        return Step(lambda view, _slots: view, cost=1, inner=0)
    return constant(TypeValue(node.name), is_literal=True)


def is_device(node: Node, scope: Scope) -> bool:
    """Whether a node is the device itself, not a loop variable of that name."""
    return isinstance(node, Name) and node.name == _DEVICE and _DEVICE not in scope.names


def select(node: Select, scope: Scope, build: Build) -> Step:
    """Read a field of the device, of a map or of an optional."""
    if is_device(node.operand, scope):
        return _device_field(node.field)
    return member(build(node.operand, scope), node.field)


def _device_field(field: str) -> Step:
    path = (field,) if field in _MAPS else ()
    read = attrgetter(FIELDS[field])
    return Step(lambda view, _slots: read(view), cost=2, inner=1, path=path)


def index(node: Call, scope: Scope, build: Build) -> Step:
    """Read an element of a list, or a value of a map."""
    container, key = (build(argument, scope) for argument in node.arguments)
    if key.is_constant and isinstance(key.constant, str):
        return member(container, key.constant)
    read, read_key = container.run, key.run
    return _reached(
        container, key.inner_cost, lambda view, slots: element(read(view, slots), read_key(view, slots))
    )


def _reached(container: Step, key_cost: int, run: Code, path: tuple[str, ...] = ()) -> Step:
    """Return a step that goes on from another. What is no name, field or index costs a unit to go on from."""
    cost = container.cost + key_cost + (2 if container.inner is None else 1)
    return Step(run, cost=cost, inner=container.inner_cost + key_cost + 1, path=path)


def member(operand: Step, key: str) -> Step:
    """Read ``operand[key]`` with a key known at compile time."""
    if operand.path and len(operand.path) < 3:
        path = (*operand.path, key)
        return _reached(operand, 0, _domain(*path) if len(path) == 2 else _fused(*path), path)
    read = operand.run

    def run(view: DeviceView, slots: Slots) -> Any:
        value = read(view, slots)
        if type(value) is dict:
            try:
                return value[key]
            except KeyError:
                raise no_such_key(key) from None
        return element(value, key)

    return _reached(operand, 0, run)


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
            return container[key] if isinstance(key, str) else {}
        case dict():
            if has_key(container, key):
                return container[key]
            raise no_such_key(key)
        case list():
            return container[_position(container, key)]
        case DeviceView() if isinstance(key, str) and key in FIELDS:
            return container.field(key)
        case _:
            raise no_such_key(key)


def _position(values: list[Any], key: Any) -> int:
    if type(key) not in (int, Uint) and not (type(key) is float and key.is_integer()):
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
            return some(element(container, key))
        case dict():
            return some(container[key]) if has_key(container, key) else NONE
        case list():
            is_inside = type(key) in (int, Uint) and 0 <= key < len(container)
            return some(container[key]) if is_inside else NONE
        case DeviceView() if isinstance(key, str) and key in FIELDS:
            return some(container.field(key))
        case _:
            return NONE


def optional_select(node: Call, scope: Scope, build: Build) -> Step:
    """Read ``operand.?field`` or ``operand[?key]``."""
    operand, key = (build(argument, scope) for argument in node.arguments)
    read, read_key, refund = operand.run, key.run, scope.price(1)

    def run(view: DeviceView, slots: Slots) -> Option:
        found = optional_element(read(view, slots), read_key(view, slots))
        if refund and not found.is_present:
            slots[0] += refund  # upstream counts only what is there
        return found

    return _reached(operand, key.inner_cost, run)


def presence(node: Presence, scope: Scope, build: Build) -> Step:
    """Whether ``operand.field`` can be read. The device has all its fields, every domain is a map."""
    operand, field = build(node.operand, scope), node.field
    read, cost = operand.run, operand.cost + (1 if operand.inner is None else 0)
    if len(operand.path) == 2:
        return Step(lambda view, slots: field in read(view, slots), cost)
    return Step(lambda view, slots: is_present(read(view, slots), field), cost)


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
