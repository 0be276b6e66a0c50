"""Pools in tables: whatever came before them, they come back as they were published."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import changed, exact, machine

from scheduler_core.model.taints import Taint
from scheduler_core.state.testing import device, pool
from scheduler_core.tables.pool_compiler import PoolCompiler, is_whole


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_pools_of_one_kind_come_back_as_they_were_published(seed):
    chance, compiler = Random(seed), PoolCompiler()

    for number in range(6):
        published = machine(number)
        for _ in range(chance.choice([0, 0, 1, 2])):
            published = changed(chance, published)

        compiled = compiler.compile(published)

        assert exact(compiled.restored()) == exact(published)


def test_further_nodes_of_a_kind_share_their_templates():
    compiler = PoolCompiler()

    first, second, third = (compiler.compile(machine(number)) for number in range(3))

    assert [one.template for one in second.components] == [one.template for one in third.components]
    assert [one.layout for one in first.components] == [one.layout for one in third.components]
    assert {one.own for one in second.components} != {one.own for one in third.components}


FIRST, *OTHERS = machine(0).devices
COVERED = {
    "an invalid pool": (replace(machine(0), problem="a name twice"), False),
    "an incomplete pool": (replace(machine(0), is_complete=False), False),
    "a pool with an older generation": (replace(machine(0), older=machine(0)), False),
    "a pool of whole devices": (pool(device("d")), True),
    "a pool with parts": (machine(0), True),
    "a tainted device": (replace(machine(0), devices=(replace(FIRST, taints=(Taint("a"),)), *OTHERS)), True),
    "a shareable device": (replace(machine(0), devices=(replace(FIRST, is_shareable=True), *OTHERS)), True),
    "an expression about others": (
        replace(machine(0), devices=(replace(FIRST, only_with="true"), *OTHERS)),
        True,
    ),
}


@pytest.mark.parametrize("case", COVERED)
def test_the_tables_cover_every_pool_that_is_valid_complete_and_of_one_generation(case):
    published, is_covered = COVERED[case]

    compiled = PoolCompiler().compile_if_regular(published)

    assert is_whole(published) is is_covered
    assert (None if compiled is None else exact(compiled.restored())) == (
        exact(published) if is_covered else None
    )


def test_compiling_a_pool_that_the_tables_do_not_cover_is_refused_by_its_name():
    with pytest.raises(ValueError, match="node-0"):
        PoolCompiler().compile(replace(machine(0), is_complete=False))


def test_what_was_compiled_before_does_not_show_in_a_pool_with_other_hardware():
    compiler = PoolCompiler()
    compiler.compile(machine(0))
    other = replace(machine(1), devices=machine(1).devices[:3])

    assert exact(compiler.compile(other).restored()) == exact(PoolCompiler().compile(other).restored())
