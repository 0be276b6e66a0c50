"""The daemon of a GPU or MIG device runs from the first claim to the last, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from claims_under_mps import (
    MIG,
    PROGRAM,
    SHARE,
    has_environment,
    health_of,
    is_running,
    killed,
    mode,
    pid,
    share,
    under_mps,
)
from devices_of_kinds import told

from agent.hardware.mps.ports import daemon_name
from agent.hardware.types import ComputeMode
from plugin.assembly import assemble
from plugin.base.errors import HardwareFailed
from plugin.kinds.health import Health
from scheduler_core.model.claim import ClaimRef, ClaimUid


@pytest.fixture
def bench(linked_bench: Any) -> Iterator[Any]:
    """Two A100s with programs under MPS; no daemon outlives the test."""
    yield linked_bench
    for name in linked_bench.machine.mps.names():
        linked_bench.machine.mps.end_daemon(name)


def test_the_daemon_of_several_claims_ends_with_the_last_of_them(bench: Any) -> None:
    for uid in ("u1", "u2"):
        bench.driver.prepare(share(bench, uid))
    number = pid(bench, bench.uuid(0))

    bench.unprepare("u1")
    assert pid(bench, bench.uuid(0)) == number
    assert mode(bench) is ComputeMode.EXCLUSIVE_PROCESS

    bench.unprepare("u2")
    assert not has_environment(number)
    assert bench.leftovers() == []


@pytest.mark.parametrize("before", [ComputeMode.PROHIBITED, ComputeMode.EXCLUSIVE_PROCESS])
def test_the_compute_mode_is_as_it_was_once_the_last_claim_has_ended(bench: Any, before: ComputeMode) -> None:
    bench.simulated.gpus.set_compute_mode(bench.uuid(0), before)
    bench.driver.prepare(share(bench, "u1"))
    bench.restart()
    bench.driver.prepare(share(bench, "u2"))
    assert mode(bench) is ComputeMode.EXCLUSIVE_PROCESS

    bench.unprepare("u1")
    bench.unprepare("u2")

    assert mode(bench) is before


def test_a_compute_mode_that_somebody_set_meanwhile_stays(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    bench.simulated.gpus.set_compute_mode(bench.uuid(0), ComputeMode.PROHIBITED)

    bench.unprepare("u1")

    assert mode(bench) is ComputeMode.PROHIBITED


def test_the_daemon_of_a_mig_partition_ends_before_its_instance(bench: Any) -> None:
    bench.driver.prepare(bench.claim("u1", MIG, configs=under_mps("MigConfig")))
    calls: list[str] = []
    machine = told(bench.machine, calls.append, lambda _: None)
    driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    driver.unprepare(ClaimUid("u1"), ClaimRef("default", "claim-u1"))

    assert calls.index("end_daemon") < calls.index("destroy_compute_instance")
    assert bench.leftovers() == []


def test_a_mig_device_that_was_made_anew_gets_a_daemon_and_the_old_one_ends(bench: Any) -> None:
    claim = bench.claim("u1", MIG, configs=under_mps("MigConfig"))
    bench.driver.prepare(claim)
    (instance,) = bench.instances()
    (old,) = (compute.uuid for compute in instance.compute_instances)
    bench.simulated.gpus.destroy_compute_instance(bench.uuid(0), instance.gi_id, 0)
    bench.simulated.gpus.destroy_gpu_instance(bench.uuid(0), instance.gi_id)

    bench.driver.prepare(claim)

    (new,) = (compute.uuid for found in bench.instances() for compute in found.compute_instances)
    assert bench.machine.mps.names() == (daemon_name(new),)
    assert (is_running(bench, old), is_running(bench, new)) == (False, True)


def test_instances_under_mps_are_ours_at_the_start(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    bench.driver.prepare(bench.claim("u1", MIG, configs=under_mps("MigConfig")))

    bench.restart()

    assert "no claim created" not in caplog.text


def test_a_daemon_that_runs_is_adopted_by_the_next_plugin(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    number = pid(bench, bench.uuid(0))

    bench.restart()
    bench.driver.prepare(share(bench, "u1"))
    bench.driver.prepare(share(bench, "u2"))

    assert pid(bench, bench.uuid(0)) == number


def test_a_daemon_that_does_not_answer_is_left_to_the_claims_that_use_it(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    number = pid(bench, bench.uuid(0))
    program = bench.simulated.root / PROGRAM
    text = program.read_text()
    program.write_text("#!/bin/sh\nexit 1\n")

    with pytest.raises(HardwareFailed, match="it runs and does not answer; its log is in"):
        bench.driver.prepare(share(bench, "u2"))

    assert pid(bench, bench.uuid(0)) == number
    assert has_environment(number)
    program.write_text(text)
    assert len(bench.driver.prepare(share(bench, "u2"))) == 1


def revived_by_a_start(bench: Any) -> None:
    bench.restart()


def revived_by_looking(bench: Any) -> None:
    bench.driver.care.look_after()


def revived_by_the_kubelet(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))


@pytest.mark.parametrize("revive", [revived_by_a_start, revived_by_looking, revived_by_the_kubelet])
def test_a_daemon_that_died_is_reported_and_started_again(bench: Any, revive: Callable[[Any], None]) -> None:
    bench.driver.prepare(share(bench, "u1"))
    killed(bench, bench.uuid(0))
    assert health_of(bench, SHARE) == (
        Health.UNHEALTHY,
        "its MPS daemon does not run; it is started again",
    )

    revive(bench)

    assert is_running(bench, bench.uuid(0))
    assert health_of(bench, SHARE) == (Health.HEALTHY, "")
    assert mode(bench) is ComputeMode.EXCLUSIVE_PROCESS


def test_a_daemon_that_cannot_be_started_again_is_told_once_and_its_claim_still_ends(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.driver.prepare(share(bench, "u1"))
    killed(bench, bench.uuid(0))
    (bench.simulated.root / PROGRAM).unlink()

    for _ in range(3):
        bench.driver.care.look_after()

    assert caplog.text.count("cannot be kept") == 1
    assert "the operator must install the driver's MPS programs" in caplog.text
    assert health_of(bench, SHARE)[0] is Health.UNHEALTHY
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_a_daemon_whose_claim_has_neither_record_nor_document_any_more_is_ended(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    (bench.options.claims_dir / "u1.json").unlink()
    bench.restart()
    assert len(bench.machine.mps.names()) == 1, "its document names it: a container may use it"
    bench.document("u1").unlink()

    bench.restart()

    assert bench.machine.mps.names() == ()
    assert mode(bench) is ComputeMode.DEFAULT


def test_the_daemon_of_a_claim_that_is_well_is_left_alone(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    calls: list[str] = []
    machine = told(bench.machine, calls.append, lambda _: None)
    driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    driver.care.look_after()

    assert calls == []


def test_after_a_reboot_nothing_is_left_of_claims_under_mps(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    bench.simulated.reboot()

    bench.restart()

    assert bench.leftovers() == []
    bench.driver.prepare(share(bench, "u2"))
    assert is_running(bench, bench.uuid(0))


def test_without_the_program_prepare_is_refused_and_leaves_nothing(bench: Any) -> None:
    (bench.simulated.root / PROGRAM).unlink()

    with pytest.raises(HardwareFailed, match="nvidia-cuda-mps-control"):
        bench.driver.prepare(share(bench, "u1"))

    assert bench.leftovers() == []


@pytest.mark.parametrize("call", ["set-compute-mode", "compute-mode"])
def test_a_gpu_that_fails_while_it_is_made_exclusive_leaves_nothing(bench: Any, call: str) -> None:
    bench.inject(f"gpu-0:{call}:hardware-fault:1")

    with pytest.raises(HardwareFailed):
        bench.driver.prepare(share(bench, "u1"))

    assert bench.leftovers() == []
    assert len(bench.driver.prepare(share(bench, "u1"))) == 1


def test_a_gpu_without_compute_modes_is_used_all_the_same(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.inject("gpu-0:compute-mode:not-supported")

    bench.driver.prepare(share(bench, "u1"))

    assert is_running(bench, bench.uuid(0))
    assert "programs may go past the MPS daemon of gpu-0-mps" in caplog.text
    bench.simulated.clear_faults()
    bench.unprepare("u1")
    assert bench.leftovers() == []
