"""What must hold when the disk fails, records are lost or broken, or the machine was rebooted."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unreadable_files import UNREADABLE

from agent.hardware.types import MigSpec, Placement
from plugin.base import files
from plugin.base.errors import HardwareFailed, StorageFailed
from plugin.claim.reconciling.repairs import Forget, Keep, ReportForeign, Sweep, Undo

SMALL = "gpu-0-mig-1g-5gb-2"
HALF = "gpu-0-mig-3g-20gb-4-7"


class FullDisk:
    """A disk on which some writes fail, counted from 1."""

    def __init__(self, patch: pytest.MonkeyPatch, fails: Callable[[int], bool]) -> None:
        self.writes = 0
        self.fails = fails
        for name in ("replace", "append"):
            patch.setattr(files, name, self.limited(getattr(files, name)))

    def limited(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def limited(path: Path, data: bytes, *arguments: Any, **options: Any) -> Any:
            self.writes += 1
            if self.fails(self.writes):
                if write.__name__ == "append":  # as much as there was room for
                    write(path, data[: len(data) // 2], *arguments, **options)
                raise StorageFailed("write", "the record", "No space left on device")
            return write(path, data, *arguments, **options)

        return limited


@pytest.mark.parametrize("write", range(1, 7))
def test_a_disk_that_fails_at_any_write_costs_nothing_but_a_retry(
    bench: Any, monkeypatch: pytest.MonkeyPatch, write: int
) -> None:
    with monkeypatch.context() as patch:
        FullDisk(patch, lambda number: number == write)
        with pytest.raises(StorageFailed, match="No space left"):
            bench.prepare("u1", HALF)

    assert bench.leftovers() == []
    assert bench.prepare("u1", HALF)


def test_a_full_disk_during_the_undo_too_is_mended_by_the_next_call(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        FullDisk(patch, lambda number: number > 4)
        with pytest.raises(StorageFailed):
            bench.prepare("u1", HALF)
        assert len(bench.instances()) == 1

    assert bench.prepare("u1", HALF)
    assert len(bench.instances()) == 1


def test_a_lost_record_makes_its_instance_foreign_reported_and_never_destroyed(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    (bench.options.claims_dir / "u1.json").unlink()

    with caplog.at_level(logging.WARNING):
        bench.restart()

    assert len(bench.instances()) == 1
    assert "no claim created GI 1" in caplog.text
    assert bench.document("u1").exists(), "its container may still run"
    bench.unprepare("u1")
    assert not bench.document("u1").exists()


def test_a_corrupt_record_keeps_its_claim_as_it_is_and_the_others_go_on(bench: Any) -> None:
    bench.prepare("u1", HALF)
    second = bench.prepare("u2", SMALL)
    (bench.options.claims_dir / "u1.json").write_bytes(b'{"version": 1, "checks')

    found = bench.driver.reconcile()

    assert [type(repair) for repair in found] == [Keep, ReportForeign]
    assert bench.document("u1").exists(), "its container may still run"
    assert len(bench.instances()) == 2
    assert bench.prepare("u2", SMALL) == second
    bench.unprepare("u1")
    assert not bench.document("u1").exists()


def test_the_cdi_folder_being_emptied_is_repaired_by_the_next_prepare(bench: Any) -> None:
    first = bench.prepare("u1", HALF)
    for path in bench.options.cdi_dir.iterdir():
        path.unlink()
    bench.restart()

    assert bench.prepare("u1", HALF) == first
    assert json.loads(bench.document("u1").read_text())["kind"] == "tangram.dev/claim"


def test_a_start_after_a_reboot_forgets_every_claim(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.prepare("u2", "gpu-1")
    bench.simulated.reboot()

    found = bench.driver.reconcile()

    assert {type(repair) for repair in found} == {Forget}
    assert bench.leftovers() == []


def test_a_repair_that_fails_does_not_stop_the_start_and_is_done_later(bench: Any) -> None:
    bench.inject("gpu-0:create-compute-instance:hardware-fault:1", "gpu-0:destroy-gpu-instance:in-use:3")
    with pytest.raises(HardwareFailed):
        bench.prepare("u1", HALF)

    first = bench.driver.reconcile()
    second = bench.driver.reconcile()

    assert [type(repair) for repair in first] == [Undo]
    assert [type(repair) for repair in second] == [Undo]
    assert bench.leftovers() == []


def test_half_written_files_are_swept_at_the_start(bench: Any) -> None:
    bench.driver.reconcile()
    bench.options.claims_dir.mkdir(parents=True)
    bench.options.cdi_dir.mkdir()
    (bench.options.claims_dir / ".u1.json.tmp").write_bytes(b'{"ver')
    (bench.options.cdi_dir / ".tangram.dev-claim_u2.json.tmp").write_bytes(b"{")
    bench.document("u3").write_bytes(b"{}")

    found = bench.driver.reconcile()

    assert [type(repair) for repair in found] == [Sweep, Sweep, Sweep]
    assert bench.leftovers() == []


def test_an_instance_of_another_tool_survives_everything(bench: Any) -> None:
    gpus = bench.simulated.gpus
    gpus.set_mig_mode(bench.uuid(0), enabled=True)
    gi_id = gpus.create_gpu_instance(MigSpec(bench.uuid(0), 19, Placement(0, 1)))
    gpus.create_compute_instance(bench.uuid(0), gi_id)
    foreign = bench.instances()

    bench.restart()
    bench.prepare("u1", HALF)
    bench.unprepare("u1")
    bench.restart()

    assert bench.instances() == foreign
    assert bench.is_in_mig_mode()


@pytest.mark.parametrize("harm", sorted(UNREADABLE))
def test_a_claim_whose_document_cannot_be_read_is_prepared_again_and_ends(bench: Any, harm: str) -> None:
    first = bench.prepare("u1", HALF)
    before = bench.document("u1").read_bytes()
    for _ in range(2):
        UNREADABLE[harm](bench.document("u1"))
        assert bench.prepare("u1", HALF) == first
        assert bench.document("u1").read_bytes() == before

    UNREADABLE[harm](bench.document("u1"))
    bench.unprepare("u1")

    assert bench.leftovers() == []


@pytest.mark.parametrize("cut", [40, -40], ids=["nothing of it is known", "its devices are known"])
def test_a_damaged_record_is_set_aside_also_where_an_empty_folder_has_that_name(bench: Any, cut: int) -> None:
    bench.prepare("u1", "gpu-0")
    record = bench.options.claims_dir / "u1.json"
    data = record.read_bytes()
    damaged = data[:cut] + b"X" + data[cut:]
    record.write_bytes(damaged)
    aside = record.with_name("u1.json.corrupt")
    aside.mkdir()

    bench.unprepare("u1")

    assert aside.read_bytes() == damaged
    assert bench.leftovers() == [str(aside)]
    assert bench.prepare("u2", "gpu-0")


def test_a_claim_ends_although_a_folder_with_content_is_in_the_place_of_its_document(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")
    folder = bench.document("u1")
    UNREADABLE["a folder"](folder)
    (folder / "precious").touch()

    bench.unprepare("u1")

    (aside,) = [Path(left) for left in bench.leftovers()]
    assert aside.name.startswith(f".{folder.name}.")
    assert (aside / "precious").exists()
