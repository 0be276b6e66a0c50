"""A driver that reports no profile, no memory, or fails in its MIG queries costs what it does not report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import parse_fault
from agent.inventory import describe, discover, offered
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.options.mode_option import read_gpu_modes
from agent.inventory.withheld import Cause
from agent.publishing.patience import LOOKS, Patience

WHOLE = ModesOfGpu(mig=False)
SHARED = ModesOfGpu(whole=True, mig=False, shared=100, mps=100)
BROKEN = (
    "gpu-1:nvmlDeviceGetGpuInstanceProfileInfoV:unknown",
    "gpu-1:nvmlDeviceGetGpuInstanceProfileInfoV:no-permission",
    "gpu-1:nvmlDeviceGetGpuInstancePossiblePlacements_v2:unknown",
    "gpu-1:profiles:hardware-fault",
)


def described(machine, modes=None, patience=None):
    found = discover(simulated_hardware(machine).readers, "node-1")
    found = patience.completed(found) if patience is not None else found
    return describe(offered(replace(found, modes=GpuModes(modes or ModesOfGpu()))))


def withheld(devices):
    return {one.device: one.reason for one in devices.withheld}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_failing_mig_query_costs_mig_and_not_the_gpu(machine, fault):
    node = machine("a100x2")
    before = described(node)
    node.inject(parse_fault(fault))

    devices = described(node)

    assert set(devices.by_name) == {name for name in before.by_name if not name.startswith("gpu-1-")}
    assert devices.unlisted == ()
    ((name, reason),) = withheld(devices).items()
    assert (name, reason.cause) == ("gpu-1-mig", Cause.UNREADABLE)
    assert "gpu-1 is offered in no partitions: its MIG profiles cannot be read: " in reason.text


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("is_on", [False, True])
def test_a_failing_mig_query_does_not_matter_if_the_gpu_is_offered_whole_alone(machine, fault, is_on):
    node = machine("a100x2")
    node.gpus.set_mig_mode(node.node.cards[1].uuid, is_on)
    node.inject(parse_fault(fault))

    devices = described(node, WHOLE)

    assert list(devices.by_name) == ["gpu-0", "gpu-1"]
    assert devices.withheld == ()
    assert devices.left_out == ()


def test_in_mig_mode_a_gpu_whose_instances_are_unknown_is_not_offered_whole(machine):
    node = machine("a100x2")
    node.gpus.set_mig_mode(node.node.cards[1].uuid, True)
    node.inject(parse_fault("gpu-1:gpu-instances:hardware-fault"))

    devices = described(node, WHOLE)

    assert list(devices.by_name) == ["gpu-0"]
    assert "gpu-1 is in MIG mode, and its instances cannot be read" in str(withheld(devices)["gpu-1"])


def test_a_query_that_fails_for_a_few_looks_takes_no_partition_away_and_is_told(machine):
    node, patience = machine("a100x2"), Patience()
    before = described(node, patience=patience)
    node.inject(parse_fault("gpu-1:nvmlDeviceGetGpuInstanceProfileInfoV:unknown"))

    looks = [described(node, patience=patience) for _ in range(LOOKS + 1)]
    node.clear_faults()
    after = described(node, patience=patience)

    assert [set(one.by_name) == set(before.by_name) for one in looks] == [*[True] * LOOKS, False]
    assert all("UNKNOWN (999)" in str(withheld(one)["gpu-1-mig"]) for one in looks)
    assert "that an earlier look found" in str(withheld(looks[0])["gpu-1-mig"])
    assert set(after.by_name) == set(before.by_name)
    assert after.withheld == ()


def test_a_driver_that_reports_profiles_in_mig_mode_alone_says_what_to_do(machine):
    node = machine("hgx-h100")
    node.inject(parse_fault("machine:profiles-need-mig"))
    node.gpus.set_mig_mode(node.node.cards[3].uuid, True)

    devices = described(node)

    reasons = withheld(devices)
    assert set(reasons) == {f"gpu-{number}-mig" for number in (0, 1, 2, 4, 5, 6, 7)}
    assert {reason.cause for reason in reasons.values()} == {Cause.NO_MIG_PROFILE}
    assert "reports no MIG profile while MIG mode is off" in reasons["gpu-0-mig"].text
    assert "nvidia-smi -i 0000:1b:00.0 -mig 1" in reasons["gpu-0-mig"].remedy
    advised = {name: reason.remedy.partition("--gpu-modes ")[2] for name, reason in reasons.items()}
    assert all(read_gpu_modes([text]).of(int(name[4])).keeps_mig for name, text in advised.items())
    assert [name for name in devices.by_name if name.startswith("gpu-3-mig")]
    assert withheld(described(node, WHOLE)) == {}


def test_a_gpu_whose_mig_mode_waits_for_a_reset_is_reset_and_not_turned_on_again(machine):
    node = machine("a100x2")
    node.inject(parse_fault("machine:profiles-need-mig"))
    node.inject(parse_fault("gpu-0:in-use"))
    node.gpus.set_mig_mode(node.node.cards[0].uuid, True)

    reasons = withheld(described(node))

    assert "the change that turns it on waits for a reset" in reasons["gpu-0-mig"].text
    assert reasons["gpu-0-mig"].remedy == "the operator resets the GPU"
    assert "-mig 1" in reasons["gpu-1-mig"].remedy


def test_a_gpu_in_mig_mode_without_any_profile_says_so(machine):
    node = machine("a30x4")
    node.gpus.set_mig_mode(node.node.cards[0].uuid, True)
    node.inject(
        parse_fault("gpu-0:nvmlDeviceGetGpuInstanceProfileInfoV:not-supported"),
        parse_fault("gpu-0:nvmlDeviceGetGpuInstanceProfileInfo:not-supported"),
    )

    (reason,) = withheld(described(node)).values()

    assert reason.text == "gpu-0 is offered in no partitions: the driver reports no MIG profile"


def test_a_gpu_without_a_memory_figure_says_why_there_is_no_share(machine):
    node = machine("l40s")
    node.inject(parse_fault("gpu-0:nvmlDeviceGetMemoryInfo:not-supported"))

    devices = described(node, SHARED)

    reasons = withheld(devices)
    assert "gpu-0" in devices.by_name
    assert set(reasons) == {"gpu-0-shared", "gpu-0-mps"}
    for reason in reasons.values():
        assert reason.cause is Cause.NO_MEMORY_FIGURE
        assert reason.text == (
            "gpu-0 is offered in no shares: the driver does not say how much memory it has"
        )
    assert withheld(described(node, WHOLE)) == {}


def test_the_whole_gpu_has_the_multiprocessors_of_the_hardware(machine):
    for name, count in {"dgx-a100": 108, "hgx-h100": 132, "l40s": 142, "a30x4": 56}.items():
        devices = described(machine(name))
        assert devices.capacity("gpu-0")["tangram.dev/multiprocessors"].whole == count


def test_without_the_driver_s_count_the_partition_that_fills_a_gpu_says_it(machine):
    node = machine("dgx-a100")
    node.inject(parse_fault("machine:nvmlDeviceGetNumGpuCores:function-not-found"))

    assert described(node).capacity("gpu-0")["tangram.dev/multiprocessors"].whole == 98
