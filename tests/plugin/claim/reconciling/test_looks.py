"""A look tells what is new once, counts what it repairs, and stands in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damaged_files import flip, places

from plugin.base.errors import HardwareFailed
from plugin.base.in_flight import CallsInFlight
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"
Look = Callable[[], bool]


def record_file(bench: Any) -> Path:
    path: Path = bench.options.claims_dir / "u1.json"
    return path


def spoil(bench: Any) -> None:
    data = record_file(bench).read_bytes()
    record_file(bench).write_bytes(flip(data, places(data)[-2]))


def test_damage_to_a_record_that_appears_while_the_plugin_runs_is_told_once(
    bench: Any, heard: Any, look: Look, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    look()
    spoil(bench)

    for _ in range(3):
        look()

    assert [entry[:2] for entry in heard.said] == [("kept", "u1")]
    assert len([line for line in caplog.messages if "stays as it is" in line]) == 1
    assert 'tangram_plugin_claims{state="quarantined"} 1.0' in bench.driver.metrics.text()
    assert len(bench.instances()) == 1


def test_damage_that_the_start_told_is_not_told_again(
    bench: Any, heard: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    spoil(bench)
    bench.restart()

    bench.driver.looks(heard).look()

    assert heard.said == []
    assert len([line for line in caplog.messages if "stays as it is" in line]) == 1


def test_damage_that_comes_back_after_a_release_is_told_again(bench: Any, heard: Any, look: Look) -> None:
    for _ in range(2):
        bench.prepare("u1", HALF)
        spoil(bench)
        look()
        bench.driver.release(ClaimUid("u1"))
        look()

    assert [entry[0] for entry in heard.said] == ["kept", "kept"]


def test_a_claim_that_another_process_left_half_prepared_is_undone(bench: Any, look: Look) -> None:
    bench.prepare("u1", HALF)
    lines = record_file(bench).read_bytes().splitlines(keepends=True)
    record_file(bench).write_bytes(b"".join(lines[:3]))
    bench.document("u1").unlink()

    assert look()

    assert bench.leftovers() == []
    assert 'tangram_plugin_repairs_total{kind="undo"} 1.0' in bench.driver.metrics.text()


def test_what_a_failed_prepare_could_not_undo_is_undone_by_a_look(bench: Any, look: Look) -> None:
    bench.inject("gpu-0:create-compute-instance:hardware-fault:1", "gpu-0:destroy-gpu-instance:in-use:2")
    with pytest.raises(HardwareFailed):
        bench.prepare("u1", HALF)
    assert bench.leftovers() != []

    look()
    bench.driver.parked.look_after()

    assert bench.leftovers() == []


def test_a_claim_that_is_being_prepared_is_not_disturbed(bench: Any, look: Look) -> None:
    with bench.driver.opened(ClaimUid("u1"), ClaimRef("default", "claim-u1")) as preparation:
        assert look()
        assert [record.claim_uid for record in bench.records()] == ["u1"]
        assert bench.driver.finish(preparation, bench.claim("u1", HALF))

    assert bench.clock.slept == []


def test_a_plugin_that_ends_begins_no_further_repair(bench: Any, heard: Any, claims: Any) -> None:
    bench.prepare("u1", HALF)
    bench.document("u1").unlink()

    bench.driver.looks(heard, claims).look(lambda: False)

    assert not bench.document("u1").exists()


def test_a_folder_that_cannot_be_read_is_logged_once_and_looked_at_again_soon(
    bench: Any, look: Look, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    aside = bench.options.claims_dir.with_name("aside")
    bench.options.claims_dir.rename(aside)
    bench.options.claims_dir.symlink_to(bench.options.claims_dir.name)

    assert [look(), look()] == [False, False]

    assert len([line for line in caplog.messages if "claims are not looked after" in line]) == 1
    bench.options.claims_dir.unlink()
    aside.rename(bench.options.claims_dir)
    assert look()
    assert len(bench.instances()) == 1


def test_repairs_of_a_start_are_counted_too(bench: Any) -> None:
    bench.prepare("u1", HALF)
    lines = record_file(bench).read_bytes().splitlines(keepends=True)
    record_file(bench).write_bytes(b"".join(lines[:3]))
    bench.document("u1").unlink()

    driver = bench.restart()

    assert 'tangram_plugin_repairs_total{kind="undo"} 1.0' in driver.metrics.text()


def test_calls_that_hang_are_counted_when_somebody_asks(bench: Any) -> None:
    calls, metrics = CallsInFlight(bench.clock), bench.driver.metrics

    with calls.noted("the call gpus of the GPU driver"):
        before = metrics.text_with(calls)
        bench.clock.now += 60.0
        after = metrics.text_with(calls)

    assert "tangram_plugin_hung_calls 0.0" in before
    assert "tangram_plugin_hung_calls 1.0" in after
