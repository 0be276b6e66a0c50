"""The real readers, over the rendered tree of every shipped machine: they see what its node file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import NotFound
from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.hardware.simulated.schema import SwitchForm
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import Bdf, MigSpec, PciePath, PhysicalFunction


@pytest.fixture(scope="session", params=shipped_nodes())
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SimulatedMachine:
    return SimulatedMachine.open(load_node(request.param), tmp_path_factory.mktemp(request.param))


@pytest.fixture
def a100(tmp_path: Path) -> SimulatedMachine:
    return SimulatedMachine.open(load_node("a100x2"), tmp_path)


def path_of(machine: SimulatedMachine, site) -> PciePath:
    """The path that the node file's tree gives a site."""
    folders = site.folder.removeprefix("sys/devices/").split("/")[:-1]
    at = max(number for number, folder in enumerate(folders) if folder.startswith("pci"))
    root, *bridges = folders[at:]
    switches = {bridge.bdf for bridge in machine.node.bridges if isinstance(bridge.form, SwitchForm)}
    above = [Bdf(bdf) for bdf in bridges]
    return PciePath(root, above[0] if above else None, tuple(bdf for bdf in above if bdf in switches))


def test_every_gpu_hangs_where_the_node_file_hangs_it(machine: SimulatedMachine) -> None:
    for card in machine.node.cards:
        function = Sysfs(machine.root).function(card.site.bdf)

        assert function.path == path_of(machine, card.site)
        assert function.numa_node == card.site.numa_node
        assert (function.vendor_id, function.device_id) == (
            card.model.pci_vendor_id,
            card.model.pci_device_id,
        )


def test_every_nic_hangs_where_the_node_file_hangs_it(machine: SimulatedMachine) -> None:
    nics = Sysfs(machine.root).nics()

    for nic, pf in zip(machine.node.nics, nics, strict=True):
        assert isinstance(pf, PhysicalFunction)
        assert (pf.function.bdf, pf.link_type or "unspecified") == (nic.bdf, nic.form.link)
        assert pf.function.path == path_of(machine, nic.site)
        assert pf.function.numa_node == nic.site.numa_node
        assert pf.function.device_id == nic.model.pf_device_id


def test_every_pf_has_the_vfs_of_the_node_file_in_order(machine: SimulatedMachine) -> None:
    nics = Sysfs(machine.root).nics()

    for nic, pf in zip(machine.node.nics, nics, strict=True):
        assert isinstance(pf, PhysicalFunction)
        assert pf.total_vfs == nic.form.total_vfs
        assert [vf.function.bdf for vf in pf.vfs] == [nic.vf_address(index) for index in range(nic.form.vfs)]
        assert all(vf.function.path == pf.function.path for vf in pf.vfs)


def test_every_function_of_a_nic_has_interfaces_of_its_own(machine: SimulatedMachine) -> None:
    pfs = [pf for pf in Sysfs(machine.root).nics() if isinstance(pf, PhysicalFunction)]
    functions = [function for pf in pfs for function in (pf, *pf.vfs)]

    interfaces = [function.netdev for function in functions if function.netdev]
    has_interfaces = all(nic.model.has_interface for nic in machine.node.nics)
    assert len(interfaces) == len(set(interfaces)) == (len(functions) if has_interfaces else 0)
    assert all(function.rdma_device for function in functions)
    assert len({function.rdma_device for function in functions}) == len(functions)


def test_the_sites_of_the_node_file_and_their_vfs_are_all_there_is(machine: SimulatedMachine) -> None:
    sites = [*machine.node.bridges, *(each.site for each in (*machine.node.cards, *machine.node.nics))]
    vfs = [nic.vf_address(index) for nic in machine.node.nics for index in range(nic.form.vfs)]

    assert set(Sysfs(machine.root).addresses()) == {*(site.bdf for site in sites), *vfs}


def test_every_gpu_has_its_nodes_and_the_driver_its_libraries(machine: SimulatedMachine) -> None:
    driver, files = machine.node.document.driver, DriverRoot(machine.root)
    if driver is None:
        with pytest.raises(NotFound):
            files.control_nodes()
        return

    nodes = [
        *files.control_nodes(),
        *(node for card in machine.node.cards for node in files.gpu_nodes(card.minor)),
    ]
    names = {Path(file.path).name for file in files.libraries(driver.version)}

    assert all(node.host_path and node.host_path.exists() for node in nodes)
    assert {"libcuda.so.1", f"libcuda.so.{driver.version}", "libnvidia-ml.so.1", "nvidia-smi"} <= names


def test_an_instance_has_capability_nodes_as_long_as_it_lives(a100: SimulatedMachine) -> None:
    card, files = a100.node.cards[1], DriverRoot(a100.root)
    profile = card.model.profiles[0]
    a100.gpus.set_mig_mode(card.uuid, True)
    gi_id = a100.gpus.create_gpu_instance(MigSpec(card.uuid, profile.profile_id, profile.placements[0]))
    ci_id = a100.gpus.create_compute_instance(card.uuid, gi_id).ci_id

    nodes = files.instance_nodes(card.minor, gi_id, ci_id)
    a100.gpus.destroy_compute_instance(card.uuid, gi_id, ci_id)

    assert all(node.host_path == a100.root / node.path.removeprefix("/") for node in nodes)
    with pytest.raises(NotFound):
        files.instance_nodes(card.minor, gi_id, ci_id)


def test_vfs_come_and_go_with_their_number(tmp_path: Path) -> None:
    machine = SimulatedMachine.open(load_node("l40s"), tmp_path)
    pf = machine.node.nics[0].bdf

    machine.set_vfs(pf, 0)
    (none, *_) = Sysfs(machine.root).nics()
    machine.set_vfs(pf, 8)
    (all_, *_) = Sysfs(machine.root).nics()

    assert isinstance(none, PhysicalFunction)
    assert isinstance(all_, PhysicalFunction)
    assert (len(none.vfs), len(all_.vfs)) == (0, 8)


def test_a_reboot_changes_the_boot_id_and_nothing_else_does(a100: SimulatedMachine) -> None:
    boot = ProcBoot(a100.root)
    first = boot.boot_id()

    a100.gpus.set_mig_mode(a100.node.cards[0].uuid, True)
    before = boot.boot_id()
    a100.reboot()

    assert before == first
    assert boot.boot_id() != first
