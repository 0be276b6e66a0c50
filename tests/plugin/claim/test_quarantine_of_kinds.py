"""Whatever kind of device a claim has, its damaged record neither gives it away nor leaves anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from damaged_files import DAMAGES, places
from devices_of_kinds import allocated_device, example_of

from plugin.base.errors import DeviceHeld, PlacementTaken, RecordDamaged
from plugin.kinds.kind import PreparableKind
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind
from scheduler_core.model.claim import AllocatedClaim, ClaimUid

U1 = ClaimUid("u1")


def named(value: object) -> str | None:
    return type(value).__name__ if isinstance(value, PreparableKind) else None


def record_file(bench: Any, uid: str = "u1") -> Path:
    path: Path = bench.options.claims_dir / f"{uid}.json"
    return path


def prepare(bench: Any, kind: AnyKind) -> Any:
    example = example_of(kind)
    return bench.driver.prepare(bench.claim("u1", example.device, configs=example.configs))


def another_claim(bench: Any, kind: AnyKind) -> AllocatedClaim:
    """A claim for the same device; of a shared GPU for so much of its memory that both do not fit."""
    example = example_of(kind)
    claim: AllocatedClaim = bench.claim("u2", example.device, configs=example.configs)
    return replace(claim, results=(allocated_device(example.device, bench.node, memory="35Gi"),))


@pytest.fixture
def folder(used_folder: Path) -> Path:
    return used_folder


@pytest.fixture
def bench(bench_of_kind: Any) -> Any:
    return bench_of_kind


@pytest.mark.parametrize("kind", KINDS.preparable, ids=named)
def test_no_damage_gives_a_prepared_device_to_a_second_claim_or_destroys_it(
    bench: Any, kind: AnyKind
) -> None:
    answer = prepare(bench, kind)
    data, before = record_file(bench).read_bytes(), bench.leftovers()

    for damage in DAMAGES.values():
        for at in places(data)[-6:]:  # of the last two lines: the reader's tests damage every byte
            record_file(bench).write_bytes(damage(data, at))
            bench.restart()
            assert bench.leftovers() == before
            with pytest.raises((DeviceHeld, PlacementTaken)):
                bench.driver.prepare(another_claim(bench, kind))
            assert bench.leftovers() == before

    record_file(bench).write_bytes(data)
    bench.restart()
    assert prepare(bench, kind) == answer
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize("end", ["unprepare", "release"])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS.preparable, ids=named)
def test_the_end_of_a_claim_whose_last_line_is_damaged_leaves_nothing_but_the_damaged_file(
    bench: Any, kind: AnyKind, damage: str, end: str
) -> None:
    answer = prepare(bench, kind)
    data = record_file(bench).read_bytes()
    record_file(bench).write_bytes(DAMAGES[damage](data, places(data)[-2]))
    bench.restart()
    with pytest.raises(RecordDamaged, match="tangram plugin release u1"):
        prepare(bench, kind)

    bench.unprepare("u1") if end == "unprepare" else bench.driver.release(U1)

    assert bench.leftovers() == [f"{record_file(bench)}.corrupt"]
    assert prepare(bench, kind) == answer
    bench.unprepare("u1")
    Path(f"{record_file(bench)}.corrupt").unlink()
    assert bench.leftovers() == []
