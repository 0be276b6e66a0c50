"""Classes and devices in a line each, and strategies that make any of them."""

import pytest

from scheduler_core.frontends.classes.decode import decode_resource_class
from scheduler_core.frontends.classes.model import ClassDevice
from scheduler_core.frontends.classes.values import value_of


def class_object(name, *selectors):
    """Return an API object; an expression is (key, operator, values...)."""
    expressions = [
        {"matchExpressions": [{"key": key, "operator": op, "values": values} for key, op, *values in one]}
        for one in selectors
    ]
    for entry in expressions:
        for one in entry["matchExpressions"]:
            if not one["values"]:
                del one["values"]
    return {"kind": "ResourceClass", "metadata": {"name": name}, "spec": {"resourceSelector": expressions}}


@pytest.fixture
def class_of():
    """Make a class from selectors."""
    return lambda name, *selectors: decode_resource_class(class_object(name, *selectors))


@pytest.fixture
def object_of():
    """Make a class's API object from selectors."""
    return class_object


@pytest.fixture
def device():
    """Make a device from its properties as texts."""

    def make(name, quantity=1, **properties):
        return ClassDevice(name, quantity, {key: value_of(text) for key, text in properties.items()})

    return make
