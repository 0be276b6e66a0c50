"""What preparing a NIC must know is read from files as kernels write them."""

from __future__ import annotations

import pytest

from agent.hardware.errors import NotFound, NotThereYet
from agent.hardware.nics.reading.sysfs_nics import SysfsNics
from agent.hardware.nics.types import DriverBinding, VfCount
from agent.hardware.types import Bdf

PF, VF = Bdf("0000:3b:00.0"), Bdf("0000:3b:00.2")
BELOW = f"pci0000:3a/0000:3a:01.0/{PF}"
BESIDE = f"pci0000:3a/0000:3a:01.0/{VF}"


@pytest.fixture
def reader(tree) -> SysfsNics:
    return SysfsNics(tree.root)


@pytest.fixture
def pair(tree) -> None:
    """A PF with one VF."""
    tree.function(BELOW, sriov_numvfs="1", sriov_totalvfs="8", driver_override="(null)")
    tree.virtual_function(PF, 0, BESIDE, driver_override="vfio-pci")


def character_device(tree, kind: str, name: str, ibdev: str, numbers: str) -> None:
    folder = tree.folder(VF) / kind / name
    tree.write(folder / "ibdev", ibdev)
    tree.write(folder / "dev", numbers)


def driven(tree, bdf: Bdf, driver: str) -> None:
    (tree.root / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
    (tree.folder(bdf) / "driver").symlink_to(f"../../../../bus/pci/drivers/{driver}")


def grouped(tree, number: int, *members: Bdf, **files: str) -> None:
    folder = tree.root / "sys/kernel/iommu_groups" / str(number)
    for name, content in files.items():
        tree.write(folder / name, content)
    for bdf in members:
        (folder / "devices").mkdir(parents=True, exist_ok=True)
        (folder / "devices" / bdf).symlink_to(tree.folder(bdf))
        (tree.folder(bdf) / "iommu_group").symlink_to(folder)


def test_a_pf_and_its_vf_know_each_other(pair, reader) -> None:
    assert reader.vf_count(PF) == VfCount(1, 8)
    assert reader.virtual_function(PF, 0) == VF
    assert reader.virtual_function(PF, 1) is None
    assert reader.parent(VF) == (PF, 0)
    assert reader.parent(PF) is None


def test_an_override_that_is_not_set_is_none(pair, reader) -> None:
    assert reader.binding(PF) == DriverBinding(None, None)
    assert reader.binding(VF) == DriverBinding(None, "vfio-pci")


def test_a_function_that_is_gone_is_not_found(tree, reader) -> None:
    for ask in (reader.vf_count, reader.binding, reader.rdma_devices, reader.iommu_group):
        with pytest.raises(NotFound):
            ask(VF)


def test_uverbs_are_found_by_ibdev_and_numbered_by_dev(pair, tree, reader) -> None:
    tree.rdma_device("mlx5_7", BESIDE)
    character_device(tree, "infiniband_verbs", "uverbs1", "mlx5_0", "231:193")
    character_device(tree, "infiniband_verbs", "uverbs2", "mlx5_7", "511:2")
    character_device(tree, "infiniband_mad", "umad4", "mlx5_7", "231:4")
    character_device(tree, "infiniband_mad", "issm4", "mlx5_7", "231:68")
    tree.write(tree.root / "sys/class/misc/rdma_cm/dev", "10:122")
    tree.write(tree.root / "dev/infiniband/uverbs2", "")

    (device,) = reader.rdma_devices(VF)

    assert device.name == "mlx5_7"
    assert (device.verbs.path, device.verbs.major, device.verbs.minor) == ("/dev/infiniband/uverbs2", 511, 2)
    assert device.verbs.host_path == tree.root / "dev/infiniband/uverbs2"
    assert [node.path for node in device.management] == ["/dev/infiniband/umad4"]
    assert [node.path for node in device.subnet] == ["/dev/infiniband/issm4"]
    assert (device.connection_manager.minor, device.connection_manager.host_path) == (122, None)


def test_several_rdma_devices_of_one_function_are_all_listed(pair, tree, reader) -> None:
    tree.rdma_device("mlx5_1", BESIDE)
    tree.rdma_device("mlx5_0", BESIDE)

    assert [device.name for device in reader.rdma_devices(VF)] == ["mlx5_0", "mlx5_1"]
    assert all(device.verbs is None for device in reader.rdma_devices(VF))


def test_a_group_is_blocked_by_host_drivers_alone(pair, tree, reader) -> None:
    bridge, stub, bare = Bdf("0000:3a:01.0"), Bdf("0000:3b:00.4"), Bdf("0000:3b:00.5")
    tree.function("pci0000:3a/0000:3a:01.0")
    variant = Bdf("0000:3b:00.6")
    for bdf in (stub, bare, variant):
        tree.function(f"pci0000:3a/0000:3a:01.0/{bdf}")
    for bdf, driver in (
        (PF, "mlx5_core"),
        (VF, "mlx5_core"),
        (variant, "mlx5_vfio_pci"),
        (bridge, "pcieport"),
        (stub, "pci-stub"),
    ):
        driven(tree, bdf, driver)
    grouped(tree, 7, PF, VF, bridge, stub, bare, variant, type="DMA-FQ")

    group = reader.iommu_group(VF)

    assert (group.number, group.kind, len(group.members)) == (7, "DMA-FQ", 6)
    assert [member.bdf for member in group.blockers(VF)] == [PF]
    assert group.blockers(VF, PF) == ()


def test_without_an_iommu_there_is_no_group(pair, reader) -> None:
    assert reader.iommu_group(VF) is None
    with pytest.raises(NotThereYet):
        reader.vfio_nodes(VF)


def test_vfio_s_nodes_are_the_container_the_group_and_those_of_iommufd(pair, tree, reader) -> None:
    grouped(tree, 7, VF)
    tree.write(tree.root / "sys/class/misc/vfio/dev", "10:196")
    with pytest.raises(NotThereYet):
        reader.vfio_nodes(VF)
    tree.write(tree.root / "sys/class/vfio/7/dev", "241:0")
    without = reader.vfio_nodes(VF)
    tree.write(tree.root / "sys/class/misc/iommu/dev", "10:124")
    tree.write(tree.folder(VF) / "vfio-dev/vfio3/dev", "510:3")

    nodes = reader.vfio_nodes(VF)

    assert without.iommufd is None
    assert (nodes.container.path, nodes.group.path) == ("/dev/vfio/vfio", "/dev/vfio/7")
    assert [node.path for node in nodes.iommufd] == ["/dev/iommu", "/dev/vfio/devices/vfio3"]


def test_without_an_iommu_vfio_s_node_has_another_name_on_the_host(pair, tree, reader) -> None:
    grouped(tree, 0, VF, name="vfio-noiommu")
    tree.write(tree.root / "sys/class/misc/vfio/dev", "10:196")
    tree.write(tree.root / "sys/class/vfio/noiommu-0/dev", "241:0")
    tree.write(tree.root / "dev/vfio/noiommu-0", "")

    group = reader.vfio_nodes(VF).group

    assert not reader.iommu_group(VF).has_iommu
    assert not reader.iommu_groups({VF: "vfio-pci"})[VF].has_iommu
    assert (group.path, group.host_path) == ("/dev/vfio/0", tree.root / "dev/vfio/noiommu-0")


def test_an_interface_has_its_name_address_mtu_and_state(pair, tree, reader) -> None:
    tree.netdev(
        "ens1v0", BESIDE, address="02:00:00:00:00:01", mtu="9000", operstate="down", ifindex="7", type="32"
    )

    (found,) = reader.interfaces(VF)

    assert (found.name, found.index, found.mac, found.mtu) == ("ens1v0", 7, "02:00:00:00:00:01", 9000)
    assert (found.state, found.link_type) == ("down", "infiniband")


def test_the_uplink_comes_before_its_representors(pair, tree, reader) -> None:
    for name, port in (("eth0", "pf0vf0"), ("eth1", "p0")):
        tree.netdev(name, BELOW, address="02:00:00:00:00:01", ifindex="1", phys_port_name=port)

    assert [found.name for found in reader.interfaces(PF)] == ["eth1", "eth0"]


def test_the_mode_of_the_switch_comes_from_the_driver_package_s_file(pair, tree, reader) -> None:
    tree.netdev("ens1", BELOW, address="x", ifindex="1", **{"compat/devlink/mode": "switchdev"})

    assert reader.eswitch_mode(PF) == "switchdev"


def test_a_switch_id_means_switchdev(pair, tree, reader) -> None:
    tree.netdev("ens1", BELOW, address="x", ifindex="1", phys_switch_id="b8599f0300c123aa")

    assert reader.eswitch_mode(PF) == "switchdev"


def test_a_driver_that_tells_no_mode_in_files_is_asked(pair, tree) -> None:
    tree.netdev("ens1", BELOW, address="x", ifindex="1")

    assert SysfsNics(tree.root, {PF: "legacy"}.get).eswitch_mode(PF) == "legacy"
    assert SysfsNics(tree.root).eswitch_mode(PF) is None
