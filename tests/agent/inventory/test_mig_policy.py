"""Which devices a GPU has by the policy of its MIG mode, and what is said of a device that is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.model import Inventory, LinkedGpus, NodeDevices
from agent.inventory.modes import ModesOfGpu
from agent.inventory.offered import offered
from agent.inventory.options.left_out import why_not_in_modes
from agent.inventory.options.mode_option import read_gpu_modes
from agent.inventory.withheld import Cause
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.model.device import DeviceName

PAIR = LinkedGpus(table_of("table", {"2": [{"minors": [0, 1], "allocationScore": 1}]}))
PARTITION = DeviceName("gpu-0-mig-3g-20gb-4-7")


@pytest.fixture
def machine(tmp_path):
    return lambda node="a100x2": SimulatedMachine.open(load_node(node), tmp_path / node)


def read(machine: SimulatedMachine, *modes: str, linked: LinkedGpus | None = None) -> Inventory:
    found = discover(simulated_hardware(machine).readers, "node-1")
    return replace(found, modes=read_gpu_modes(modes), linked=linked)


def names(devices: NodeDevices, number: int) -> set[str]:
    return {name for name in devices.by_name if name == f"gpu-{number}" or name.startswith(f"gpu-{number}-")}


@pytest.mark.parametrize("is_on", [False, True])
@pytest.mark.parametrize("node", ["a100x2", "hgx-h100"])
def test_without_a_policy_a_gpu_is_offered_whole_and_cut_whatever_its_mode_is(
    machine, node: str, is_on: bool
) -> None:
    host = machine(node)
    host.gpus.set_mig_mode(host.node.cards[0].uuid, is_on)

    found = names(describe(offered(read(host))), 0)

    assert "gpu-0" in found  # a claim of it turns the mode off
    assert len(found) > 20


def test_a_gpu_that_is_kept_in_mig_mode_is_offered_cut_only(machine) -> None:
    devices = describe(offered(read(machine(), "0=mig:on", linked=PAIR)))

    assert "gpu-0" not in names(devices, 0)
    assert PARTITION in names(devices, 0)
    assert "gpu-1" in names(devices, 1)
    assert "gpus-0-1" not in devices.by_name


def test_a_gpu_that_is_never_cut_has_no_partitions(machine) -> None:
    devices = describe(offered(read(machine(), "0=whole")))

    assert names(devices, 0) == {"gpu-0"}
    assert len(names(devices, 1)) > 20


def test_a_gpu_whose_mode_only_an_operator_can_turn_on_is_not_offered_until_that_is_done(machine) -> None:
    host = machine("a100x2-passthrough")

    before = describe(offered(read(host, "all=mig:on")))
    host.gpus.set_mig_mode(host.node.cards[0].uuid, True)
    host.reset_gpu(host.node.cards[0].uuid)
    after = describe(offered(read(host, "all=mig:on")))

    assert names(before, 0) == set()
    assert {one.reason.cause for one in before.withheld} == {Cause.MIG_MODE}
    assert PARTITION in names(after, 0)


@pytest.mark.parametrize(
    ("name", "modes", "reason"),
    [
        (
            PARTITION,
            {0: ModesOfGpu(mig=False)},
            "gpu-0 is offered in other modes: --gpu-modes has whole for it",
        ),
        ("gpu-0-mig-1c-3g-20gb-4-7-ci-2", {0: ModesOfGpu(mig=False)}, "--gpu-modes has whole for it"),
        ("gpu-0", {0: ModesOfGpu(whole=False, keeps_mig=True)}, "--gpu-modes has mig:on for it"),
        ("gpus-0-1", {0: ModesOfGpu(), 1: ModesOfGpu(whole=False)}, "gpu-1 is offered in other modes"),
        ("gpu-0-shared", {0: ModesOfGpu(mps=100)}, "--gpu-modes has whole,mig,mps for it"),
        ("gpu-0-mps", {0: ModesOfGpu(shared=100)}, "--gpu-modes has whole,mig,shared for it"),
        (
            PARTITION,
            {0: ModesOfGpu(profiles=frozenset({"1g.5gb"}))},
            "the policy of the node offers other MIG partitions of gpu-0",
        ),
        (
            PARTITION,
            {0: ModesOfGpu(layout=frozenset())},
            "the policy of the node offers other MIG partitions",
        ),
        ("gpu-0", {0: ModesOfGpu(layout=frozenset())}, ""),
        (PARTITION, {0: ModesOfGpu()}, ""),
        ("gpu-0", {0: ModesOfGpu()}, ""),
        ("gpu-7-mig-1g-5gb-0", {0: ModesOfGpu(mig=False)}, ""),
        ("nic-0000-3b-00-0", {0: ModesOfGpu(mig=False)}, ""),
    ],
)
def test_a_device_that_its_gpus_modes_leave_out_is_told_with_them(name: str, modes, reason: str) -> None:
    found = why_not_in_modes(DeviceName(name), modes)

    assert bool(found) == bool(reason)
    assert reason in found
