"""What drivers lack, refuse or answer wrongly, by function of NVML: simulated, and read by the adapter."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from fake_nvml import FakeLibrary

from agent.hardware.driver.nvml_rules import has_longer_process_records
from agent.hardware.errors import HardwareFault, NoPermission, NotSupported
from agent.hardware.health.types import FABRIC_CONDITIONS, FabricState
from agent.hardware.nvml import Nvml
from agent.hardware.open import simulated_hardware
from agent.hardware.ports import Gpus
from agent.hardware.simulated import SimulatedMachine, load_node, node_text, parse_fault, parse_node
from agent.hardware.simulated.faults import NVML_REFUSALS, NvmlFunction
from agent.hardware.types import Gpu, Unreadable
from agent.inventory import discover
from agent.inventory.withheld import Cause

FORMS_REFUSED = ["function-not-found", "not-supported", "invalid-argument", "argument-version-mismatch"]
LISTS = ("Compute", "Graphics", "MPSCompute")
OPTIONAL = {
    NvmlFunction.BRAND: "brand",
    NvmlFunction.MEMORY: "memory_bytes",
    NvmlFunction.CORES: "multiprocessors",
    NvmlFunction.MODULE_ID: "module_id",
    NvmlFunction.MIG_MODE: "mig",
}
NEEDED = (
    NvmlFunction.UUID,
    NvmlFunction.NAME,
    NvmlFunction.ARCHITECTURE,
    NvmlFunction.COMPUTE_CAPABILITY,
    NvmlFunction.MINOR,
)


class Node:
    """A machine of H100s, and an adapter over it."""

    def __init__(self, machine: SimulatedMachine, gpus: Gpus) -> None:
        self.machine = machine
        self.gpus = gpus
        self.uuids = [card.uuid for card in machine.node.cards]

    def inject(self, *faults: str) -> None:
        self.machine.inject(*map(parse_fault, faults))

    def inventory(self):
        readers = simulated_hardware(self.machine).readers
        return discover(replace(readers, gpus=self.gpus), "node-1")


@pytest.fixture(params=["simulated", "nvml"])
def node(request: pytest.FixtureRequest, tmp_path, nvml_over: Callable[[Gpus], Nvml]) -> Node:
    machine = SimulatedMachine.open(load_node("hgx-h100"), tmp_path)
    return Node(machine, machine.gpus if request.param == "simulated" else nvml_over(machine.gpus))


@pytest.mark.parametrize("code", FORMS_REFUSED)
def test_profiles_are_asked_for_in_the_first_form_if_the_newest_is_refused(node, code) -> None:
    before = node.gpus.profiles(node.uuids[0])

    node.inject(f"machine:nvmlDeviceGetGpuInstanceProfileInfoV:{code}")

    assert before
    assert node.gpus.profiles(node.uuids[0]) == before


@pytest.mark.parametrize("form", [NvmlFunction.PROFILE, NvmlFunction.PROFILE_V])
@pytest.mark.parametrize(("code", "kind"), [("unknown", HardwareFault), ("no-permission", NoPermission)])
def test_a_profile_query_that_fails_otherwise_is_an_error_with_call_and_code(node, form, code, kind) -> None:
    if form is NvmlFunction.PROFILE:
        node.inject("machine:nvmlDeviceGetGpuInstanceProfileInfoV:function-not-found")
    node.inject(f"gpu-0:{form}:{code}")

    with pytest.raises(
        kind, match=rf"NVML answered {code.upper().replace('-', '_')} \(\d+\) to nvmlDeviceGetGpuI"
    ):
        node.gpus.profiles(node.uuids[0])

    assert node.gpus.profiles(node.uuids[1])


def test_profiles_that_need_mig_mode_come_with_it(node) -> None:
    before = node.gpus.profiles(node.uuids[0])
    node.inject("machine:profiles-need-mig")

    without = node.gpus.profiles(node.uuids[0])
    node.gpus.set_mig_mode(node.uuids[0], True)

    assert without == ()
    assert node.gpus.profiles(node.uuids[0]) == before


@pytest.mark.parametrize("code", FORMS_REFUSED)
def test_process_lists_are_asked_for_in_the_form_before(node, code) -> None:
    node.inject(*(f"machine:nvmlDeviceGet{kind}RunningProcesses_v3:{code}" for kind in LISTS))

    with node.machine.client(node.uuids[0]):
        assert node.gpus.processes(node.uuids[0]) == (os.getpid(),)
    assert node.gpus.processes(node.uuids[0]) == ()


def test_a_driver_without_a_list_of_what_computes_is_not_taken_for_an_idle_gpu(node) -> None:
    node.inject(*(f"machine:nvmlDeviceGetComputeRunningProcesses_v{n}:function-not-found" for n in (2, 3)))

    with pytest.raises(NotSupported, match="FUNCTION_NOT_FOUND"):
        node.gpus.processes(node.uuids[0])


@pytest.mark.parametrize("state", [FabricState.IN_PROGRESS, FabricState.NOT_STARTED, FabricState.FAILED])
@pytest.mark.parametrize("code", ["function-not-found", "argument-version-mismatch"])
def test_the_fabric_is_asked_for_in_its_first_form(node, state, code) -> None:
    node.inject(f"gpu-0:fabric={state}", f"machine:nvmlDeviceGetGpuFabricInfoV:{code}")

    assert [node.gpus.vitals(uuid).fabric for uuid in node.uuids[:2]] == [state, FabricState.COMPLETED]


@pytest.mark.parametrize("state", FABRIC_CONDITIONS)
def test_a_driver_without_the_newest_form_reports_no_condition_of_the_fabric(node, state) -> None:
    node.inject(f"gpu-0:fabric={state}", "machine:nvmlDeviceGetGpuFabricInfoV:function-not-found")

    assert node.gpus.vitals(node.uuids[0]).fabric is FabricState.COMPLETED


def test_without_either_form_the_fabric_is_unknown(node) -> None:
    node.inject(*(f"machine:nvmlDeviceGetGpuFabricInfo{v}:function-not-found" for v in ("", "V")))

    assert node.gpus.vitals(node.uuids[0]).fabric is None


@pytest.mark.parametrize("function", OPTIONAL)
def test_what_a_gpu_may_lack_is_unknown_if_its_function_says_so(node, function) -> None:
    before = node.gpus.gpus()
    node.inject(f"gpu-1:{function}:not-supported")

    healthy, other = node.gpus.gpus()[:2]

    assert healthy == before[0]
    assert other == replace(before[1], **{OPTIONAL[function]: None})


@pytest.mark.parametrize("code", ["not-supported", "unknown", "no-permission", "invalid-argument"])
@pytest.mark.parametrize("function", NEEDED)
def test_a_value_that_cannot_be_read_makes_its_gpu_unreadable_and_not_dead(node, function, code) -> None:
    node.inject(f"gpu-1:{function}:{code}")

    listed = node.gpus.gpus()
    inventory = node.inventory()

    (odd,) = (one for one in listed if isinstance(one, Unreadable))
    (unlisted,) = inventory.unlisted
    assert len(listed) == 8
    assert odd.bdf == node.machine.node.cards[1].site.bdf
    assert not odd.is_lost
    assert unlisted.reason.cause is Cause.UNREADABLE
    assert f"NVML answered {code.upper().replace('-', '_')}" in unlisted.reason.text
    assert str(function) in unlisted.reason.text
    assert "Xid" not in str(unlisted)


def test_a_value_that_fails_once_is_read_at_the_next_look(node) -> None:
    node.inject("gpu-1:nvmlDeviceGetName:unknown:1")

    first, second = node.gpus.gpus(), node.gpus.gpus()

    assert [isinstance(one, Gpu) for one in first[:2]] == [True, False]
    assert all(isinstance(one, Gpu) for one in second)


def test_a_lost_gpu_is_called_dead_by_both(node) -> None:
    node.inject("gpu-1:lost")

    (unlisted,) = node.inventory().unlisted

    assert unlisted.reason.cause is Cause.DEAD
    assert "resets the GPU" in unlisted.reason.remedy


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("uuid={first}", ["0000:{second_bdf}", "the UUID {first} of the GPU at 0000:{first_bdf}"]),
        ("minor=-1", ["0000:{second_bdf}", "its minor number is -1"]),
        ("minor=0", ["0000:{second_bdf}", "its minor number is 0, as that of the GPU at 0000:{first_bdf}"]),
        ("memory-mib=0", ["0000:{second_bdf}", "0 bytes of memory"]),
    ],
)
def test_a_gpu_whose_answers_cannot_be_true_is_left_out_with_the_reason(node, fault, words) -> None:
    first, second = (card.site.bdf.removeprefix("0000:") for card in node.machine.node.cards[:2])
    names = {"first": node.uuids[0], "first_bdf": first, "second_bdf": second}
    node.inject(f"gpu-1:{fault.format(**names)}")

    inventory = node.inventory()

    (unlisted,) = inventory.unlisted
    assert [entry.gpu.number for entry in inventory.gpus] == [0, 2, 3, 4, 5, 6, 7]
    assert unlisted.number == 1
    assert unlisted.reason.cause is Cause.UNREADABLE
    for word in words:
        assert word.format(**names) in unlisted.reason.text


def test_every_function_and_code_can_be_spelt_and_read_back() -> None:
    for function in NvmlFunction:
        for code in NVML_REFUSALS:
            text = f"gpu-1:{function}:{code}:2"
            assert str(parse_fault(text)) == text


@pytest.mark.parametrize("version", ["535.43.02", "535.54.03", "535.86.10"])
def test_a_driver_whose_newest_lists_have_longer_records_is_asked_in_the_form_before(
    version, tmp_path, library_over
) -> None:
    text = node_text("hgx-h100").replace("570.133.20", version)
    assert version in text
    machine = SimulatedMachine.open(parse_node("h100", text), tmp_path)
    library: FakeLibrary = library_over(machine.gpus)
    library.nvmlDeviceGetComputeRunningProcesses_v3 = lambda *_: pytest.fail("it was asked")

    with Nvml.open() as gpus, machine.client(machine.node.cards[0].uuid):
        assert gpus.processes(machine.node.cards[0].uuid) == (os.getpid(),)
        machine.inject(parse_fault("machine:nvmlDeviceGetComputeRunningProcesses_v2:function-not-found"))
        for adapter in (gpus, machine.gpus):
            with pytest.raises(NotSupported):
                adapter.processes(machine.node.cards[0].uuid)


@pytest.mark.parametrize("version", ["535.98", "535.104.05", "535.30", "550.54.15", "470.82.01", "odd"])
def test_other_drivers_are_asked_in_the_newest_form(version) -> None:
    assert not has_longer_process_records(version)
