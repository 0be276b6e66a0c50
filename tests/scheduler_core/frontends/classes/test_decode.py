"""Bad objects: one error that names the object, the field, the value and what is allowed."""

import pytest

from scheduler_core.base.errors import InvalidInput
from scheduler_core.frontends.classes.decode import decode_node_devices, decode_resource_class


def changed(expression):
    return {
        "kind": "ResourceClass",
        "metadata": {"name": "c"},
        "spec": {"resourceSelector": [{"matchExpressions": [expression]}]},
    }


AT = "ResourceClass c: spec.resourceSelector[0].matchExpressions[0]"
OPERATORS = "In, Eq, NotIn, Exists, DoesNotExist, Gt, GtEq, Lt, LtEq"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"key": "k", "operator": "Gte", "values": ["1"]}, f".operator: 'Gte': must be one of {OPERATORS}"),
        ({"key": "k", "operator": "In"}, ".values: []: must have a value: In takes one"),
        ({"key": "k", "operator": "Eq", "values": ["a", "b"]}, ".values: ['a', 'b']: must have exactly one"),
        ({"key": "k", "operator": "Exists", "values": ["a"]}, ".values: ['a']: must be absent: Exists takes"),
        ({"key": "k", "operator": "Gt", "values": ["fast"]}, ".values[0]: 'fast': must be an amount such as"),
        ({"key": "k", "operator": "Gt", "values": ["30K"]}, ".values[0]: '30K': must be an amount such as"),
        ({"key": "k", "operator": "Gt", "values": [30]}, ".values[0]: 30: must be a string"),
        ({"key": "k", "operator": "Eq", "values": [""]}, ".values[0]: '': must not be empty"),
        ({"key": "", "operator": "Exists"}, ".key: '': must not be empty"),
        ({"operator": "Exists"}, ".key: is required"),
        ({"key": "k", "op": "Exists"}, ".op: unknown field; known here: key, operator, values"),
    ],
)
def test_a_bad_expression_is_refused_by_its_place(expression, message):
    with pytest.raises(InvalidInput) as refused:
        decode_resource_class(changed(expression))

    assert str(refused.value).startswith(AT + message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec": {"matchExpressions": []}}, "spec.matchExpressions: unknown field; known here: resourceS"),
        ({"metadata": {"name": "A b"}}, "metadata.name: 'A b': must be a DNS subdomain"),
        ({"metadata": {"name": "c", "namespace": "d"}}, "metadata.namespace: 'd': must be absent: a Resour"),
        ({"apiVersion": "v1"}, "apiVersion: 'v1': must be tangram.dev/v1alpha1, or absent"),
        ({"kind": "Class"}, "kind: 'Class': must be ResourceClass"),
        ({"spec": {"resourceSelector": {}}}, "spec.resourceSelector: {}: must be a list"),
    ],
)
def test_a_bad_class_is_refused_by_its_field(change, message):
    obj = {"kind": "ResourceClass", "metadata": {"name": "c"}, "spec": {}} | change

    with pytest.raises(InvalidInput) as refused:
        decode_resource_class(obj)

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([{"name": "a", "quantity": -1}], "devices[0].quantity: -1: must be at least 0"),
        ([{"name": "a", "quantity": 1.5}], "devices[0].quantity: 1.5: must be an integer"),
        ([{"name": "a"}, {"name": "a"}], "devices[1].name: 'a': is listed twice"),
        (
            [{"name": "a", "properties": {"k": []}}],
            "devices[0].properties.k: []: must be a string or a number",
        ),
        ([{"name": "a", "memory": "1G"}], "devices[0].memory: unknown field; known here: name, quantity, pr"),
    ],
)
def test_a_bad_list_of_devices_is_refused_by_its_place(devices, message):
    with pytest.raises(InvalidInput) as refused:
        decode_node_devices({"kind": "NodeDevices", "metadata": {"name": "n"}, "devices": devices})

    assert str(refused.value).startswith(f"NodeDevices n: {message}")


def test_a_number_with_a_fraction_is_the_same_amount_with_and_without_quotes():
    def device(name, speed):
        return {"name": name, "quantity": 1, "properties": {"speed": speed}}

    devices = [device("a", 1.5), device("b", "1.5")]
    obj = {"kind": "NodeDevices", "metadata": {"name": "n"}, "devices": devices}

    _, found = decode_node_devices(obj)

    bare, quoted = (one.properties["speed"] for one in found)
    assert bare == quoted
