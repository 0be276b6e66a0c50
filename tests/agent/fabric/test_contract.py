"""What holds of a fabric manager, simulated or behind its library."""

from __future__ import annotations

import pytest
from shared_nvswitch import shared_node

from agent.hardware.errors import (
    FabricUnavailable,
    HardwareError,
    HardwareFault,
    InUse,
    NotFound,
    NotSupported,
    NotThereYet,
    TimedOut,
)
from agent.hardware.fabric.nvfm import Nvfm
from agent.hardware.fabric.ports import FabricManager
from agent.hardware.fabric.types import FabricMode
from agent.hardware.simulated import NodeFile, SimulatedMachine, load_node, parse_fault

PAIR, QUAD, ALL, SINGLE, OTHER_PAIR = 3, 1, 0, 7, 4
"""Ids: modules 1 and 3; 1 to 4; all; 1 alone; 2 and 4."""


@pytest.fixture(params=["simulated", "nvfm"])
def fabric(request: pytest.FixtureRequest, machine: SimulatedMachine, nvfm: Nvfm) -> FabricManager:
    return machine.fabric if request.param == "simulated" else nvfm


def active(fabric: FabricManager) -> list[int]:
    return [one.id for one in fabric.partitions() if one.is_active]


def vgpu_node() -> NodeFile:
    return shared_node("mode: shared-nvswitch", "mode: vgpu")


def ampere_node() -> NodeFile:
    return shared_node("h100-sxm5-80gb", "a100-sxm4-40gb")


def test_it_lists_its_partitions_by_id_with_the_modules_of_their_gpus(fabric: FabricManager) -> None:
    found = {one.id: [gpu.physical_id for gpu in one.gpus] for one in fabric.partitions()}

    assert list(found) == list(range(15))
    assert found[ALL] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found[PAIR] == [1, 3]
    assert found[SINGLE] == [1]
    assert fabric.mode() is FabricMode.SHARED


def test_it_tells_nothing_of_a_gpu_but_its_module(fabric: FabricManager) -> None:
    gpus = [gpu for one in fabric.partitions() for gpu in one.gpus]

    assert all(gpu.uuid is None and gpu.bdf is None for gpu in gpus)


def test_no_partition_is_active_at_first(fabric: FabricManager) -> None:
    assert active(fabric) == []


def test_an_activated_partition_is_active_until_it_is_deactivated(fabric: FabricManager) -> None:
    fabric.activate(PAIR)
    fabric.activate(OTHER_PAIR)
    assert active(fabric) == [PAIR, OTHER_PAIR]

    fabric.deactivate(PAIR)

    assert active(fabric) == [OTHER_PAIR]


@pytest.mark.parametrize("other", [PAIR, QUAD, ALL, SINGLE])
def test_a_partition_is_refused_while_one_with_any_of_its_gpus_is_active(
    fabric: FabricManager, other: int
) -> None:
    fabric.activate(PAIR)

    with pytest.raises(InUse) as refusal:
        fabric.activate(other)

    assert refusal.value.retry
    assert active(fabric) == [PAIR]


@pytest.mark.parametrize("deed", ["activate", "deactivate"])
def test_an_unknown_id_is_refused(fabric: FabricManager, deed: str) -> None:
    with pytest.raises(NotFound, match=f"{deed} fabric partition 15"):
        getattr(fabric, deed)(15)


def test_a_partition_that_is_not_active_cannot_be_deactivated(fabric: FabricManager) -> None:
    with pytest.raises(NotFound, match=f"deactivate fabric partition {PAIR}"):
        fabric.deactivate(PAIR)


@pytest.mark.parametrize("fault", ["machine:no-fabric-manager"])
def test_while_it_does_not_run_every_call_says_who_acts(
    fabric: FabricManager, machine: SimulatedMachine, fault: str
) -> None:
    fabric.activate(PAIR)
    machine.inject(parse_fault(fault))

    for ask in (fabric.partitions, lambda: fabric.activate(SINGLE), lambda: fabric.deactivate(PAIR)):
        with pytest.raises(FabricUnavailable, match="the operator starts the fabric manager") as refusal:
            ask()
        assert refusal.value.retry
    assert fabric.mode() is FabricMode.SHARED

    machine.clear_faults()
    assert active(fabric) == [PAIR]


@pytest.mark.parametrize(
    ("name", "error"),
    [("timed-out", TimedOut), ("not-there-yet", NotThereYet), ("hardware-fault", HardwareFault)],
)
@pytest.mark.parametrize("call", ["fabric-partitions", "activate-partition", "deactivate-partition"])
def test_a_call_that_fails_changes_nothing(
    fabric: FabricManager, machine: SimulatedMachine, call: str, name: str, error: type[HardwareError]
) -> None:
    fabric.activate(OTHER_PAIR)
    times = 2 if call == "fabric-partitions" else 1  # the library asks it when it connects
    machine.inject(parse_fault(f"machine:{call}:{name}:{times}"))
    ask = {
        "fabric-partitions": fabric.partitions,
        "activate-partition": lambda: fabric.activate(PAIR),
        "deactivate-partition": lambda: fabric.deactivate(OTHER_PAIR),
    }[call]

    with pytest.raises(error):
        ask()

    machine.clear_faults()
    assert active(fabric) == [OTHER_PAIR]


def test_a_restart_forgets_what_was_active(fabric: FabricManager, machine: SimulatedMachine) -> None:
    fabric.activate(PAIR)

    machine.restart_fabric_manager()

    assert active(fabric) == []


def test_a_reboot_forgets_what_was_active(fabric: FabricManager, machine: SimulatedMachine) -> None:
    fabric.activate(PAIR)

    machine.reboot()

    assert active(fabric) == []


class TestOtherMachines:
    @pytest.fixture
    def machine(self, request: pytest.FixtureRequest, tmp_path) -> SimulatedMachine:
        return SimulatedMachine.open(request.param(), tmp_path / "machine")

    @pytest.mark.parametrize("machine", [vgpu_node], indirect=True, ids=["vgpu"])
    def test_for_virtual_functions_it_says_which_mode_is_needed(self, fabric: FabricManager) -> None:
        assert fabric.mode() is FabricMode.VGPU
        for ask in (fabric.partitions, lambda: fabric.activate(PAIR), lambda: fabric.deactivate(PAIR)):
            with pytest.raises(NotSupported, match="FABRIC_MODE=1"):
                ask()

    @pytest.mark.parametrize("machine", [lambda: load_node("a100x2")], indirect=True, ids=["bare"])
    def test_on_bare_metal_it_has_no_mode(self, fabric: FabricManager) -> None:
        assert fabric.mode() is FabricMode.NONE

    @pytest.mark.parametrize("machine", [ampere_node], indirect=True, ids=["ampere"])
    def test_ampere_joins_no_gpu_in_mig_mode(self, fabric: FabricManager, machine: SimulatedMachine) -> None:
        (first,) = (card for card in machine.node.cards if card.form.module == 1)
        machine.gpus.set_mig_mode(first.uuid, enabled=True)

        with pytest.raises(HardwareFault):
            fabric.activate(PAIR)
        fabric.activate(SINGLE)
        machine.reboot()

        assert {PAIR, QUAD, ALL} & {one.id for one in fabric.partitions()} == set()
        assert {SINGLE, OTHER_PAIR} <= {one.id for one in fabric.partitions()}
        with pytest.raises(NotFound):
            fabric.activate(PAIR)

    @pytest.mark.parametrize("machine", [shared_node], indirect=True, ids=["hopper"])
    def test_hopper_joins_gpus_in_mig_mode(self, fabric: FabricManager, machine: SimulatedMachine) -> None:
        for card in machine.node.cards:
            machine.gpus.set_mig_mode(card.uuid, enabled=True)

        fabric.activate(PAIR)

        assert active(fabric) == [PAIR]
