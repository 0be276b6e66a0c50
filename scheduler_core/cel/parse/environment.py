"""The configuration of the type checker: the device, the types of Kubernetes, and every function.

The checker is Google's C++ implementation, configured with one text. The device is declared as a message, so
that ``device == device`` and ``has(device.driver)`` are well typed. ``device.capacity`` is declared again as
a name with a dot, because a message cannot declare a map of maps of quantities.
Source: Kubernetes ``pkg/cel/environment`` and ``dynamic-resource-allocation/cel``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2

from scheduler_core.cel.library.registry import BY_NAME
from scheduler_core.cel.overloads import Overload

_EXTENSIONS: Final = ("optional", "bindings", "two-var-comprehensions", "sets", "lists")
# Declared by the checker's extensions.
_KNOWN: Final = frozenset(
    {
        *("sets.contains", "sets.equivalent", "sets.intersects"),
        *("slice", "flatten", "sort", "@sortByAssociatedKeys", "lists.range", "reverse", "distinct"),
        *("optional.of", "optional.ofNonZeroValue", "optional.none", "value", "hasValue", "first", "last"),
    }
)
# The standard library cannot be extended: these functions are left out there and declared here in full.
_STANDARD: Final = frozenset(
    {
        *("bool", "bytes", "double", "int", "uint", "string", "duration", "timestamp", "size"),
        *("contains", "endsWith", "startsWith", "matches"),
        *("getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek"),
        *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
    }
)
_ORDER: Final = {
    "_<_": "less",
    "_<=_": "less_equals",
    "_>_": "greater",
    "_>=_": "greater_equals",
}
_NUMBERS: Final = {"int": "int64", "uint": "uint64", "double": "double"}
_ORDERED: Final = ("bool", "string", "bytes", "timestamp", "duration")
_VARIABLES: Final = {
    "device": "kubernetes.DRADevice",
    "device.capacity": "map<string,map<string,kubernetes.Quantity>>",
    "net.IP": "type<net.IP>",
    "net.CIDR": "type<net.CIDR>",
}


def new_environment() -> cel.Env:
    """Return a checker for device selectors."""
    config = cel.NewEnvConfigFromYaml("\n".join(_configuration()))
    return cel.NewEnv(descriptor_pool=_device_messages(), config=config)


def _configuration() -> Iterator[str]:
    """Yield the lines of the checker's configuration."""
    yield "stdlib:"
    yield "  exclude_functions:"
    for name in sorted((*_STANDARD, *_ORDER)):
        yield f"  - name: {json.dumps(name)}"
    yield "extensions:"
    for name in _EXTENSIONS:
        yield f"- name: {json.dumps(name)}"
    yield "variables:"
    for name, type_ in _VARIABLES.items():
        yield f"- {{name: {json.dumps(name)}, type: {json.dumps(type_)}}}"
    yield "functions:"
    for name, overloads in BY_NAME.items():
        if name not in _KNOWN:
            yield from _function(name, map(_signature, overloads))
    for symbol, stem in _ORDER.items():
        yield from _function(symbol, _order_signatures(symbol, stem))


def _function(name: str, overloads: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield f"- name: {json.dumps(name)}"
    yield "  overloads:"
    for identity, signature, returns in overloads:
        fields = {"id": identity, "signature": signature, "return": returns}
        yield f"  - {json.dumps(fields)}"


def _signature(overload: Overload) -> tuple[str, str, str]:
    return overload.id, overload.signature, overload.returns


def _order_signatures(symbol: str, stem: str) -> Iterator[tuple[str, str, str]]:
    """Yield the overloads of a comparison: numbers of any two types, other values of one."""
    symbol = re.sub("([<>])", r"\\\1", symbol)  # a signature takes them for brackets
    for left, long_left in _NUMBERS.items():
        for right, long_right in _NUMBERS.items():
            suffix = long_left if left == right else f"{long_left}_{long_right}"
            yield f"{stem}_{suffix}", f"{symbol}({left},{right})", "bool"
    for type_ in _ORDERED:
        yield f"{stem}_{type_}", f"{symbol}({type_},{type_})", "bool"


def _device_messages() -> descriptor_pool.DescriptorPool:
    """Return a pool with the message that stands for the device."""
    pool = descriptor_pool.DescriptorPool()
    struct = descriptor_pb2.FileDescriptorProto()
    struct_pb2.DESCRIPTOR.CopyToProto(struct)
    pool.Add(struct)
    pool.Add(_device_file())
    return pool


def _device_file() -> descriptor_pb2.FileDescriptorProto:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="device.proto", package="kubernetes", syntax="proto3")
    file.dependency.append("google/protobuf/struct.proto")
    device = file.message_type.add(name="DRADevice")
    device.field.add(name="driver", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    device.field.add(
        name="allowMultipleAllocations", number=2, type=field.TYPE_BOOL, label=field.LABEL_OPTIONAL
    )
    for number, name in ((3, "attributes"), (4, "capacity")):
        entry = device.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
        _message_field(entry, "value", 2, ".google.protobuf.Struct", field.LABEL_OPTIONAL)
        _message_field(device, name, number, f".kubernetes.DRADevice.{entry.name}", field.LABEL_REPEATED)
    return file


def _message_field(
    message: descriptor_pb2.DescriptorProto,
    name: str,
    number: int,
    type_: str,
    label: descriptor_pb2.FieldDescriptorProto.Label.ValueType,
) -> None:
    kind = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
    message.field.add(name=name, number=number, type=kind, type_name=type_, label=label)
