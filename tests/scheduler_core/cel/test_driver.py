"""Expressions about one driver, rewritten for another: the meaning stays; what is uncertain is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.quantity import Quantity
from scheduler_core.cel.driver import with_driver
from scheduler_core.cel.errors import CompileError
from scheduler_core.model.device import Device, DeviceName, QualifiedName
from scheduler_core.rules.selectors import compile_selector, view

OLD, NEW = "gpu.nvidia.com", "tangram.dev"
A = f'device.attributes["{OLD}"]'
TERMS = (
    f"device.driver == '{OLD}'",
    f'"{OLD}" == device.driver',
    f'device.driver != "{OLD}"',
    f'device.driver in ["{OLD}", "example.com"]',
    f"'{OLD}' in device.attributes",
    f'{A}.type == "gpu"',
    f'{A}["type"] == "mig"',
    f"has({A}.profile)",
    f'"profile" in {A}',
    f'{A}.?profile.orValue("none") == "none"',
    f'device.attributes[?"{OLD}"].hasValue()',
    f'device.capacity["{OLD}"].memory.isGreaterThan(quantity("10Gi"))',
    f'["gpu", "mig"].exists(one, one == {A}.type)',
    f'cel.bind(a, {A}, a.type == "gpu" || a.type == "vf")',
    'device.attributes["example.com"].colour == "red"',
)
joined = st.builds(
    lambda terms, between: between.join(f"({one})" for one in terms),
    st.lists(st.sampled_from(TERMS), min_size=1, max_size=3),
    st.sampled_from((" && ", " || ", "\n  && ", f" // of {OLD}\n && ")),
)
devices = st.builds(
    lambda kind, memory, colour: (kind, memory, colour),
    st.sampled_from(("gpu", "mig")),
    st.sampled_from((5, 40)),
    st.sampled_from(("red", "blue")),
)


def seen(driver: str, kind: str, memory: int, colour: str):
    attributes = {
        QualifiedName(f"{driver}/type"): kind,
        QualifiedName("example.com/colour"): colour,
        **({QualifiedName(f"{driver}/profile"): "1g.5gb"} if kind == "mig" else {}),
    }
    capacity = {QualifiedName(f"{driver}/memory"): Quantity.bytes_of(memory << 30)}
    return view(driver, Device(name=DeviceName("gpu-0"), attributes=attributes, capacity=capacity))


@given(joined, devices)
def test_a_rewritten_expression_selects_the_same_devices_under_the_other_name(text, device):
    changed = with_driver(text, OLD, NEW)

    assert changed is not None
    before, after = compile_selector(text), compile_selector(changed)
    assert before.matches(seen(OLD, *device)) == after.matches(seen(NEW, *device))
    assert before.reads_of(OLD) == after.reads_of(NEW)


@pytest.mark.parametrize(
    "text",
    [
        f'device.attributes["example.com"].vendor == "{OLD}"',
        f'device.attributes.exists(one, one == "{OLD}")',
        f'cel.bind(all, device.attributes, all["{OLD}"].type == "gpu")',
        f'device.attributes["example.com"].url == "https://{OLD}/x"',
        f'device.attributes["""{OLD}"""].type == "gpu"',
        f'device.driver.startsWith("{OLD}")',
    ],
)
def test_a_name_that_may_mean_something_else_is_not_changed(text):
    assert with_driver(text, OLD, NEW) is None


def test_a_text_that_is_no_expression_is_refused():
    with pytest.raises(CompileError):
        with_driver(f'{A}.type == "', OLD, NEW)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f'"{OLD}" in device.attributes && {A}.type == "gpu"', {("attributes", "type")}),
        (f'device.attributes.exists(one, one == "x") && has({A}.brand)', {("attributes", "brand")}),
        (f'device.attributes.size() > 1 && {A}.exists(one, one == "uuid")', None),
        (f'device.attributes.size() > 1 && "uuid" in {A}', {("attributes", "uuid")}),
    ],
)
def test_what_is_read_of_a_driver_is_known_though_other_reads_are_computed(text, read):
    assert compile_selector(text).reads_of(OLD) == read
