"""What may be a mistake in a class: values that compare with nothing, and selectors without a device."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.version import Version
from scheduler_core.frontends.classes.advice import advice, why_unserved
from scheduler_core.frontends.classes.model import ORDERED, ResourceClass, ValueOperator, ValueRequirement
from scheduler_core.frontends.classes.selection import selects
from scheduler_core.frontends.classes.values import LIST, Value, value_of

GPU = {
    "Kind": value_of("nvidia-gpu"),
    "driverVersion": Value("", version=Version.parse("560.35.03")),
    "memory": Value("", value_of("40Gi").amount),
    "model": value_of("A100"),
    "tags": LIST,
}
NIC = {"Kind": value_of("nic"), "speed": value_of("100GBPS")}
AT = "spec.resourceSelector[0].matchExpressions[0]"


def said(resource_class, *devices):
    return list(advice(resource_class, devices or (GPU, NIC)))


@pytest.mark.parametrize(
    ("requirement", "path", "text"),
    [
        (
            ("driverVersion", "Gt", "30G"),
            f"{AT}.values",
            "'30G' is an amount and cannot be compared with driverVersion of any device: 560.35.03 (a "
            "version)",
        ),
        (
            ("driverVersion", "Eq", "latest"),
            f"{AT}.values",
            "'latest' is text and cannot be compared with driverVersion of any device: 560.35.03 (a version)",
        ),
        (
            ("memory", "Lt", "1.2.3"),
            f"{AT}.values",
            "'1.2.3' is a version and cannot be compared with memory of any device: 40Gi (an amount)",
        ),
        (
            ("speed", "GtEq", "40G"),
            f"{AT}.values",
            "'40G' is an amount and cannot be compared with speed of any device: 100GBPS (an amount)",
        ),
        (
            ("model", "NotIn", "100"),
            f"{AT}.values",
            "'100' is a number and cannot be compared with model of any device: A100 (text)",
        ),
        (
            ("tags", "Eq", "x"),
            f"{AT}.values",
            "'x' is text and cannot be compared with tags of any device: a list (no single value)",
        ),
        (
            ("cudaVersion", "Gt", "30G"),
            f"{AT}.values",
            "'30G' is an amount, but cudaVersion is compared as a version, such as 535 or 12.4",
        ),
        (("modell", "Eq", "A100"), AT, "no device has modell; similar: model"),
        (("model", "Eq", "H100"), AT, "no device has model Eq H100; present: A100"),
        (("memory", "Gt", "80G"), AT, "no device has memory Gt 80G; present: 40Gi"),
        (("Kind", "DoesNotExist"), AT, "every device has Kind"),
        (("Kind", "NotIn", "nic", "nvidia-gpu"), AT, "every device has Kind nic or nvidia-gpu"),
    ],
)
def test_an_expression_that_no_device_can_meet_is_named_with_what_is_present(
    class_of, requirement, path, text
):
    assert (path, text) in said(class_of("c", [requirement]))


def test_expressions_that_no_device_meets_together_are_named(class_of):
    both = class_of("c", [("Kind", "In", "nic"), ("model", "Exists")])

    assert said(both) == [
        ("spec.resourceSelector[0]", "some device meets each of its expressions, but none meets all of them")
    ]


@pytest.mark.parametrize(
    "selector",
    [
        [("driverVersion", "Gt", "535")],
        [("driverVersion", "In", "1", "560.35.3")],
        [("memory", "NotIn", "16G")],
        [("Kind", "In", "nic"), ("speed", "GtEq", "40GBPS")],
        [("Kind", "In", "nvidia-mig"), ("profile", "Eq", "1g.5gb")],
        [("absent", "DoesNotExist")],
    ],
)
def test_a_class_that_selects_devices_or_asks_for_a_kind_of_other_nodes_is_not_doubted(class_of, selector):
    assert said(class_of("c", selector)) == []


def test_each_selector_is_judged_by_itself(class_of):
    one = class_of("c", [("Kind", "In", "nic")], [("model", "Eq", "H100")], [])

    assert [path for path, _ in said(one)] == [
        "spec.resourceSelector[1].matchExpressions[0]",
        "spec.resourceSelector[2]",
    ]


def test_a_class_without_selectors_selects_nothing(class_of):
    assert said(class_of("c")) == [("spec.resourceSelector", "is empty, so the class selects no device")]


@pytest.mark.parametrize(
    ("selectors", "kinds"),
    [
        ([[("Kind", "In", "huge-pages"), ("size", "GtEq", "1G")]], "huge-pages"),
        ([[("Kind", "In", "fpga", "huge-pages")]], "fpga or huge-pages"),
        ([[("Kind", "Eq", "fpga")], [("Kind", "Eq", "huge-pages")]], "fpga or huge-pages"),
        ([[("Kind", "Eq", "fpga")], []], "fpga"),
        ([[("Kind", "Eq", "fpga")], [("Kind", "Eq", "nic")]], None),
        ([[("Kind", "In", "fpga", "nic")]], None),
        ([[("Kind", "NotIn", "nic")]], None),
        ([[("size", "GtEq", "1G")]], None),
        ([], None),
    ],
)
def test_only_a_class_all_of_whose_selectors_demand_other_kinds_is_served_to_no_pod(
    class_of, selectors, kinds
):
    reason = why_unserved(class_of("c", *selectors))

    assert (
        (reason is None)
        if kinds is None
        else reason.startswith(f"Kind {kinds}: Tangram publishes no such devices")
    )


def test_a_kind_that_nothing_publishes_is_named_even_if_listed_devices_have_it(class_of):
    listed = {"Kind": value_of("huge-pages"), "size": value_of("1Gi")}
    one = class_of("c", [("Kind", "In", "huge-pages"), ("size", "GtEq", "1G")])

    for devices in ([], [GPU], [GPU, listed]):
        ((path, text),) = advice(one, devices)
        assert path == f"{AT}.values"
        assert "hugepages-1Gi" in text


_texts = st.sampled_from(("535", "560.35.03", "12.10", "30G", "40GBPS", "A100", "latest", "nic"))
_keys = st.sampled_from(("driverVersion", "memory", "speed", "model", "absent"))


@given(_keys, st.sampled_from(ValueOperator), _texts)
def test_an_expression_with_a_value_that_selects_nothing_is_never_silent(key, operator, text):
    wanted = () if operator in (ValueOperator.EXISTS, ValueOperator.DOES_NOT_EXIST) else (text,)
    if operator in ORDERED and value_of(text) == Value(text):
        return
    one = ResourceClass("c", ((ValueRequirement(key, operator, wanted),),))

    is_silent = not said(one)

    assert not is_silent or any(selects(one, device) for device in (GPU, NIC))
