"""A process killed at any crash point of any kind leaves a state from which the right end is reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fault_matrix
import pytest
from devices_of_kinds import (
    STEPS_AFTER_LOOK,
    STEPS_OF_DOCUMENT,
    STEPS_OF_LOOK,
    WITH_ADMIN_ACCESS,
    allocated_device,
    example_of,
    steps_of_prepare,
    steps_of_unprepare,
)
from fault_matrix import outcome_of, points
from fault_matrix.collecting import Note

from plugin.claim.plan import PreparedDevice
from plugin.kinds.kind import PreparableKind
from plugin.kinds.mig_partition.compute_kind import ComputeInstanceKind
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind

PREPARING, UNDOING = points(fault_matrix.STARTED), points(fault_matrix.UNPREPARED)
LOOKING, LOOKED = points(fault_matrix.LOOKED), points(fault_matrix.LOOKED_AWAY)
Dies = Callable[[str, AnyKind, int], str]


def named(value: object) -> str | None:
    return type(value).__name__ if isinstance(value, PreparableKind) else None


@pytest.fixture
def folder(folder: Path, request: pytest.FixtureRequest) -> Path:
    """Where the machine of the test's kind is; a new place for tests without a kind."""
    if "kind" not in request.fixturenames:
        return folder
    used: Path = request.getfixturevalue("used_folder")
    return used


@pytest.fixture
def bench(bench_of_kind: Any) -> Any:
    return bench_of_kind


def prepare(bench: Any, kind: AnyKind) -> tuple[PreparedDevice, ...]:
    example = example_of(kind)
    found: tuple[PreparedDevice, ...] = bench.driver.prepare(
        bench.claim("u1", example.device, configs=example.configs)
    )
    return found


def answer(kind: AnyKind) -> tuple[PreparedDevice, ...]:
    example = example_of(kind)
    cdi_id = f"tangram.dev/claim=u1-{example.device}"
    share_id = allocated_device(example.device, example.node).share_id
    return (PreparedDevice(("r",), example.node, example.device, (cdi_id,), share_id),)


@pytest.mark.parametrize(("kind", "step"), PREPARING, ids=named)
def test_killed_in_prepare_the_next_prepare_gives_the_answer(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    example = example_of(kind)
    example.prepare(bench)
    point = dies("prepare", kind, step)
    assert point

    again = prepare(bench, kind)

    assert again == answer(kind)
    assert bench.document("u1").exists()
    note(fault_matrix.PREPARED, kind, step, point, outcome_of(bench))
    bench.unprepare("u1")
    bench.restart()
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), PREPARING, ids=named)
def test_killed_in_prepare_a_start_leaves_nothing_of_what_was_not_finished(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    example = example_of(kind)
    example.prepare(bench)
    before = set(bench.leftovers())
    point = dies("prepare", kind, step)
    assert point
    is_finished = step > steps_of_prepare(kind) - STEPS_OF_DOCUMENT

    bench.restart()

    assert bool(set(bench.leftovers()) - before) == is_finished
    note(fault_matrix.STARTED, kind, step, point, outcome_of(bench, before=before))
    assert prepare(bench, kind) == answer(kind)
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), UNDOING, ids=named)
@pytest.mark.parametrize("is_restarted", [True, False])
def test_killed_in_unprepare_the_next_unprepare_leaves_nothing(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int, is_restarted: bool
) -> None:
    prepare(bench, kind)
    point = dies("unprepare", kind, step)
    assert point
    row = fault_matrix.UNPREPARED_LATER if is_restarted else fault_matrix.UNPREPARED
    if is_restarted:
        bench.restart()

    bench.unprepare("u1")

    bench.restart()
    note(row, kind, step, point, outcome_of(bench))
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), UNDOING, ids=named)
def test_killed_in_unprepare_the_next_prepare_gives_the_answer(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    prepare(bench, kind)
    point = dies("unprepare", kind, step)
    assert point

    assert prepare(bench, kind) == answer(kind)
    note(fault_matrix.PREPARED_AGAIN, kind, step, point, outcome_of(bench))

    bench.unprepare("u1")
    bench.restart()
    assert bench.leftovers() == []


@pytest.mark.parametrize("kind", KINDS.preparable, ids=named)
def test_no_step_was_forgotten(bench: Any, dies: Dies, kind: AnyKind) -> None:
    example = example_of(kind)
    example.prepare(bench)

    assert not dies("prepare", kind, steps_of_prepare(kind) + 1)
    assert not dies("unprepare", kind, steps_of_unprepare(kind) + 1)
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), LOOKING, ids=named)
def test_killed_while_it_gives_admin_access_the_owner_keeps_its_device(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    device = example_of(kind).device
    bench.prepare("owner", device)
    before = (bench.instances(), bench.is_in_mig_mode())
    point = dies("look_at", kind, step)
    assert point

    bench.restart()
    assert bench.look_at("u1", device) == answer(kind)
    bench.unprepare("u1")

    assert (bench.instances(), bench.is_in_mig_mode()) == before
    assert [record.claim_uid for record in bench.records()] == ["owner"]
    note(fault_matrix.LOOKED, kind, step, point, outcome_of(bench, "owner"))
    bench.unprepare("owner")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("kind", "step"), LOOKED, ids=named)
def test_killed_while_it_takes_admin_access_back_the_owner_keeps_its_device(
    bench: Any, dies: Dies, note: Note, kind: AnyKind, step: int
) -> None:
    device = example_of(kind).device
    bench.prepare("owner", device)
    bench.look_at("u1", device)
    before = (bench.instances(), bench.is_in_mig_mode())
    point = dies("unprepare", kind, step)
    assert point

    bench.restart()
    bench.unprepare("u1")

    assert (bench.instances(), bench.is_in_mig_mode()) == before
    assert [record.claim_uid for record in bench.records()] == ["owner"]
    note(fault_matrix.LOOKED_AWAY, kind, step, point, outcome_of(bench, "owner"))


@pytest.mark.parametrize("kind", WITH_ADMIN_ACCESS, ids=named)
def test_no_step_of_admin_access_was_forgotten(bench: Any, dies: Dies, kind: AnyKind) -> None:
    device = example_of(kind).device
    bench.prepare("owner", device)

    assert not dies("look_at", kind, STEPS_OF_LOOK + 1)
    assert not dies("unprepare", kind, STEPS_AFTER_LOOK + 1)
    assert [record.claim_uid for record in bench.records()] == ["owner"]


(COMPUTE,) = (kind for kind in KINDS.preparable if isinstance(kind, ComputeInstanceKind))
BESIDE, LATER = (f"gpu-0-mig-1c-3g-20gb-4-7-ci-{start}" for start in (0, 2))
"""Compute instances in the GI of the example."""
STEPS_OF_THE_FIRST = 3 + 2 + 2
"""The file about the mode, the mode, the GI: whoever finds the GI does without."""


def mig_devices(bench: Any) -> set[str]:
    return {compute.uuid for instance in bench.instances() for compute in instance.compute_instances}


@pytest.mark.parametrize("step", range(1, steps_of_prepare(COMPUTE) - STEPS_OF_THE_FIRST + 1))
def test_killed_in_prepare_the_gpu_instance_stays_for_the_other_claims_in_it(
    split_bench: Any, dies: Dies, step: int
) -> None:
    split_bench.prepare("u0", BESIDE)
    before = mig_devices(split_bench)
    assert dies("prepare", COMPUTE, step)

    split_bench.prepare("u2", LATER)  # before anything of the crash is repaired
    split_bench.restart()
    split_bench.unprepare("u2")
    split_bench.unprepare("u1")

    assert mig_devices(split_bench) == before
    split_bench.unprepare("u0")
    assert split_bench.leftovers() == []


@pytest.mark.parametrize("step", range(1, steps_of_prepare(COMPUTE) + 1))
def test_killed_in_the_first_prepare_the_next_claim_has_the_gpu_instance_to_itself(
    split_bench: Any, dies: Dies, step: int
) -> None:
    assert dies("prepare", COMPUTE, step)

    split_bench.prepare("u2", LATER)
    own = {device.mig_uuid for one in split_bench.records() for device in one.devices} - {None}
    split_bench.restart()
    split_bench.unprepare("u1")

    assert mig_devices(split_bench) <= own
    assert len(mig_devices(split_bench)) == 1
    split_bench.unprepare("u2")
    assert split_bench.leftovers() == []


@pytest.mark.parametrize("step", range(1, steps_of_unprepare(COMPUTE) + 1))
def test_killed_in_unprepare_whoever_is_last_destroys_the_gpu_instance(
    split_bench: Any, dies: Dies, step: int
) -> None:
    split_bench.prepare("u0", BESIDE)
    prepare(split_bench, COMPUTE)
    before = {split_bench.records()[0].devices[0].mig_uuid}
    dies("unprepare", COMPUTE, step)  # with another claim beside it, it has fewer steps

    assert before <= mig_devices(split_bench)
    split_bench.unprepare("u0")
    split_bench.restart()
    split_bench.unprepare("u1")

    assert split_bench.leftovers() == []


@pytest.mark.parametrize("step", range(1, steps_of_unprepare(COMPUTE) + 1))
def test_killed_in_the_last_unprepare_the_next_claim_lives_and_the_dead_one_harms_it_not(
    split_bench: Any, dies: Dies, step: int
) -> None:
    prepare(split_bench, COMPUTE)
    assert dies("unprepare", COMPUTE, step)

    split_bench.prepare("u2", LATER)
    (own,) = (one.devices[0].mig_uuid for one in split_bench.records() if one.claim_uid == "u2")
    split_bench.restart()
    split_bench.unprepare("u1")

    assert mig_devices(split_bench) == {own}
    split_bench.unprepare("u2")
    assert split_bench.leftovers() == []
