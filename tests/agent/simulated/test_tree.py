"""The rendered tree, seen through the readers that read real machines."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import NotFound
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.hardware.simulated.driver_tree import capability_minor
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import Bdf, PciePath, Placement


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory):
    """The machine of a name, opened once for the tests that only look."""
    opened: dict[str, SimulatedMachine] = {}

    def of(name: str) -> SimulatedMachine:
        if name not in opened:
            opened[name] = SimulatedMachine.open(load_node(name), tmp_path_factory.mktemp(name))
        return opened[name]

    return of


@pytest.mark.parametrize("name", shipped_nodes())
def test_sysfs_has_every_gpu_where_the_driver_says_it_is(tree, name: str) -> None:
    machine = tree(name)
    sysfs = Sysfs(machine.root)

    for card in machine.node.cards:
        function = sysfs.function(card.site.bdf)

        assert (function.vendor_id, function.device_id) == ("10de", card.model.pci_device_id)
        assert (function.class_code, function.driver) == ("030200", "nvidia")
        assert function.numa_node == card.site.numa_node


@pytest.mark.parametrize("name", shipped_nodes())
def test_sysfs_has_every_nic_with_its_vfs(tree, name: str) -> None:
    machine = tree(name)

    nics = Sysfs(machine.root).nics()

    assert [nic.function.bdf for nic in nics] == [nic.bdf for nic in machine.node.nics]
    for seen, meant in zip(nics, machine.node.nics, strict=True):
        assert (seen.total_vfs, len(seen.vfs)) == (meant.form.total_vfs, meant.form.vfs)
        assert [vf.function.bdf for vf in seen.vfs] == [
            meant.vf_address(index) for index in range(meant.form.vfs)
        ]
        assert (seen.link_type or "unspecified") == meant.form.link
        assert {vf.function.device_id for vf in seen.vfs} <= {meant.model.vf_device_id}


def test_every_network_and_rdma_device_has_a_name_of_its_own(tree) -> None:
    nics = Sysfs(tree("hgx-h100").root).nics()
    functions = [*nics, *(vf for nic in nics for vf in nic.vfs)]

    assert len({function.netdev for function in functions}) == len(functions) == 72
    assert len({function.rdma_device for function in functions}) == 72
    assert all(len(function.netdev) < 16 for function in functions)


def test_the_two_ports_of_a_card_share_its_id(tree) -> None:
    first, second = Sysfs(tree("a30x4").root).nics()

    assert first.card_id == second.card_id
    assert first.card_id.count(":") == 3


def test_a_function_below_a_switch_is_told_its_whole_path(tree) -> None:
    sysfs = Sysfs(tree("dgx-a100").root)

    gpu, nic = sysfs.function(Bdf("0000:07:00.0")), sysfs.function(Bdf("0000:12:00.0"))

    top, below = Bdf("0000:01:00.0"), Bdf("0000:05:00.0")
    assert gpu.path == PciePath("pci0000:00", Bdf("0000:00:01.1"), (top, below))
    assert nic.path == PciePath("pci0000:00", Bdf("0000:00:01.1"), (top,))
    assert gpu.numa_node == nic.numa_node == 3


def test_a_function_below_a_root_port_has_no_switch(tree) -> None:
    function = Sysfs(tree("a30x4").root).function(Bdf("0000:17:00.0"))

    assert function.path == PciePath("pci0000:16", Bdf("0000:16:02.0"))


def test_one_root_complex_need_not_be_one_switch(tree) -> None:
    machine = tree("hgx-h200")
    paths = [Sysfs(machine.root).function(card.site.bdf).path for card in machine.node.cards]

    assert len({path.root_complex for path in paths}) == 4
    assert len({path.switches for path in paths}) == 8


def test_a_vf_lies_beside_its_pf(tree) -> None:
    for nic in Sysfs(tree("dgx-a100").root).nics():
        assert {vf.function.path for vf in nic.vfs} == {nic.function.path}


def test_numa_nodes_have_their_cpus_distances_and_socket(tree) -> None:
    system = tree("dgx-a100").root / "sys/devices/system"

    assert (system / "node/node3/distance").read_text() == "12 12 12 10 32 32 32 32\n"
    assert (system / "node/node3/cpulist").read_text() == "48-63,176-191\n"
    assert (system / "cpu/cpu48/topology/physical_package_id").read_text() == "0\n"
    assert (system / "cpu/cpu64/topology/physical_package_id").read_text() == "1\n"


def test_rdma_devices_have_what_their_consumers_read(tree) -> None:
    root = tree("dgx-a100").root
    nic = Sysfs(root).nics()[0]
    device = root / "sys/class/infiniband" / nic.vfs[0].rdma_device
    of_pf = root / "sys/class/infiniband" / nic.rdma_device

    assert (device / "node_type").read_text() == "1: CA\n"
    assert (of_pf / "ports/1/state").read_text() == "4: ACTIVE\n"
    assert (of_pf / "node_guid").read_text() != (device / "node_guid").read_text()
    assert (device / "ports/1/state").read_text() == "4: ACTIVE\n"
    assert (device / "ports/1/link_layer").read_text() == "InfiniBand\n"
    assert (device / "device").resolve().name == nic.vfs[0].function.bdf
    verbs = [
        folder
        for folder in (root / "sys/class/infiniband_verbs").iterdir()
        if (folder / "ibdev").read_text().strip() == nic.vfs[0].rdma_device
    ]
    assert len(verbs) == 1
    assert (root / "dev/infiniband" / verbs[0].name).exists()


def test_the_number_of_a_uverbs_device_is_not_that_of_its_rdma_device(tree) -> None:
    folders = (tree("dgx-a100").root / "sys/class/infiniband_verbs").iterdir()
    pairs = {folder.name: (folder / "ibdev").read_text().strip() for folder in folders}

    assert any(name.removeprefix("uverbs") != ibdev.removeprefix("mlx5_") for name, ibdev in pairs.items())


@pytest.mark.parametrize("name", [name for name in shipped_nodes() if name != "no-gpu"])
def test_a_container_finds_the_drivers_files(tree, name: str) -> None:
    machine = tree(name)
    files = DriverRoot(machine.root)

    assert [node.path for node in files.control_nodes()] == [
        "/dev/nvidiactl",
        "/dev/nvidia-modeset",
    ]
    assert [node.path for node in files.compute_nodes()] == ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
    for card in machine.node.cards:
        assert [node.path for node in files.gpu_nodes(card.minor)] == [f"/dev/nvidia{card.minor}"]
        assert [node.path for node in files.graphics_nodes(card.site.bdf)] == [
            f"/dev/dri/card{card.minor + 1}",
            f"/dev/dri/renderD{128 + card.minor}",
        ]
    paths = {file.path for file in files.libraries(machine.gpus.versions().driver)}
    assert "/usr/lib/x86_64-linux-gnu/libcuda.so.1" in paths
    assert "/usr/bin/nvidia-smi" in paths


def test_a_machine_without_a_driver_has_none_of_its_files(tree) -> None:
    root = tree("no-gpu").root

    assert not (root / "proc/driver").exists()
    assert "nvidia" not in (root / "proc/devices").read_text()
    with pytest.raises(NotFound):
        DriverRoot(root).control_nodes()


def test_device_nodes_are_null_devices_that_anybody_may_use(tree) -> None:
    for path in ("dev/nvidia0", "dev/nvidiactl", "dev/infiniband/uverbs0"):
        mode = (tree("dgx-a100").root / path).stat()

        assert stat.S_IMODE(mode.st_mode) == 0o666
        if not stat.S_ISCHR(mode.st_mode):
            pytest.skip("this process may make no devices: plain files stand in")
        assert (mode.st_rdev >> 8, mode.st_rdev & 0xFF) == (1, 3)


def test_an_instance_brings_its_capabilities_and_takes_them_along(cut, machine) -> None:
    cutter, files = cut(), DriverRoot(machine().root)
    gi_id, _ = cutter.partition("1g.5gb", 2)

    gi_node, ci_node = files.instance_nodes(0, gi_id, 0)
    cutter.destroy(gi_id)

    assert (gi_node.path, ci_node.path) == ("/dev/nvidia-caps/nvidia-cap84", "/dev/nvidia-caps/nvidia-cap85")
    assert not gi_node.host_path.exists()
    with pytest.raises(NotFound):
        files.instance_nodes(0, gi_id, 0)


def test_a_gi_without_a_ci_has_a_capability_of_its_own_only(cut, machine) -> None:
    cutter = cut(index=1)
    gi_id = cutter.create("3g.20gb", 4)

    folder = machine().root / f"proc/driver/nvidia/capabilities/gpu1/mig/gi{gi_id}"

    assert (folder / "access").read_text() == (
        f"DeviceFileMinor: {capability_minor(1, gi_id)}\nDeviceFileMode: 292\nDeviceFileModify: 1\n"
    )
    assert not (folder / "ci0").exists()


def test_every_narrow_ci_has_a_capability_of_its_own(cut, machine) -> None:
    gpu = cut()
    folder = machine().root / "proc/driver/nvidia/capabilities/gpu0/mig"
    gi_id = gpu.create("3g.20gb", 0)
    made = [gpu.gpus.create_compute_instance(gpu.uuid, gi_id, Placement(at, 1)) for at in range(3)]

    all_three = sorted(path.name for path in (folder / f"gi{gi_id}").iterdir())
    gpu.gpus.destroy_compute_instance(gpu.uuid, gi_id, made[1].ci_id)
    without_one = sorted(path.name for path in (folder / f"gi{gi_id}").iterdir())
    again = gpu.gpus.create_compute_instance(gpu.uuid, gi_id, Placement(1, 1))

    assert all_three == ["access", "ci0", "ci1", "ci2"]
    assert without_one == ["access", "ci0", "ci2"]
    assert (again.ci_id, again.uuid != made[1].uuid) == (1, True)


def test_capability_minors_follow_the_drivers_table(tree) -> None:
    table = (tree("a100x2").root / "proc/driver/nvidia-caps/mig-minors").read_text().splitlines()

    assert table[:4] == ["config 1", "monitor 2", "gpu0/gi0/access 3", "gpu0/gi0/ci0/access 4"]
    assert "gpu3/gi3/ci3/access 439" in table
    assert table[-1] == "gpu31/gi14/ci7/access 4322"


def test_a_reboot_takes_the_capabilities_along(cut, machine) -> None:
    cutter, host = cut(), machine()
    cutter.partition("1g.5gb", 0)

    host.reboot()

    assert list((host.root / "proc/driver/nvidia/capabilities/gpu0/mig").iterdir()) == []
    assert sorted(path.name for path in (host.root / "dev/nvidia-caps").iterdir()) == [
        "nvidia-cap1",
        "nvidia-cap2",
    ]


def test_rendering_again_changes_nothing(machine) -> None:
    host = machine("a30x4")
    before = inventory(host.root)
    (host.directory / "rendered").unlink()

    SimulatedMachine.attach(host.directory)

    assert inventory(host.root) == before


def inventory(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_ino, path.lstat().st_mtime_ns)
        for path in root.rglob("*")
    }
