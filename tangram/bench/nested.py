"""B7: devices that are cut several times, and parts of a torus. Each pool is one component."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.dialects.mixins import flatten
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import AllocatedClaim, Claim
from scheduler_core.model.composite import CompositeDevice, CompositeSlice
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.result import Allocation
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, request
from tangram.bench.report import MS, Report, Row, times
from tangram.bench.settings import Settings

_BRANCHES: Final = 10
_SIDE: Final = 16
_PARTS: Final = ((2, 2), (2, 4), (4, 4), (4, 8), (8, 8), (8, 16), (16, 16))
_DEVICES_PER_SLICE: Final = 120
_RUNS: Final = 50


def nesting(settings: Settings) -> Report:
    """Time an allocation and its release in pools that are one component each."""
    rows: list[Row] = []
    wrong: list[str] = []
    for case, devices, kinds in (
        ("1000 leaves, 4 levels", list(_tree()), ["leaf"]),
        ("parts of a 16x16 torus", list(_torus()), ["2x2", "4x4", "8x8"]),
    ):
        settings.say(case)
        engine = Engine(ClusterState({ANY.name: ANY}), settings.policy)
        pool = _pool(devices)
        started = perf_counter_ns()
        engine.state.set_pool(pool)
        rows.append(times(f"{case}, compiled", [perf_counter_ns() - started]))
        spent = list(_rounds(engine, kinds))
        wrong += [f"{case}: refused"] * (None in spent)
        found = [took for took in spent if took is not None]
        rows.append(times(f"{case}, cold", found[:1]))
        rows.append(times(f"{case}, allocate and release", found[1:], 1 * MS))
    return Report(name="B7", title="nested devices", rows=tuple(rows), wrong=tuple(wrong))


def _rounds(engine: Engine, kinds: Sequence[str]) -> Iterator[int | None]:
    """Yield how long each round took, None where a claim did not fit; the last few claims stay."""
    compile_selector.cache_clear()
    kept: list[Claim] = []
    for number in range(_RUNS):
        wanted = _claim(kinds[number % len(kinds)], number)
        started = perf_counter_ns()
        answer = engine.allocate([wanted], NODE)
        if not isinstance(answer, Allocation):
            yield None
            continue
        engine.state.hold(AllocatedClaim(ref=wanted.ref, results=answer.results[wanted.ref]))
        kept.append(wanted)
        if len(kept) > len(kinds):
            engine.state.release(kept.pop(0).ref)
        yield perf_counter_ns() - started


def _claim(kind: str, number: int) -> Claim:
    selector = f"device.attributes['{DRIVER}'].kind == '{kind}'"
    return claim(request("r0", selector), name=f"claim-{number}")


def _tree() -> Iterator[CompositeDevice]:
    """Yield a root, what it is cut into, and again, down to the leaves."""
    yield device("root", attributes={"kind": "root"}, units=_BRANCHES**3)
    for first in range(_BRANCHES):
        board = f"board-{first}"
        yield device(board, sources=["root"], attributes={"kind": "board"}, units=_BRANCHES**2)
        for second in range(_BRANCHES):
            chip = f"{board}-chip-{second}"
            yield device(chip, sources=[board], attributes={"kind": "chip"}, units=_BRANCHES)
            for third in range(_BRANCHES):
                yield device(f"{chip}-leaf-{third}", sources=[chip], attributes={"kind": "leaf"}, units=1)


def _torus() -> Iterator[CompositeDevice]:
    """Yield the whole, and every aligned part of it with the chips that it takes."""
    yield _part("torus", "torus", range(_SIDE), range(_SIDE))
    for width, height in _PARTS:
        for left in range(0, _SIDE, width):
            for top in range(0, _SIDE, height):
                columns, lines = range(left, left + width), range(top, top + height)
                kind = f"{width}x{height}"
                yield _part(f"part-{kind}-{left}-{top}", kind, columns, lines, sources=["torus"])


def _part(name: str, kind: str, columns: range, lines: range, sources: Sequence[str] = ()) -> CompositeDevice:
    """Return a device that takes, or has, the chips of a rectangle."""
    chips = [f"chip{line * _SIDE + column}" for line in lines for column in columns]
    capacity = {qualified(chip, DRIVER): Quantity.of(1) for chip in chips}
    return replace(device(name, sources=sources, attributes={"kind": kind}), capacity=capacity)


def _pool(devices: Sequence[CompositeDevice]) -> Pool:
    pieces = [
        devices[start : start + _DEVICES_PER_SLICE] for start in range(0, len(devices), _DEVICES_PER_SLICE)
    ]
    return flatten(
        [
            CompositeSlice(
                name=f"slice-{number:03d}",
                pool=PoolId(DRIVER, NODE.name),
                slice_count=len(pieces),
                nodes=OnNode(NODE.name),
                devices=tuple(piece),
            )
            for number, piece in enumerate(pieces)
        ]
    )
