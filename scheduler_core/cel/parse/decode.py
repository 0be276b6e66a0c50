"""Decode the checker's answer, ``Any(cel.expr.CheckedExpr)`` as bytes, to the tree.

Source: cel.expr checked.proto and syntax.proto of the CEL specification.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from google.protobuf import any_pb2
from google.protobuf.message import DecodeError

from scheduler_core.cel import tree
from scheduler_core.cel._pb import checked_pb2, syntax_pb2
from scheduler_core.cel.errors import CompileError
from scheduler_core.cel.tree import CelType, Node
from scheduler_core.cel.values import Uint

ROOT: Final = "device"
_PRIMITIVES: Final = (tree.DYN, tree.BOOL, tree.INT, tree.UINT, tree.DOUBLE, tree.STRING, tree.BYTES)
_WELL_KNOWN: Final = ("dyn", "dyn", "google.protobuf.Timestamp", "google.protobuf.Duration")
TOO_DEEP: Final = "it is nested too deeply: at most about 32 levels are supported"


def decode(serialized: bytes) -> Node:
    """Return the tree of a serialized checked expression.

    Raises: CompileError where it is nested deeper than protobuf reads, or builds a protobuf message.
    """
    try:
        envelope = any_pb2.Any.FromString(serialized)
        checked = checked_pb2.CheckedExpr.FromString(envelope.value)
    except DecodeError as error:
        raise CompileError(TOO_DEEP) from error
    return _Decoder(checked).node(checked.expr)


class _Decoder:
    """One expression with the types and references of its nodes."""

    def __init__(self, checked: checked_pb2.CheckedExpr) -> None:
        self._types = checked.type_map
        self._references = checked.reference_map

    def node(self, expr: syntax_pb2.Expr) -> Node:
        match expr.WhichOneof("expr_kind"):
            case "const_expr":
                return self._literal(expr)
            case "ident_expr":
                return self._named(self._resolved(expr) or expr.ident_expr.name, self._type(expr))
            case "select_expr":
                name = self._resolved(expr)
                return self._named(name, self._type(expr)) if name else self._select(expr)
            case "call_expr":
                return self._call(expr)
            case "list_expr":
                return self._list(expr)
            case "struct_expr":
                return self._map(expr)
            case "comprehension_expr":
                return self._fold(expr)
            case _:
                raise AssertionError("the checker leaves no node without a kind")

    def _type(self, expr: syntax_pb2.Expr) -> CelType:
        found = self._types.get(expr.id)
        return tree.DYN if found is None else cel_type(found)

    def _resolved(self, expr: syntax_pb2.Expr) -> str:
        """Return the full name that the checker found, empty where the name is as written."""
        reference = self._references.get(expr.id)
        return "" if reference is None else reference.name

    def _named(self, name: str, type_: CelType) -> Node:
        """Split ``device.capacity``, which is one name to the checker: so its type can be declared."""
        root, dot, field = name.partition(".")
        if root == ROOT and dot:
            return tree.Select(type_, tree.Name(tree.DEVICE, ROOT), field)
        return tree.Name(type_, name)

    def _select(self, expr: syntax_pb2.Expr) -> Node:
        select = expr.select_expr
        if select.test_only:
            return tree.Presence(tree.BOOL, self.node(select.operand), select.field)
        return tree.Select(self._type(expr), self.node(select.operand), select.field)

    def _call(self, expr: syntax_pb2.Expr) -> Node:
        reference = self._references.get(expr.id)
        overloads = () if reference is None else tuple(reference.overload_id)
        call = expr.call_expr
        arguments = tuple(map(self.node, call.args))
        is_member = call.HasField("target")
        if is_member:
            arguments = (self.node(call.target), *arguments)
        return tree.Call(self._type(expr), call.function, overloads, arguments, is_member)

    def _literal(self, expr: syntax_pb2.Expr) -> Node:
        constant = expr.const_expr
        match constant.WhichOneof("constant_kind"):
            case "string_value":  # nearly all are
                return tree.Literal(tree.STRING, constant.string_value)
            case "uint64_value":
                return tree.Literal(self._type(expr), Uint(constant.uint64_value))
            case "null_value" | None:
                return tree.Literal(self._type(expr), None)
            case kind:
                return tree.Literal(self._type(expr), getattr(constant, kind))

    def _list(self, expr: syntax_pb2.Expr) -> Node:
        elements = tuple(map(self.node, expr.list_expr.elements))
        return tree.ListOf(self._type(expr), elements, frozenset(expr.list_expr.optional_indices))

    def _map(self, expr: syntax_pb2.Expr) -> Node:
        struct = expr.struct_expr
        if struct.message_name:
            raise CompileError(f"protobuf messages such as {struct.message_name} are not supported")
        entries = (
            tree.Entry(self.node(entry.map_key), self.node(entry.value), entry.optional_entry)
            for entry in struct.entries
        )
        return tree.MapOf(self._type(expr), tuple(entries))

    def _fold(self, expr: syntax_pb2.Expr) -> Node:
        fold = expr.comprehension_expr
        return tree.Fold(
            self._type(expr),
            fold.iter_var,
            fold.iter_var2,
            self.node(fold.iter_range),
            fold.accu_var,
            self.node(fold.accu_init),
            self.node(fold.loop_condition),
            self.node(fold.loop_step),
            self.node(fold.result),
        )


def cel_type(message: checked_pb2.Type) -> CelType:
    """Return the type that the checker's message describes."""
    kind = message.WhichOneof("type_kind") or "dyn"
    read = _TYPES.get(kind)
    return tree.DYN if read is None else read(message)


def _abstract(message: checked_pb2.Type) -> CelType:
    abstract = message.abstract_type
    return CelType(abstract.name, tuple(map(cel_type, abstract.parameter_types)))


def _map(message: checked_pb2.Type) -> CelType:
    pair = message.map_type
    return CelType("map", (cel_type(pair.key_type), cel_type(pair.value_type)))


# Wrappers (a primitive or null), dyn and error are left out: only known at run time.
_TYPES: Final[dict[str, Callable[[checked_pb2.Type], CelType]]] = {
    "primitive": lambda message: _PRIMITIVES[message.primitive],
    "well_known": lambda message: CelType(_WELL_KNOWN[message.well_known]),
    "list_type": lambda message: CelType("list", (cel_type(message.list_type.elem_type),)),
    "map_type": _map,
    "message_type": lambda message: CelType(message.message_type),
    "type": lambda message: CelType("type", (cel_type(message.type),)),
    "abstract_type": _abstract,
    "null": lambda _message: tree.NULL,
    "type_param": lambda _message: tree.FREE,
}
