"""Where we knowingly answer otherwise than upstream: limits of the checker, and defects not copied."""

from __future__ import annotations

import pytest

from scheduler_core.base.errors import SelectorError
from scheduler_core.rules.selectors import Selector, compile_selector


def test_protobuf_messages_cannot_be_built(gpu):
    with pytest.raises(SelectorError, match="protobuf messages such as"):
        compile_selector("google.protobuf.Int64Value{value: 1} == 1")


@pytest.mark.parametrize("key", ["[1]", "{}", "optional.of(1)"])
def test_lists_maps_and_optionals_are_no_keys_of_a_map(gpu, key):
    with pytest.raises(SelectorError, match="unsupported key type"):
        compile_selector(f"{{{key}: 1}}.size() == 1").matches(gpu)


def test_a_sum_of_quantities_can_stand_on_the_right_of_an_equality(gpu):
    text = 'quantity("2Gi") == quantity("1Gi").add(quantity("1Gi"))'

    assert compile_selector(text).matches(gpu)


@pytest.mark.parametrize(
    "call", ["[[1]][1].sort() == [1]", "[[1]][1].distinct() == [1]", "[[1]].flatten([1][1]) == [1]"]
)
def test_the_error_of_an_argument_is_absorbed_where_upstream_breaks_off(call, gpu):
    assert Selector(f"{call} || true").matches(gpu)


def test_a_list_of_quantities_equals_no_list_of_strings(gpu):
    assert not compile_selector('dyn([quantity("1")]) == dyn(["1"])').matches(gpu)
