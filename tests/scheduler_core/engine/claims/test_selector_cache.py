"""The selector cache: the right devices, and no evaluation for devices that are equal in what is read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import VALUES

from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.selector_cache import SelectorCache, fail, open_slots, reads_of
from scheduler_core.rules.selectors import compile_selector, view
from scheduler_core.state.testing import DRIVER, device, pool
from scheduler_core.tables.bits import positions
from scheduler_core.tables.entries import identity
from scheduler_core.tables.pool_compiler import PoolCompiler

X = f"device.attributes['{DRIVER}'].x"
TEXTS = [
    f"{X} == 'a'",
    f"'x' in device.attributes['{DRIVER}'] && {X} == 1",
    f"device.capacity['{DRIVER}'].m.compareTo(quantity('2')) >= 0",
    "true",
]
ROWS = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("xy"), st.sampled_from(VALUES)), st.integers(1, 3)),
    min_size=1,
    max_size=5,
)
SELECTORS = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=2).map(
    lambda texts: tuple(compile_selector(text) for text in texts)
)


def board(rows, name="b"):
    """One component: a board, and a part for each pair of attributes and amount."""
    parts = (
        device(f"{name}-{n}", sources=[name], attributes=attributes, m=amount)
        for n, (attributes, amount) in enumerate(rows)
    )
    return [device(name, m=20), *parts]


def component_of(rows):
    (component,) = PoolCompiler().compile(pool(*board(rows))).components
    return component


def outcome(selectors, component, position):
    try:
        return all(selector.matches(view(DRIVER, component.device(position))) for selector in selectors)
    except SelectorError:
        return "failed"


@settings(max_examples=200)
@given(ROWS, SELECTORS)
def test_the_devices_chosen_and_failed_are_those_of_evaluating_each(rows, selectors):
    component = component_of(rows)

    chosen, failed = SelectorCache().masks(selectors, component)

    expected = [outcome(selectors, component, position) for position in range(len(rows) + 1)]
    assert list(positions(chosen)) == [position for position, found in enumerate(expected) if found is True]
    assert list(positions(failed)) == [
        position for position, found in enumerate(expected) if found == "failed"
    ]


@settings(max_examples=200)
@given(ROWS, st.sampled_from(TEXTS))
def test_devices_equal_in_what_is_read_are_evaluated_once_and_never_again(rows, text):
    selectors, cache = (compile_selector(text),), SelectorCache()
    compiler = PoolCompiler()
    boards = compiler.compile(pool(*board(rows), *board(rows, "c"))).components
    reads = reads_of(selectors)

    for component in (*boards, *boards):
        cache.masks(selectors, component)

    devices = [component.device(position) for component in boards for position in range(len(rows) + 1)]
    read = {
        tuple((key, identity(one.attributes[key])) for key in reads.attributes if key in one.attributes)
        + tuple((key, one.capacity[key].nano) for key in reads.capacity if key in one.capacity)
        for one in devices
    }
    assert cache.evaluations == len(read)


@given(ROWS)
def test_the_error_of_a_failed_device_is_that_of_evaluating_it(rows):
    selectors, component = (compile_selector(TEXTS[0]),), component_of(rows)
    _, failed = SelectorCache().masks(selectors, component)
    for position in positions(failed):
        with pytest.raises(SelectorError) as found:
            fail(selectors, (), component, position)
        with pytest.raises(SelectorError) as expected:
            selectors[0].matches(view(DRIVER, component.device(position), str(component.pool)))
        assert str(found.value) == str(expected.value)


@given(st.lists(st.sampled_from(["a", "b"]), min_size=2, max_size=3))
def test_a_component_keeps_for_a_selector_the_values_it_reads_that_differ_between_components(values):
    devices = [device(f"d{n}", attributes={"x": value, "y": n}) for n, value in enumerate(values)]
    component = PoolCompiler().compile(pool(*devices)).components[0]

    slots = open_slots((compile_selector(TEXTS[0]),), component.template)

    assert [component.own[slot] for slot in slots] == ([values[0]] if len(set(values)) > 1 else [])
