"""A claim whose record is damaged keeps its devices, harms no other claim, and can end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damaged_files import DAMAGES, flip, places
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from records_before_seals import line_before_seals
from short_folders import short_folder

from plugin.base.errors import DeviceHeld, HardwareFailed, NotQuarantined, RecordDamaged
from scheduler_core.model.claim import ClaimUid

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-2"
U1 = ClaimUid("u1")
WOUNDS = st.tuples(st.sampled_from(sorted(DAMAGES)), st.floats(0, 0.999))
"""A damage and where, as a part of the file."""


def record_file(bench: Any, uid: str = "u1") -> Path:
    path: Path = bench.options.claims_dir / f"{uid}.json"
    return path


def spoil(bench: Any, uid: str = "u1") -> None:
    """Damage the last line of a record."""
    data = record_file(bench, uid).read_bytes()
    record_file(bench, uid).write_bytes(flip(data, places(data)[-2]))


def test_a_whole_gpu_whose_record_is_corrupt_is_not_given_to_a_second_claim(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")
    spoil(bench)
    bench.restart()

    with pytest.raises(DeviceHeld, match=r"held by claim default/claim-u1 \(u1\).*tangram plugin release u1"):
        bench.prepare("u2", "gpu-0")
    with pytest.raises(DeviceHeld, match="claim default/claim-u1"):
        bench.prepare("u2", SMALL)

    bench.prepare("u2", "gpu-1")
    bench.unprepare("u1")
    bench.prepare("u3", "gpu-0")


@pytest.mark.parametrize("is_started_anew", [True, False])
def test_a_whole_gpu_whose_record_is_gone_is_not_given_to_a_second_claim(
    bench: Any, is_started_anew: bool
) -> None:
    bench.prepare("u1", "gpu-0")
    record_file(bench).unlink()
    if is_started_anew:
        bench.restart()

    for device in ("gpu-0", SMALL):
        with pytest.raises(DeviceHeld, match=r"held by claim u1, whose record.*tangram plugin release u1"):
            bench.prepare("u2", device)
    assert bench.document("u1").exists()

    bench.prepare("u2", "gpu-1")
    bench.unprepare("u1")
    bench.prepare("u3", "gpu-0")


def test_a_claim_whose_record_is_gone_is_prepared_again_for_its_own_pod(bench: Any) -> None:
    first = bench.prepare("u1", "gpu-0")
    record_file(bench).unlink()
    bench.restart()

    assert bench.prepare("u1", "gpu-0") == first
    assert bench.driver.quarantined() == ()
    with pytest.raises(DeviceHeld, match="completed"):
        bench.prepare("u2", "gpu-0")


def test_a_claim_whose_record_is_gone_is_released(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")
    record_file(bench).unlink()

    assert bench.driver.release(U1).devices == ("gpu-0",)

    assert not bench.document("u1").exists()
    bench.prepare("u2", "gpu-0")


def test_a_claim_that_ended_between_two_looks_is_not_lost(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")
    assert bench.driver.quarantined() == ()
    bench.unprepare("u1")
    assert bench.driver.quarantined() == ()
    bench.prepare("u2", "gpu-0")


def test_a_damaged_final_newline_does_not_make_a_completed_claim_read_as_begun(bench: Any) -> None:
    bench.prepare("u1", HALF)
    data = record_file(bench).read_bytes()
    for last in (b"\0", b"\x0b", b""):
        record_file(bench).write_bytes(data[:-1] + last)

        bench.restart()

        assert len(bench.instances()) == 1
        assert bench.document("u1").exists()


def test_a_corrupt_record_of_a_mig_partition_neither_wedges_its_claim_nor_leaves_its_instance(
    bench: Any,
) -> None:
    bench.prepare("u1", HALF)
    spoil(bench)
    bench.restart()

    bench.unprepare("u1")

    assert bench.instances() == ()
    assert not bench.is_in_mig_mode()


@pytest.mark.parametrize("lines", [0, 1, 2, 3])
def test_a_record_that_was_cut_at_the_end_of_a_line_is_noticed_by_the_claims_document(
    bench: Any, caplog: pytest.LogCaptureFixture, lines: int
) -> None:
    bench.prepare("u1", HALF)
    data = record_file(bench).read_bytes()
    record_file(bench).write_bytes(b"".join(data.splitlines(keepends=True)[:lines]))
    bench.restart()

    assert len(bench.instances()) == 1
    assert "its end is missing" in caplog.text
    with pytest.raises(DeviceHeld, match="release u1"):
        bench.prepare("u2", HALF)
    bench.unprepare("u1")

    assert bench.instances() == ()  # the first line is a placeholder: then the document names it


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_crash_that_left_no_document_is_undone_as_ever(bench: Any, lines: int) -> None:
    bench.prepare("u1", HALF)
    data = record_file(bench).read_bytes()
    record_file(bench).write_bytes(b"".join(data.splitlines(keepends=True)[:lines]))
    bench.document("u1").unlink()

    bench.restart()

    assert record_file(bench).exists() is False


def test_a_damaged_line_in_the_middle_is_damage_too(bench: Any) -> None:
    bench.prepare("u1", HALF)
    data = record_file(bench).read_bytes()
    record_file(bench).write_bytes(flip(data, places(data)[1]))

    bench.restart()

    with pytest.raises(RecordDamaged, match="line 1: its checksum"):
        bench.prepare("u1", HALF)


def test_a_record_of_the_version_before_is_kept_and_undone_and_sealed_where_it_goes_on(bench: Any) -> None:
    bench.prepare("u1", HALF)
    (record,) = bench.records()
    record_file(bench).write_bytes(line_before_seals(record))
    bench.restart()

    assert bench.records() == (record,)
    bench.inject("gpu-0:destroy-compute-instance:in-use:1")
    with pytest.raises(HardwareFailed):
        bench.unprepare("u1")
    before_seals, sealed = record_file(bench).read_bytes().splitlines()
    assert b'"seal":' not in before_seals
    assert b'"seal":' in sealed
    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_a_claim_in_quarantine_is_forgotten_after_a_reboot(bench: Any) -> None:
    bench.prepare("u1", HALF)
    spoil(bench)
    bench.simulated.reboot()

    bench.restart()

    assert bench.leftovers() == [f"{record_file(bench)}.corrupt"]
    bench.prepare("u2", HALF)


def test_a_file_that_an_earlier_version_set_aside_holds_while_its_claim_has_a_document(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")
    spoil(bench)
    record_file(bench).rename(f"{record_file(bench)}.corrupt")
    bench.restart()

    with pytest.raises(DeviceHeld, match="release u1"):
        bench.prepare("u2", "gpu-0")
    bench.unprepare("u1")

    bench.prepare("u2", "gpu-0")


def test_only_a_claim_in_quarantine_is_released(bench: Any) -> None:
    bench.prepare("u1", HALF)

    for uid in (U1, ClaimUid("u9")):
        with pytest.raises(NotQuarantined, match="other claims end with their pods"):
            bench.driver.release(uid)

    assert len(bench.instances()) == 1


def test_an_instance_in_use_is_not_destroyed_by_a_release_and_the_next_one_goes_on(bench: Any) -> None:
    bench.prepare("u1", HALF)
    spoil(bench)
    bench.inject("gpu-0:destroy-compute-instance:in-use:1")

    with pytest.raises(HardwareFailed, match="cannot release claim default/claim-u1"):
        bench.driver.release(U1)
    assert len(bench.instances()) == 1
    with pytest.raises(DeviceHeld):
        bench.prepare("u2", HALF)
    bench.unprepare("u1")

    assert bench.instances() == ()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wounds=st.lists(WOUNDS, min_size=1, max_size=6))
def test_any_number_of_damages_destroys_nothing_gives_nothing_away_and_lets_the_pod_end(
    bench_in: Callable[[Path], Any], wounds: list[tuple[str, float]]
) -> None:
    with short_folder() as name:
        bench = bench_in(Path(name))
        bench.prepare("u1", HALF, "gpu-1")
        data = record_file(bench).read_bytes()
        for damage, part in wounds:
            if b"\n" in data[int(part * len(data)) :]:
                data = DAMAGES[damage](data, int(part * len(data)))
        record_file(bench).write_bytes(data)
        before = bench.instances()

        bench.restart()

        assert bench.instances() == before
        for device in (HALF, "gpu-1"):
            with pytest.raises(DeviceHeld):
                bench.prepare("u2", device)
        bench.unprepare("u1")
        assert bench.records() == ()
        bench.prepare("u3", "gpu-1")


EMPTIED = {
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a folder with content": lambda path: (path.unlink(), (path / "precious").mkdir(parents=True)),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "another file": lambda path: path.write_bytes(b"{}\n"),
}


@pytest.mark.parametrize("harm", EMPTIED)
@pytest.mark.parametrize("is_restarted", [True, False])
@pytest.mark.parametrize("by", ["unprepare", "release"])
def test_the_instance_of_a_claim_whose_record_says_nothing_ends_with_the_claim(
    bench: Any, harm: str, is_restarted: bool, by: str
) -> None:
    """Its document names the MIG device: that is enough to find it, and nothing else would name it again."""
    bench.prepare("u1", HALF)
    EMPTIED[harm](record_file(bench))
    if is_restarted:
        bench.restart()
    with pytest.raises(DeviceHeld):
        bench.prepare("u2", "gpu-0")

    bench.unprepare("u1") if by == "unprepare" else bench.driver.release(U1)

    assert not bench.instances()
    assert bench.prepare("u2", "gpu-0")


def test_a_claim_whose_record_says_nothing_stays_while_its_instance_cannot_be_destroyed(bench: Any) -> None:
    bench.prepare("u1", HALF)
    record_file(bench).write_bytes(b"")
    bench.restart()
    bench.inject("gpu-0:destroy-gpu-instance:in-use")

    with pytest.raises(HardwareFailed):
        bench.unprepare("u1")
    with pytest.raises(DeviceHeld):
        bench.prepare("u2", "gpu-0")

    bench.simulated.clear_faults()
    bench.unprepare("u1")
    assert bench.prepare("u2", "gpu-0")
