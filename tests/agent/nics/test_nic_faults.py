"""Faults of NICs are spelt, refused and struck like those of GPUs; a killed process leaves no half."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent.hardware.nics.types import VFIO_PCI, DriverBinding
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import (
    Call,
    Fail,
    InvalidFault,
    InvalidNodeFile,
    Kill,
    Moment,
    NicFault,
    NicTrouble,
    SimulatedMachine,
    Slow,
    node_text,
    parse_fault,
    parse_node,
)
from agent.hardware.simulated.faults import NIC_CALLS, NIC_REFUSALS
from agent.hardware.types import Bdf

VF = Bdf("0000:19:00.2")
KERNEL = DriverBinding("mlx5_core")

SPELLINGS = {
    "nic-0:in-use": NicFault(0, NicTrouble.IN_USE),
    "nic-3:fewer-vfs=2": NicFault(3, NicTrouble.FEWER_VFS, 2),
    "nic-3:late-rdma=10": NicFault(3, NicTrouble.LATE_RDMA, 10),
    "nic-1:no-rdma": NicFault(1, NicTrouble.NO_RDMA),
    "nic-1:no-iommu": NicFault(1, NicTrouble.NO_IOMMU),
    "nic-1:shared-iommu": NicFault(1, NicTrouble.SHARED_IOMMU),
    "machine:no-vfio": NicFault(None, NicTrouble.NO_VFIO),
    "nic-0:set-vfs:no-space:1": Fail(Call.SET_VFS, 0, "no-space", 1),
    "machine:change-link:already-taken": Fail(Call.CHANGE_LINK, None, "already-taken"),
    "nic-2:probe:slow=1.5": Slow(Call.PROBE, 2, 1.5),
    "nic-0:unbind:kill-after:1": Kill(Call.UNBIND, 0, Moment.AFTER),
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_fault_reads_as_it_is_spelt(text: str) -> None:
    assert parse_fault(text) == SPELLINGS[text]
    assert str(SPELLINGS[text]) == text


@pytest.mark.parametrize("call", NIC_CALLS)
@pytest.mark.parametrize("refusal", NIC_REFUSALS)
def test_every_refusal_fits_every_call_about_a_nic(call: Call, refusal: str) -> None:
    assert parse_fault(f"nic-0:{call}:{refusal}") == Fail(call, 0, refusal)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("nic-0", "must be"),
        ("nic-0:lost", "the trouble must be one of in-use"),
        ("nic-0:no-vfio", "a trouble of the machine"),
        ("machine:no-iommu", "a trouble of the machine"),
        ("machine:in-use", "one GPU"),
        ("nic-0:late-rdma", "take a number"),
        ("nic-0:no-rdma=3", "take a number"),
        ("gpu-0:set-vfs:in-use", "aim at nic-0"),
        ("nic-0:mig-mode:in-use", "aim at gpu-0"),
        ("nic-0:set-vfs:gpu-lost", "the effect must be one of not-supported"),
        ("gpu-0:mig-mode:no-space", "the effect must be one of not-supported"),
        ("gpu-0:lost=3", "must be"),
    ],
)
def test_what_is_no_fault_is_refused_with_the_rule(text: str, rule: str) -> None:
    with pytest.raises(InvalidFault) as refusal:
        parse_fault(text)

    assert rule in refusal.value.rule


@pytest.mark.parametrize("text", ["nic-2:in-use", "nic-2:set-vfs:in-use"])
def test_a_fault_of_a_nic_that_is_not_there_is_refused(host, text: str) -> None:
    with pytest.raises(InvalidFault) as refusal:
        host.inject(parse_fault(text))

    assert "no nic-2" in refusal.value.rule


def test_a_node_file_may_have_troubles_from_its_first_start(tmp_path: Path) -> None:
    text = node_text("a30x4").replace("\nnuma:", "\nfaults: ['nic-0:no-iommu']\nnuma:", 1)
    machine = SimulatedMachine.open(parse_node("broken", text), tmp_path)

    assert simulated_hardware(machine).nics.reader.iommu_group(VF) is None
    with pytest.raises(InvalidNodeFile):
        parse_node("broken", text.replace("nic-0", "nic-9"))


def test_a_trouble_that_holds_already_is_kept_once(host) -> None:
    for _ in range(2):
        host.inject(NicFault(0, NicTrouble.IN_USE))

    assert host.faults() == (NicFault(0, NicTrouble.IN_USE),)


GIVE = """
import sys
from pathlib import Path
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.types import Bdf
nics = simulated_hardware(SimulatedMachine.attach(Path(sys.argv[1]))).nics
nics.functions.give_to(Bdf(sys.argv[2]), "vfio-pci")
"""


@pytest.mark.parametrize(
    ("fault", "driver"),
    [
        ("nic-0:override-driver:kill-after", "mlx5_core"),
        ("nic-0:unbind:kill-before", "mlx5_core"),
        ("nic-0:unbind:kill-after", None),
        ("nic-0:probe:kill-before", None),
        ("nic-0:probe:kill-after", VFIO_PCI),
    ],
)
def test_a_process_killed_at_any_step_leaves_a_function_that_can_be_restored(
    host, nics, fault: str, driver: str | None
) -> None:
    host.inject(parse_fault(fault))

    died = subprocess.run([sys.executable, "-c", GIVE, host.directory, VF], check=False, timeout=60)
    found = nics.reader.binding(VF)
    nics.functions.restore(VF, KERNEL)

    assert died.returncode == -signal.SIGKILL
    assert found == DriverBinding(driver, VFIO_PCI)
    assert nics.reader.binding(VF) == KERNEL
    assert nics.reader.interfaces(VF)
