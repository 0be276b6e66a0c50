"""What the checker hands over: the shape of the tree that the evaluator and the estimate read."""

from __future__ import annotations

import pytest
from google.protobuf import any_pb2

from scheduler_core.cel import tree
from scheduler_core.cel._pb import checked_pb2
from scheduler_core.cel.library.registry import BY_ID
from scheduler_core.cel.parse.environment import new_environment
from scheduler_core.cel.parse.frontend import check

ATTRIBUTE = 'device.attributes["a"].b'
OPERATORS = {"equals", "not_equals", "index_map", "index_list", "in_list", "in_map", "add_list", "add_string"}
OPERATORS |= {"logical_and", "logical_or", "conditional", "greater_int64", "less_int64_double"}


def test_a_serialised_expression_is_read_by_messages_of_another_package():
    envelope = any_pb2.Any.FromString(new_environment().compile("1 < 1.5").serialize())

    checked = checked_pb2.CheckedExpr.FromString(envelope.value)

    assert envelope.type_url.endswith("/cel.expr.CheckedExpr")
    assert checked.DESCRIPTOR.full_name == "tangram.cel.expr.CheckedExpr"
    assert checked.expr.call_expr.function == "_<_"
    assert checked.reference_map[checked.expr.id].overload_id == ["less_int64_double"]
    assert checked.type_map[checked.expr.id].primitive == checked_pb2.Type.BOOL


def test_an_attribute_is_a_selection_on_an_index_on_a_field_of_the_device():
    node = check(f"{ATTRIBUTE} == 1")

    match node:
        case tree.Call(function="_==_", overloads=("equals",), arguments=(read, tree.Literal(value=1))):
            pass
        case _:
            pytest.fail(f"{node}")
    match read:
        case tree.Select(
            type=tree.DYN,
            field="b",
            operand=tree.Call(
                function="_[_]",
                arguments=(
                    tree.Select(operand=tree.Name(name="device"), field="attributes"),
                    tree.Literal(value="a"),
                ),
            ),
        ):
            pass
        case _:
            pytest.fail(f"{read}")


def test_a_capacity_has_the_type_of_a_quantity():
    node = check('device.capacity["a"].b == quantity("1")')

    assert isinstance(node, tree.Call)
    assert [str(argument.type) for argument in node.arguments] == ["kubernetes.Quantity"] * 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[1, "a"].size() == 2', "expected type 'int' but found 'string'"),
        ('{1: 1, "a": 2}.size() == 2', "expected type 'int' but found 'string'"),
        ('"%d".format(["a"]) == ""', "format clause %d cannot be used on string"),
        ('"%d %d".format([1]) == ""', "index 1 out of range"),
        ('"%d".format([1, 2]) == ""', "too many arguments"),
        ('device.driver.matches("(")', "illegal pattern"),
        ('duration("1 week") > duration("1s") || true', "invalid duration"),
        ('int("x") == 1 || true', "type conversion error from 'string' to 'int'"),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
    ],
)
def test_what_kubernetes_refuses_beyond_types_is_refused(text, problem, compile_error):
    assert problem in compile_error(text)


def test_every_overload_that_the_checker_chooses_has_a_meaning():
    for text in [
        "[3, 1].sort() == [1, 3]",
        "lists.range(3) == [0]",
        "[1].first().hasValue()",
        "[[1]].flatten() == [1]",
    ]:
        node = check(text)

        for call in calls(node):
            assert set(call.overloads) <= set(BY_ID) | OPERATORS, call


def calls(node: tree.Node) -> list[tree.Call]:
    found = [node] if isinstance(node, tree.Call) else []
    return found + [call for child in tree.children(node) for call in calls(child)]
