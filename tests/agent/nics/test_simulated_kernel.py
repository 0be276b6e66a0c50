"""The simulated kernel refuses as kernels do, and its files always show its state."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
from acts_on_nics import ACTS, Acting
from hypothesis import HealthCheck, given, settings
from short_folders import short_folder

from agent.hardware.errors import HardwareError, HardwareFault, InUse
from agent.hardware.nics.links import AddRoute, Link, Move, Rename, Route, SetMac, SetMtu, SetUp
from agent.hardware.nics.types import VFIO_PCI, VfSettings
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import (
    NoMachine,
    SimulatedMachine,
    node_text,
    parse_fault,
    parse_node,
)
from agent.hardware.types import Bdf

PF, VF, SIBLING = Bdf("0000:19:00.0"), Bdf("0000:19:00.2"), Bdf("0000:19:00.3")
DEVICES = "sys/bus/pci/devices"


def answer(call, *arguments: object) -> int:
    with pytest.raises(OSError) as refusal:  # noqa: PT011 (the number is compared)
        call(*arguments)
    assert refusal.value.errno is not None
    return refusal.value.errno


@pytest.mark.parametrize(
    ("attribute", "text", "number"),
    [
        (f"{DEVICES}/{PF}/sriov_numvfs", "5", errno.ERANGE),
        (f"{DEVICES}/{PF}/sriov_numvfs", "3", errno.EBUSY),
        (f"{DEVICES}/{PF}/sriov_numvfs", "70000", errno.ERANGE),
        (f"{DEVICES}/{PF}/sriov_numvfs", "two", errno.EINVAL),
        (f"{DEVICES}/{VF}/sriov_numvfs", "1", errno.ENOENT),
        (f"{DEVICES}/0000:99:00.0/sriov_numvfs", "1", errno.ENOENT),
        ("sys/bus/pci/drivers/mlx5_core/unbind", "0000:99:00.0", errno.ENODEV),
        ("sys/bus/pci/drivers/vfio-pci/unbind", VF, errno.ENODEV),
        ("sys/bus/pci/drivers/mlx5_core/bind", VF, errno.EBUSY),
        ("sys/bus/pci/drivers/unknown/bind", VF, errno.ENOENT),
        ("sys/bus/pci/drivers_probe", "0000:99:00.0", errno.ENODEV),
        (f"{DEVICES}/{PF}/vendor", "0x10de", errno.EACCES),
    ],
)
def test_a_write_is_answered_as_by_a_kernel(host, attribute: str, text: str, number: int) -> None:
    before = host.kernel.calls.store.read()

    assert answer(host.kernel.write, attribute, text) == number
    assert host.kernel.calls.store.read() == before


def test_bind_takes_the_driver_that_the_override_names(host, nics) -> None:
    host.kernel.write("sys/bus/pci/drivers/mlx5_core/unbind", VF)
    refused = answer(host.kernel.write, "sys/bus/pci/drivers/vfio-pci/bind", VF)
    host.kernel.write(f"{DEVICES}/{VF}/driver_override", VFIO_PCI)
    host.kernel.write("sys/bus/pci/drivers/vfio-pci/bind", VF)

    assert refused == errno.ENODEV
    assert nics.reader.binding(VF).driver == VFIO_PCI


@pytest.mark.parametrize(
    ("step", "number"),
    [
        (Rename("enp25s0v0", "fast0"), errno.EBUSY),
        (Rename("nothing", "fast0"), errno.ENODEV),
        (SetMtu("enp25s0v0", 67), errno.EINVAL),
        (SetMtu("enp25s0v0", 9979), errno.EINVAL),
        (SetMac("enp25s0v0", "01:00:00:00:00:01"), errno.EADDRNOTAVAIL),
        (AddRoute("enp25s0v0", Route("10.0.0.0/8", "10.0.0.1")), errno.ENETUNREACH),
        (Move("enp25s0v0", Path("/nowhere"), "fast0"), errno.ENOENT),
    ],
)
def test_a_step_is_answered_as_by_a_kernel(host, step, number: int) -> None:
    assert answer(host.kernel.apply, None, step) == number


def test_a_name_that_is_taken_and_one_that_is_too_long_are_refused(host) -> None:
    host.kernel.apply(None, SetUp("enp25s0v0", False))

    assert answer(host.kernel.apply, None, Rename("enp25s0v0", "enp25s0v1")) == errno.EEXIST
    assert answer(host.kernel.apply, None, Rename("enp25s0v0", "x" * 16)) == errno.EINVAL
    assert answer(host.kernel.apply, None, AddRoute("enp25s0v0", Route("10.0.0.0/8"))) == errno.ENETDOWN


def test_an_address_that_another_function_of_the_nic_has_is_refused(host, nics) -> None:
    taken = nics.reader.interfaces(SIBLING)[0].mac

    assert answer(host.kernel.apply, None, SetMac("enp25s0v0", taken)) == errno.EADDRINUSE


def moved(nics, namespace: Path, name: str, bdf: Bdf = VF) -> Link:
    return nics.interfaces.move_in(bdf, namespace, WantedInterface(name=name, addresses=("10.0.0.2/24",)))


def test_what_is_in_a_pod_is_not_seen_in_the_host_s_files(host, nics, namespace) -> None:
    moved(nics, namespace, "fast0")

    assert nics.reader.interfaces(VF) == ()
    assert len(nics.reader.rdma_devices(VF)) == 1
    assert not (host.root / "sys/class/net/enp25s0v0").exists()


def test_a_namespace_that_ends_gives_its_interfaces_back_under_their_names_there(nics, namespace) -> None:
    original = WantedInterface.like(nics.interfaces.find(VF))
    moved(nics, namespace, "fast0")
    namespace.unlink()

    here = nics.interfaces.find(VF)
    back = nics.interfaces.move_back(VF, original, namespace)

    assert (here.name, here.is_up, here.addresses) == ("fast0", False, ())
    assert (back.name, back.is_up) == ("enp25s0v0", True)


def test_a_name_that_is_taken_on_the_host_becomes_dev_and_the_number(nics, tmp_path) -> None:
    pods = [tmp_path / name for name in ("a", "b")]
    for pod, bdf in zip(pods, (VF, SIBLING), strict=True):
        pod.touch()
        moved(nics, pod, "fast0", bdf)
    for pod in pods:
        pod.unlink()

    links = [nics.interfaces.find(bdf) for bdf in (VF, SIBLING)]
    (late,) = (link for link in links if link.name != "fast0")

    assert late.name == f"dev{late.index}"


def test_a_name_that_is_gone_on_the_host_does_not_keep_an_interface_in_the_pod(nics, namespace) -> None:
    original = WantedInterface.like(nics.interfaces.find(VF))
    moved(nics, namespace, "fast0")
    thief = nics.interfaces.find(SIBLING)
    for step in (SetUp(thief.name, False), Rename(thief.name, original.name)):
        nics.interfaces.kernel.apply(None, step)

    back = nics.interfaces.move_back(VF, original, namespace)

    assert back.name == f"dev{back.index}"
    assert nics.interfaces.find(VF, namespace) is None


def test_a_namespace_with_two_files_is_one(nics, namespace, tmp_path) -> None:
    moved(nics, namespace, "fast0")
    os.link(namespace, tmp_path / "other-name")

    assert nics.interfaces.find(VF, tmp_path / "other-name").name == "fast0"


def test_an_infiniband_interface_keeps_its_address(infiniband, namespace) -> None:
    nics = simulated_hardware(infiniband).nics
    vf = infiniband.node.nics[0].vf_address(0)

    link = nics.interfaces.move_in(vf, namespace, WantedInterface(name="ib5"))

    assert (link.name, len(link.mac)) == ("ib5", 59)
    assert answer(infiniband.kernel.apply, namespace, SetMac("ib5", "02:00:00:00:00:01")) == errno.EOPNOTSUPP


def test_other_processes_see_what_was_changed(host, nics, namespace) -> None:
    nics.functions.give_to(SIBLING, VFIO_PCI)
    nics.settings.write(PF, 0, VfSettings(vlan=9))
    moved(nics, namespace, "fast0")

    other = simulated_hardware(SimulatedMachine.attach(host.directory)).nics

    assert other.reader.binding(SIBLING).driver == VFIO_PCI
    assert other.settings.read(PF, 0).vlan == 9
    assert other.interfaces.find(VF, namespace).name == "fast0"


def test_a_reboot_makes_everything_new(host, nics, namespace) -> None:
    nics.functions.give_to(SIBLING, VFIO_PCI)
    nics.settings.write(PF, 0, VfSettings(vlan=9))
    moved(nics, namespace, "fast0")

    host.reboot()

    assert nics.reader.binding(SIBLING).driver == "mlx5_core"
    assert nics.settings.read(PF, 0).vlan == 0
    assert nics.interfaces.find(VF).name == "enp25s0v0"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("nic-0:unbind:in-use:1", InUse),
        ("machine:probe:hardware-fault:1", HardwareFault),
        ("nic-0:override-driver:timed-out:1", HardwareError),
    ],
)
def test_a_fault_of_a_nic_s_call_strikes_and_is_spent(host, nics, fault: str, error) -> None:
    host.inject(parse_fault(fault))

    with pytest.raises(error) as refusal:
        nics.functions.give_to(VF, VFIO_PCI)

    assert refusal.value.errno is not None
    assert host.faults() == ()
    nics.functions.give_to(VF, VFIO_PCI)


def test_a_fault_of_another_nic_does_not_strike(host, nics) -> None:
    host.inject(parse_fault("nic-1:unbind:in-use"))

    assert nics.functions.give_to(VF, VFIO_PCI).driver == "mlx5_core"


def test_the_uplink_of_a_node_is_needed_for_its_default_route(tmp_path) -> None:
    text = node_text("a30x4").replace('bdf: "0000:19:00.0"', 'default_route: true, bdf: "0000:19:00.0"')
    machine = SimulatedMachine.open(parse_node("uplink", text), tmp_path)
    reader = simulated_hardware(machine).nics.reader

    assert reader.needed_for_default_route(PF) == ("enp25s0",)
    assert reader.needed_for_default_route(VF) == ()


def test_a_pf_tells_the_mode_of_its_switch_where_the_node_file_does(tmp_path, nics) -> None:
    text = node_text("a30x4").replace('bdf: "0000:19:00.0"', 'eswitch: switchdev, bdf: "0000:19:00.0"')
    machine = SimulatedMachine.open(parse_node("switchdev", text), tmp_path)

    assert simulated_hardware(machine).nics.reader.eswitch_mode(PF) == "switchdev"
    assert nics.reader.eswitch_mode(PF) is None


@pytest.mark.parametrize(
    ("was", "damaged"),
    [
        ('"driver": "vfio-pci"', '"driver": "nonsense"'),
        (f'"{VF}": {{', '"0000:99:00.0": {'),
        ('"override": "vfio-pci"', '"override": "vfio-pci", "setting": {"link_state": "sideways"}'),
        ('"override": "vfio-pci"', '"override": "vfio-pci", "reads_left": -2'),
    ],
)
def test_a_damaged_state_of_a_function_is_refused(host, nics, was: str, damaged: str) -> None:
    nics.functions.give_to(VF, VFIO_PCI)
    file = host.directory / "machine.json"
    text = file.read_text()
    assert was in text
    file.write_text(text.replace(was, damaged, 1))

    with pytest.raises(NoMachine):
        SimulatedMachine.attach(host.directory)


def test_a_group_of_an_earlier_state_is_forgotten_when_the_machine_is_mended(host, nics) -> None:
    host.inject(parse_fault("nic-0:no-iommu"))
    without = (host.directory / "machine.json").read_text()
    host.clear_faults()
    (host.directory / "machine.json").write_text(without)
    (host.directory / "rendered").unlink()

    SimulatedMachine.attach(host.directory)

    assert nics.reader.iommu_group(VF) is None


def shown(root: Path) -> dict[str, object]:
    """Return what a tree shows: its links and files."""
    return {
        str(path.relative_to(root)): path.readlink()
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in root.rglob("*")
        if not (path.is_dir() and not path.is_symlink() and not any(path.iterdir()))
    }


@given(ACTS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_after_any_acts_the_files_are_those_of_a_tree_made_anew(done: list[tuple]) -> None:
    with short_folder() as folder:
        acting = Acting(Path(folder))
        for act in done:
            try:
                acting.do(act)
            except HardwareError:
                continue
        followed = shown(acting.machine.root)
        again = Path(folder) / "again"
        again.mkdir()
        shutil.copy(acting.machine.directory / "machine.json", again)
        fresh = shown(SimulatedMachine.attach(again).root)

        assert followed == fresh


@given(ACTS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_tree_of_another_state_is_mended_when_the_machine_is_attached(done: list[tuple]) -> None:
    with short_folder() as folder:
        acting = Acting(Path(folder))
        first = (acting.machine.directory / "machine.json").read_text()
        before = shown(acting.machine.root)
        for act in done:
            try:
                acting.do(act)
            except HardwareError:
                continue
        (acting.machine.directory / "machine.json").write_text(first)
        (acting.machine.directory / "rendered").unlink()

        assert shown(SimulatedMachine.attach(acting.machine.directory).root) == before
