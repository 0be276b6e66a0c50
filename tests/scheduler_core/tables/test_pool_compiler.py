"""Pools in tables: whatever came before them, they come back as they were published."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.model.device import Binding, QualifiedName
from scheduler_core.model.nodes import AllNodes, OnNode
from scheduler_core.model.pool import PoolId
from scheduler_core.model.taints import Taint
from scheduler_core.state.testing import DRIVER, device, pool
from scheduler_core.tables.pool_compiler import PoolCompiler

VALUES = [
    "a",
    "b",
    True,
    1,
    2,
    False,
    0,
    "1",
    Version.parse("1.0"),
    Version.parse("1.0.0"),
    ("a", "b"),
    ("a",),
]


def machine(number):
    """Two boards with parts, the values of node ``number``."""
    boards = (
        device(f"b{board}", attributes={"serial": f"{number}-{board}", "kind": "whole"}, m=8)
        for board in range(2)
    )
    parts = (
        device(f"b{board}-{part}", sources=[f"b{board}"], attributes={"kind": "part", "at": part}, m=2)
        for board in range(2)
        for part in range(3)
    )
    found = pool(*boards, *parts, node=f"node-{number}")
    return replace(found, id=PoolId(DRIVER, f"node-{number}"))


def changed(chance, found):
    """The machine with a device that says or needs something else."""
    index = chance.randrange(len(found.devices))
    one = found.devices[index]
    key = QualifiedName(f"{DRIVER}/{chance.choice(['kind', 'serial', 'at', 'more'])}")
    other = chance.choice([
        replace(one, attributes={**one.attributes, key: chance.choice(VALUES)}),
        replace(one, attributes=dict(list(one.attributes.items())[1:])),
        replace(one, capacity={name: Quantity.of(1) for name in one.capacity}),
        replace(one, draws=tuple(replace(draw, groups=frozenset("x")) for draw in one.draws)),
        replace(one, nodes=chance.choice([AllNodes(), OnNode("elsewhere")])),
        replace(one, taints=(Taint("health"),)),
        replace(one, binding=Binding(("ready",))),
        replace(one, is_shareable=True),
    ])  # fmt: skip
    return replace(found, devices=(*found.devices[:index], other, *found.devices[index + 1 :]))


def exact(found):
    """A pool with the types of all values: True is not 1 here."""
    values = [
        {key: (type(value), str(value)) for key, value in one.attributes.items()} for one in found.devices
    ]
    return found, values


@settings(deadline=None, max_examples=150)
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
