"""A class and the DeviceClass that it compiles to select the same devices, whatever devices publish."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.cel.evaluate.steps import COST_LIMIT
from scheduler_core.codec.claims import decode_class
from scheduler_core.frontends.classes.compile import device_class_of
from scheduler_core.frontends.classes.errors import CannotCompile
from scheduler_core.frontends.classes.model import (
    ORDERED,
    WITHOUT_VALUES,
    ResourceClass,
    ValueOperator,
    ValueRequirement,
)
from scheduler_core.frontends.classes.published import properties_of, published
from scheduler_core.frontends.classes.selection import selects
from scheduler_core.frontends.classes.values import Value, value_of
from scheduler_core.model.device import Device, DeviceName
from scheduler_core.model.names import qualified
from scheduler_core.rules.selectors import compile_selector, view

DRIVER = "d.example.com"
PLAIN_KEYS = ("Kind", "memory", "speed", "model", "numa", "version", "cudaVersion", "computeCapability")
KEYS = (*PLAIN_KEYS, "a.example.com/x", "a.example.com/version", "resource.kubernetes.io/numaNode")
PUBLISHED = (*KEYS, "type", "cudaComputeCapability", "driverVersion", "linkSpeedMbps", "productName")
AMOUNTS = ("0", "1", "1G", "1Gi", "1024Mi", "1e9", "40GBPS", "40gbps", "40000MBPS", "5n", "5N", "1GB", "2gHz")
TEXTS = ("gpu", "mig", "nic", "nvidia-gpu", "nvidia-mig", "T4", "1K", "true", 'a"\\b', "01.2.3", "é")
VERSIONS = ("1.2.3", "560.35.03", "0.0.0", "12.6", "12.10", "v12.6", "12", "1.2.3-rc.1", "1.2.3-rc.10+b")
"""As drivers print them; attributes are published in full, which Version does."""

# Few and small numbers, so that versions and amounts often meet their equals and neighbours.
_numbers = st.integers(0, 12).map(str) | st.sampled_from(("00", "03", "010", "9" * 18, "9" * 19))
_tails = st.sampled_from(("", "", "", "", "-rc.1", "-01", "-a-b+c.d", "+b", "k", "Gi", "GBPS", "B", "e2"))
printed = st.builds(
    lambda prefix, numbers, tail: prefix + ".".join(numbers) + tail,
    st.sampled_from(("", "", "", "v", "-", "+")),
    st.lists(_numbers, min_size=1, max_size=4),
    _tails,
)
texts = st.sampled_from((*AMOUNTS, *TEXTS, *VERSIONS)) | printed
values = st.one_of(
    texts,
    st.booleans(),
    st.integers(-3, 50_000),
    st.sampled_from(VERSIONS).map(Version.parse),
    st.builds(lambda *numbers: Version.parse(".".join(map(str, numbers))), *[st.integers(0, 12)] * 3),
    st.just((1, 2)),
    st.just(("T4",)),
)
devices = st.builds(
    lambda attributes, capacity: Device(
        name=DeviceName("d"),
        attributes={qualified(key, DRIVER): value for key, value in attributes.items()},
        capacity={qualified(key, DRIVER): Quantity.parse(text) for key, text in capacity.items()},
    ),
    st.dictionaries(st.sampled_from(PUBLISHED), values, max_size=5),
    st.dictionaries(st.sampled_from(PUBLISHED), st.sampled_from(("0", "1G", "1Gi", "40G")), max_size=2),
)


@st.composite
def requirements(draw):
    operator = draw(st.sampled_from(ValueOperator))
    if operator in WITHOUT_VALUES:
        wanted = ()
    elif operator in ORDERED:
        wanted = (draw(texts.filter(lambda text: value_of(text) != Value(text))),)
    else:
        wanted = tuple(draw(st.lists(texts, min_size=1, max_size=3 if operator.endswith("In") else 1)))
    return ValueRequirement(draw(st.sampled_from(KEYS)), operator, wanted)


classes = st.builds(
    lambda selectors: ResourceClass("c", tuple(selectors)),
    st.lists(st.lists(requirements(), max_size=2).map(tuple), max_size=2),
)


def compiled(resource_class):
    (expression,) = decode_class(device_class_of(resource_class)).selectors
    return compile_selector(expression)


FOUND = (
    *(
        "1G",
        "1Gi",
        "1024Mi",
        "40GBPS",
        "40000mbps",
        "1.5kibps",
        "5n",
        "5N",
        "1GB",
        "2gHz",
        "T4",
        "nvidia-gpu",
    ),
    *(True, -3, 0, 40_000, 10**9, Version.parse("560.35.3"), Version.parse("1.2.3"), (1, 2), "1.2.3", "true"),
    *("12.9", "12.1", "12.10", Version.parse("12.10"), "v1.2", "560.35.03"),
)
WANTED = (
    "1G",
    "1Gi",
    "40GBPS",
    "1.5KIBPS",
    "5N",
    "2GHz",
    "-3",
    "560.35.3",
    "560.35.03",
    "1.2.3",
    "1.2",
    "12.10",
    "560",
    "v1.2",
    "T4",
    "nvidia-gpu",
    "true",
)
SHAPES = {
    "own attribute": lambda value: ("memory", {"memory": value}, {}),
    "attribute over capacity": lambda value: ("memory", {"memory": value}, {"memory": "1G"}),
    "other domain": lambda value: ("a.example.com/x", {"a.example.com/x": value, "x": "1G"}, {}),
    "speed of the link": lambda value: ("speed", {"linkSpeedMbps": value}, {}),
    "model": lambda value: ("model", {"productName": value}, {}),
    "version of the driver": lambda value: ("version", {"driverVersion": value}, {}),
}


def asked(key):
    for operator in ValueOperator:
        if operator in WITHOUT_VALUES:
            yield ValueRequirement(key, operator)
            continue
        for wanted in WANTED:
            if operator not in ORDERED or value_of(wanted) != Value(wanted):
                yield ValueRequirement(key, operator, (wanted,))


def device_of(attributes, capacity):
    return Device(
        name=DeviceName("d"),
        attributes={qualified(key, DRIVER): value for key, value in attributes.items()},
        capacity={qualified(key, DRIVER): Quantity.parse(text) for key, text in capacity.items()},
    )


def disagreements(requirement, found):
    one = ResourceClass("c", ((requirement,),))
    selector = compiled(one)
    return [
        device
        for device in found
        if selector.matches(view(DRIVER, device)) is not selects(one, properties_of(DRIVER, device))
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_operator_agrees_on_every_kind_of_value_wherever_it_stands(shape):
    found = [device_of(*SHAPES[shape](value)[1:]) for value in FOUND]
    key, *_ = SHAPES[shape](0)

    assert {
        one: wrong for one in asked(key) if (wrong := disagreements(one, [*found, device_of({}, {})]))
    } == {}


def test_every_operator_agrees_on_capacities_and_kinds():
    capacities = [device_of({}, {"memory": text}) for text in ("0", "1G", "1Gi", "1024Mi", "40G")]
    kinds = [
        device_of({"type": kind} | more, {})
        for kind in ("gpu", "mig", "nic", "vf", "other", 5)
        for more in ({}, {"cudaComputeCapability": "8.0"})
    ]

    assert {one: wrong for one in asked("memory") if (wrong := disagreements(one, capacities))} == {}
    assert {one: wrong for one in asked("Kind") if (wrong := disagreements(one, kinds))} == {}


def test_something_is_selected_by_every_operator():
    found = [device_of({"memory": value}, {}) for value in FOUND]

    selecting = {
        one.operator
        for one in asked("memory")
        if any(selects(ResourceClass("c", ((one,),)), properties_of(DRIVER, device)) for device in found)
    }

    assert selecting == set(ValueOperator) - {ValueOperator.DOES_NOT_EXIST}


@settings(deadline=None)
@given(classes, devices)
def test_a_class_and_its_device_class_select_the_same_published_devices(resource_class, device):
    by_class = selects(resource_class, properties_of(DRIVER, device))

    assert compiled(resource_class).matches(view(DRIVER, device)) is by_class


@settings(deadline=None)
@given(classes, st.dictionaries(st.sampled_from(PLAIN_KEYS), texts, max_size=4))
def test_a_plain_device_is_selected_as_if_it_were_published(resource_class, properties):
    plain = {key: value_of(text) for key, text in properties.items()}
    device = published("d", properties, DRIVER)

    by_class = selects(resource_class, plain)

    assert compiled(resource_class).matches(view(DRIVER, device)) is by_class


def test_the_device_class_is_cheap_enough_for_api_servers(class_of):
    seed = class_of("fast.nic", [("Kind", "In", "nic"), ("speed", "GtEq", "40GBPS"), ("model", "NotIn", "x")])

    assert compiled(seed).max_cost <= COST_LIMIT // 100


def test_a_class_too_long_for_an_expression_is_refused(class_of):
    long = class_of("long", [("model", "In", *(f"model-{n}" for n in range(2000)))])

    with pytest.raises(CannotCompile, match=f"long .* at most {EXPRESSION_LENGTH} are allowed"):
        device_class_of(long)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"type": "gpu", "cudaComputeCapability": "8.0"}, "nvidia-gpu"),
        ({"type": "gpu"}, None),
        ({"type": "nic"}, "nic"),
        ({"type": "gpu", "cudaComputeCapability": "8.0", "Kind": "mine"}, "mine"),
    ],
)
def test_the_kind_is_told_by_the_type_unless_the_device_has_one_of_its_own(attributes, kind):
    device = published("d", attributes, DRIVER)

    found = properties_of(DRIVER, device).get("Kind")

    assert found == (None if kind is None else value_of(kind))
