"""A pod on a lost GPU can end; what it had there is held until the GPU is back, and nothing else is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import example_of, told

from agent.hardware.ports import Machine
from plugin.assembly import assemble
from plugin.base.errors import DeviceHeld, HardwareFailed
from plugin.claim.record_store import RecordStore
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind
from plugin.telling.status import device_statuses

HALF, OTHER, VF = "gpu-0-mig-3g-20gb-4-7", "gpu-1-mig-3g-20gb-4-7", "nic-0000-19-00-0-vf-0"


def held(bench: Any) -> dict[str, list[str]]:
    """Return what each claim holds by its record."""
    return {record.claim_uid: [one.device for one in record.devices] for record in bench.records()}


@pytest.mark.parametrize("error", ["gpu-lost", "reset-required"])
def test_a_pod_on_a_lost_gpu_ends_and_its_record_is_parked(bench: Any, error: str) -> None:
    bench.prepare("u1", HALF)
    bench.inject(f"gpu-0:gpu-instances:{error}")

    bench.unprepare("u1")

    assert held(bench) == {"u1": [HALF]}
    assert [record.state for record in bench.records()] == ["undoing"]
    assert not bench.document("u1").exists(), "no container starts with it any more"
    assert device_statuses(bench.records()[0], 0.0) == ()


def test_the_log_says_which_claim_is_parked_and_why(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:lost")

    bench.unprepare("u1")

    (line,) = (record.message for record in caplog.records if record.levelno == logging.WARNING)
    assert line.startswith("claim default/claim-u1 (u1): its pod may end; what is on the lost GPU stays held")
    assert "fell off the bus" in line


def test_the_kubelet_may_ask_again_and_nobody_else_gets_what_is_parked(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:gpu-instances:gpu-lost:5")
    bench.unprepare("u1")

    bench.unprepare("u1")

    with pytest.raises(DeviceHeld, match=r"claim default/claim-u1 \(undoing\)"):
        bench.prepare("u2", HALF)
    assert held(bench) == {"u1": [HALF]}


def test_the_same_claim_is_not_prepared_on_what_is_left_of_it(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:lost")
    bench.unprepare("u1")

    with pytest.raises(HardwareFailed, match="operator must drain the node and reset or replace the GPU"):
        bench.prepare("u1", HALF)


def back(bench: Any) -> None:
    """The operator resets the GPU from outside; the look of the plugin follows."""
    bench.simulated.reset_gpu(bench.uuid(0))
    bench.driver.parked.look_after()


def started_again(bench: Any) -> None:
    """The GPU is back before the plugin is."""
    bench.simulated.reset_gpu(bench.uuid(0))
    bench.restart()


def rebooted(bench: Any) -> None:
    """The node reboots, which brings the GPU back."""
    bench.simulated.reboot()
    bench.restart()


@pytest.mark.parametrize("settled_by", [back, started_again, rebooted])
@pytest.mark.parametrize("kind", KINDS.preparable, ids=lambda kind: type(kind).__name__)
def test_a_parked_claim_of_any_kind_is_settled_when_the_gpu_is_back(
    folder: Path, linked_bench_in: Callable[..., Any], kind: AnyKind, settled_by: Callable[[Any], None]
) -> None:
    example = example_of(kind)
    bench = linked_bench_in(folder, node=example.node)
    bench.driver.prepare(bench.claim("u1", example.device, configs=example.configs))
    bench.inject("gpu-0:lost")
    bench.unprepare("u1")

    settled_by(bench)

    assert bench.leftovers() == []


def test_a_gpu_that_comes_back_with_its_instances_gives_them_back(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:lost")
    bench.unprepare("u1")
    bench.driver.parked.look_after()
    still_lost = held(bench)

    bench.simulated.clear_faults()
    bench.driver.parked.look_after()

    assert still_lost == {"u1": [HALF]}
    assert bench.leftovers() == []


def test_a_lost_gpu_keeps_nothing_else_of_its_claim(bench: Any) -> None:
    bench.prepare("u1", HALF, OTHER)
    bench.inject("gpu-0:lost")

    bench.unprepare("u1")

    assert held(bench) == {"u1": [HALF]}
    assert bench.instances(1) == ()
    assert not bench.is_in_mig_mode(1)
    assert bench.prepare("u2", "gpu-1")


def test_the_vf_beside_a_lost_gpu_is_restored_and_given_to_the_next(bench_of: Callable[..., Any]) -> None:
    bench = bench_of("a30x4")
    bench.prepare("u1", VF, "gpu-0-mig-2g-12gb-2-3")
    bench.inject("gpu-0:lost")

    bench.unprepare("u1")

    assert held(bench) == {"u1": ["gpu-0-mig-2g-12gb-2-3"]}
    assert bench.prepare("u2", VF)


def test_other_failures_of_an_unprepare_are_told_as_before(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:destroy-compute-instance:in-use:1")

    with pytest.raises(HardwareFailed, match="find the process that uses it"):
        bench.unprepare("u1")


def test_a_look_tells_each_reason_once_and_leaves_claims_in_work_alone(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:lost")
    bench.unprepare("u1")
    caplog.clear()

    for _ in range(3):
        bench.driver.parked.look_after()
    with bench.driver.opened("u1", bench.records()[0].ref):
        bench.simulated.clear_faults()
        bench.driver.parked.look_after()
        in_work = held(bench)

    assert len([record for record in caplog.records if "not undone to its end" in record.message]) == 1
    assert in_work == {"u1": [HALF]}
    assert bench.clock.slept == []


class Died(BaseException):
    """The process ends here."""


def dying(machine: Machine, step: int, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine that ends the process before or after its changes, or as records are written."""
    taken = 0

    def take(*_: object) -> None:
        nonlocal taken
        taken += 1
        if taken == step:
            raise Died

    note, remove = RecordStore.note, RecordStore.remove

    def stepwise(method: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            take()
            method(*arguments)
            take()

        return call

    monkeypatch.setattr(RecordStore, "note", stepwise(note))
    monkeypatch.setattr(RecordStore, "remove", stepwise(remove))
    return told(machine, take, take)


STEPS = 2 + 2 * 3 + 2
"""That it is undone; an instance and the mode of the other GPU; that less is held."""


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_process_that_dies_while_it_parks_a_claim_loses_nothing_and_keeps_nothing(
    bench: Any, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    bench.prepare("u1", HALF, OTHER)
    bench.inject("gpu-0:lost")
    with monkeypatch.context() as patch:
        machine = dying(bench.machine, step, patch)
        bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)
        with pytest.raises(Died):
            bench.unprepare("u1")

    bench.restart()
    bench.unprepare("u1")
    parked = held(bench)
    back(bench)

    assert parked == {"u1": [HALF]}
    assert bench.leftovers() == []


def test_no_step_of_parking_was_forgotten(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.prepare("u1", HALF, OTHER)
    bench.inject("gpu-0:lost")
    with monkeypatch.context() as patch:
        machine = dying(bench.machine, STEPS + 1, patch)
        bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)
        bench.unprepare("u1")

    assert held(bench) == {"u1": [HALF]}
