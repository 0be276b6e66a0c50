"""When a change of the MIG mode holds: at once, later, or after a reset from outside."""

from __future__ import annotations

import pytest

from agent.hardware.errors import InUse
from agent.hardware.simulated import Held, node_text, parse_fault
from agent.hardware.types import MigMode, ModeChange

OFF, ON = MigMode(False, False), MigMode(True, True)
TURNING_ON = MigMode(False, True)


def first_gpu(machine):
    return machine.node.cards[0].uuid


@pytest.mark.parametrize("node", ["a100x2", "a30x4", "hgx-h100", "hgx-h200"])
def test_an_idle_gpu_on_bare_metal_takes_the_mode_at_once(machine, node: str) -> None:
    host = machine(node)

    change = host.gpus.set_mig_mode(first_gpu(host), True)

    assert change is ModeChange.ACTIVE
    assert host.gpus.mig_mode(first_gpu(host)) == ON


@pytest.mark.parametrize("node", ["a100x2", "hgx-h100"])
def test_a_gpu_that_a_client_holds_keeps_the_change_pending(machine, node: str) -> None:
    host = machine(node)
    host.inject(Held(0))

    change = host.gpus.set_mig_mode(first_gpu(host), True)

    assert change is ModeChange.PENDING_IN_USE
    assert host.gpus.mig_mode(first_gpu(host)) == TURNING_ON


def test_the_pending_mode_holds_when_the_client_is_gone_and_it_is_asked_again(machine) -> None:
    host = machine("a100x2")
    host.inject(Held(0))
    host.gpus.set_mig_mode(first_gpu(host), True)
    host.clear_faults()

    change = host.gpus.set_mig_mode(first_gpu(host), True)

    assert change is ModeChange.ACTIVE
    assert host.gpus.mig_mode(first_gpu(host)) == ON


def test_another_gpu_is_not_held(machine) -> None:
    host = machine("a100x2")
    host.inject(Held(0))

    assert host.gpus.set_mig_mode(host.node.cards[1].uuid, True) is ModeChange.ACTIVE


def test_a_pending_change_can_be_taken_back(machine) -> None:
    host = machine("a100x2-passthrough")
    host.gpus.set_mig_mode(first_gpu(host), True)

    host.gpus.set_mig_mode(first_gpu(host), False)

    assert host.gpus.mig_mode(first_gpu(host)) == OFF


def test_an_ampere_gpu_that_is_passed_through_waits_for_a_reset_from_outside(machine) -> None:
    host = machine("a100x2-passthrough")

    change = host.gpus.set_mig_mode(first_gpu(host), True)

    assert change is ModeChange.PENDING_RESET
    assert host.gpus.mig_mode(first_gpu(host)) == TURNING_ON
    assert host.gpus.gpus()[0].mode_needs_operator


def test_the_operators_reset_makes_the_pending_mode_hold(machine) -> None:
    host = machine("a100x2-passthrough")
    host.gpus.set_mig_mode(first_gpu(host), True)

    host.reset_gpu(first_gpu(host))

    assert host.gpus.mig_mode(first_gpu(host)) == ON


def test_a_reset_takes_the_instances_with_it(machine, cut) -> None:
    cutter = cut("a100x2-passthrough")
    host = machine("a100x2-passthrough")
    host.reset_gpu(cutter.uuid)
    cutter.partition("1g.5gb", 0)

    host.reset_gpu(cutter.uuid)

    assert cutter.gpus.gpu_instances(cutter.uuid) == ()
    assert cutter.gpus.mig_mode(cutter.uuid) == ON


def test_a_gpu_that_a_client_holds_cannot_be_reset(machine) -> None:
    host = machine("a100x2")
    host.inject(parse_fault("gpu-0:in-use"))

    with pytest.raises(InUse):
        host.reset_gpu(first_gpu(host))


def test_a_passed_through_hopper_gpu_takes_the_mode_at_once(machine) -> None:
    text = node_text("hgx-h100").replace("\nnuma:", "\npassthrough: true\nnuma:", 1)
    host = machine("passed-through", text)

    assert host.gpus.set_mig_mode(first_gpu(host), True) is ModeChange.ACTIVE
    assert not host.gpus.gpus()[0].mode_needs_operator


@pytest.mark.parametrize(("node", "kept"), [("a100x2", ON), ("a30x4", ON), ("hgx-h100", OFF)])
def test_ampere_keeps_its_mode_over_a_reboot_and_hopper_loses_it(machine, node: str, kept: MigMode) -> None:
    host = machine(node)
    host.gpus.set_mig_mode(first_gpu(host), True)

    host.reboot()

    assert host.gpus.mig_mode(first_gpu(host)) == kept


def test_a_pending_mode_holds_after_a_reboot_on_ampere(machine) -> None:
    host = machine("a100x2-passthrough")
    host.gpus.set_mig_mode(first_gpu(host), True)

    host.reboot()

    assert host.gpus.mig_mode(first_gpu(host)) == ON


def test_instances_block_turning_mig_off_until_the_last_is_gone(cut) -> None:
    cutter = cut()
    gi_id, _ = cutter.partition("3g.20gb", 4)

    with pytest.raises(InUse) as refusal:
        cutter.gpus.set_mig_mode(cutter.uuid, False)
    cutter.destroy(gi_id)

    assert f"GI {gi_id} (3g.20gb at 4:4)" in refusal.value.reason
    assert cutter.gpus.set_mig_mode(cutter.uuid, False) is ModeChange.ACTIVE
