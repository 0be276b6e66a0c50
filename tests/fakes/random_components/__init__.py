"""Random components, and a plain way to try all that they allow: what the near tests of the core share."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.model.device import Binding, Device, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import AllNodes, OnNode
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.taints import Taint
from scheduler_core.state.testing import DRIVER, device, pool
from scheduler_core.tables.bits import positions
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.structure import Structure

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
"""Attribute values, some of them equal in Python and different for a selector."""
GROUPS = st.none() | st.sets(st.sampled_from("xyz"), min_size=1, max_size=2).map(frozenset)


@st.composite
def parents(draw: st.DrawFn, size: int) -> tuple[tuple[int, ...], ...]:
    """Of which devices each one is cut: earlier ones, so that no chain is a circle."""
    return tuple(
        tuple(sorted(draw(st.sets(st.integers(0, position - 1), max_size=2)))) if position else ()
        for position in range(size)
    )


def structures(most: int = 6) -> st.SearchStrategy[Structure]:
    """Structures of a few devices."""
    return nested_structures(most) | sliced_structures(most)


@st.composite
def sliced_structures(draw: st.DrawFn, most: int) -> Structure:
    """A whole of a few slices, and parts of neighbouring slices, as MIG partitions are."""
    slices = draw(st.integers(1, 4))
    ends = st.tuples(st.integers(0, slices), st.integers(0, slices)).map(sorted)
    parts = draw(st.lists(ends, max_size=most - 1))
    return Structure(
        parents=((), *[(0,)] * len(parts)),
        draws=((), *(tuple((one, 1) for one in range(*part)) for part in parts)),
        totals=(1,) * slices,
    )


@st.composite
def nested_structures(draw: st.DrawFn, most: int) -> Structure:
    """Parts, parts of parts, devices that draw nothing or too much."""
    size = draw(st.integers(1, most))
    totals = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    one = st.dictionaries(st.integers(0, len(totals) - 1), st.integers(0, 3), max_size=2)
    draws = draw(st.lists(one, min_size=size, max_size=size))
    return Structure(
        parents=draw(parents(size)) if draw(st.booleans()) else ((),) * size,
        draws=tuple(tuple(sorted(mine.items())) for mine in draws),
        totals=tuple(totals),
    )


@st.composite
def pools(draw: st.DrawFn, most: int = 6) -> Pool:
    """A pool of a few devices, whose draws may meet, exceed their source or declare compatibility groups."""
    size = draw(st.integers(1, most))
    above = draw(parents(size))
    amounts = st.dictionaries(st.sampled_from(["m", "k"]), st.integers(0, 3).map(Quantity.of), max_size=2)
    drawn = st.dictionaries(st.sampled_from(["s0", "s1"]), st.tuples(amounts, GROUPS), max_size=2)
    devices = tuple(
        Device(
            name=DeviceName(f"d{number}"),
            parents=tuple(DeviceName(f"d{parent}") for parent in above[number]),
            draws=tuple(
                Draw(SourceName(source), *mine) for source, mine in sorted(draw(drawn).items(), key=str)
            ),
            nodes=OnNode("node-1"),
        )
        for number in range(size)
    )
    sources = {
        SourceName(name): {key: Quantity.of(draw(st.integers(0, 5))) for key in "mk"} for name in ("s0", "s1")
    }
    return Pool(id=PoolId(DRIVER, "node-1"), devices=devices, sources=sources, seen_from=(OnNode("node-1"),))


@st.composite
def tables_with_columns(
    draw: st.DrawFn, most: int = 6, columns: int = 3
) -> tuple[OccupancyTables, tuple[int, ...], int]:
    """Tables, the positions that suit each of some columns, and a state, overdrawn ones too."""
    tables = OccupancyTables(draw(structures(most)))
    masks = st.just(tables.everything) | st.integers(0, tables.everything)
    state = st.just(0) | st.integers(0, tables.everything)
    return tables, tuple(draw(st.lists(masks, min_size=1, max_size=columns))), draw(state)


def ways(tables: OccupancyTables, state: int, columns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every way to take one device of each mask, one after another, those with early devices first."""
    if not columns:
        yield ()
        return
    for position in positions(tables.free(state) & columns[0]):
        for rest in ways(tables, state | 1 << position, columns[1:]):
            yield (position, *rest)


def machine(number: int) -> Pool:
    """Two boards with parts, and the attribute values of node ``number``."""
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


def changed(chance: Random, found: Pool) -> Pool:
    """The pool with one device that has other attributes, amounts or marks."""
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


def exact(found: Pool) -> tuple[Pool, list[dict[QualifiedName, tuple[type, str]]]]:
    """A pool with the types of all values: True is not 1 here."""
    values = [
        {key: (type(value), str(value)) for key, value in one.attributes.items()} for one in found.devices
    ]
    return found, values
