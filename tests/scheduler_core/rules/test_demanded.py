"""Which texts an attribute must be one of for a selector to be true, where comparisons alone say it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.errors import SelectorError
from scheduler_core.model.device import Device, DeviceName, QualifiedName
from scheduler_core.rules.selectors import Selector, view

TYPE = 'device.attributes["d"].type'


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (f'{TYPE} == "a"', {"a"}),
        (f'"a" == {TYPE}', {"a"}),
        (f'{TYPE} in ["a", "b"]', {"a", "b"}),
        (f'device.driver == "d" && {TYPE} == "a" && {TYPE} in ["a", "b"]', {"a"}),
        (f'{TYPE} == "a" || {TYPE} == "b"', {"a", "b"}),
        (f'{TYPE} == "a" || device.driver == "d"', None),
        (f'{TYPE} in ["a", device.driver]', None),
        (f'{TYPE} != "a"', None),
        (f'!({TYPE} == "a")', None),
        ('device.attributes["e"].type == "a"', None),
        ('device.attributes["d"].kind == "a"', None),
        ('device.driver == "d"', None),
    ],
)
def test_comparisons_with_texts_say_what_is_demanded(text: str, texts: set[str] | None) -> None:
    assert Selector(text).demanded("d", "type") == texts


comparisons = st.sampled_from(
    [
        f'{TYPE} == "a"',
        f'{TYPE} == "b"',
        f'{TYPE} in ["b", "c"]',
        f'{TYPE} != "c"',
        'device.driver == "d"',
        "true",
    ]
)
expressions = st.recursive(
    comparisons,
    lambda inner: st.tuples(inner, st.sampled_from(("&&", "||")), inner).map(
        lambda one: f"({' '.join(one)})"
    ),
)


@given(expressions, st.sampled_from("abc"))
def test_no_device_with_another_text_is_selected(text: str, kind: str) -> None:
    selector = Selector(text)
    device = Device(name=DeviceName("x"), attributes={QualifiedName("d/type"): kind})

    try:
        is_selected = selector.matches(view("d", device))
    except SelectorError:
        is_selected = False

    demanded = selector.demanded("d", "type")
    assert not is_selected or demanded is None or kind in demanded
