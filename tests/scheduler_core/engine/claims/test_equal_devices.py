"""Devices that agree in all that is read of them are judged once."""

import pytest

from scheduler_core.engine.claims.equal_devices import EqualDevices, Reads
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import DRIVER, device, pool
from scheduler_core.tables.pool_compiler import PoolCompiler

KIND, SIZE = QualifiedName(f"{DRIVER}/kind"), QualifiedName(f"{DRIVER}/m")


@pytest.fixture
def board():
    """One component: a board and three parts, one of them without a kind."""
    whole = device("b", attributes={"kind": "whole"}, m=8)
    parts = [device(f"p{n}", sources=["b"], attributes={"kind": f"part-{n % 2}"}, m=1 + n) for n in range(2)]
    bare = device("p2", sources=["b"], m=2)
    (component,) = PoolCompiler().compile(pool(whole, *parts, bare)).components
    return component


@pytest.mark.parametrize(
    ("attributes", "capacity", "masks"),
    [
        ((), (), {0b1111}),
        ((KIND,), (), {0b0001, 0b0010, 0b0100, 0b1000}),
        ((), (SIZE,), {0b0001, 0b0010, 0b1100}),
        (None, (), {0b0001, 0b0010, 0b0100, 0b1000}),
        ((), None, {0b0001, 0b0010, 0b1100}),
    ],
)
def test_positions_are_apart_where_what_is_read_differs(board, attributes, capacity, masks):
    alike = EqualDevices(Reads(attributes, capacity), board)

    assert set(alike.masks.values()) == masks


def test_what_stands_for_devices_shows_no_more_than_is_read(board):
    alike = EqualDevices(Reads((KIND,), ()), board)

    seen = [alike.view(told) for told in alike.masks]

    assert [dict(view.capacity) for view in seen] == [{}] * 4
    assert sorted(str(view.attributes.get(DRIVER, {}).get("kind")) for view in seen) == [
        "None",
        "part-0",
        "part-1",
        "whole",
    ]
