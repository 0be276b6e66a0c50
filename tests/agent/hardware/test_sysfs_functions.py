"""PCI functions of odd machines."""

from __future__ import annotations

import pytest

from agent.hardware.errors import HardwareFault, NotFound
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import Bdf, PciePath


def test_a_function_says_what_it_is_and_where_it_hangs(tree) -> None:
    path = "pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:04.0/0000:3d:00.0"
    tree.bridges(path, 4, 5, 6)
    folder = tree.function(path, numa_node="1")
    (folder / "driver").symlink_to("../../../../../bus/pci/drivers/mlx5_core")

    function = tree.sysfs.function(Bdf("0000:3d:00.0"))

    assert (function.vendor_id, function.device_id, function.class_code) == ("15b3", "101b", "020000")
    assert (function.numa_node, function.driver) == (1, "mlx5_core")
    assert function.path == PciePath("pci0000:3a", Bdf("0000:3a:00.0"), (Bdf("0000:3b:00.0"),))


def test_a_vmd_domain_of_five_digits_is_an_address_like_any_other(tree) -> None:
    tree.bridges("pci0000:00/0000:00:0e.0", None)
    tree.function("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0/10000:e1:00.0")

    function = tree.sysfs.function(Bdf("10000:e1:00.0"))

    assert function.path == PciePath("pci10000:e0", Bdf("10000:e0:01.0"))
    assert tree.sysfs.addresses() == ("0000:00:0e.0", "10000:e1:00.0")


@pytest.mark.parametrize("numa_node", ["-1", "", "none"])
def test_an_unknown_numa_node_is_none(tree, numa_node: str) -> None:
    tree.function("pci0000:00/0000:00:02.0", numa_node=numa_node)

    assert tree.sysfs.function(Bdf("0000:00:02.0")).numa_node is None


def test_a_function_without_a_driver_has_none(tree) -> None:
    tree.function("pci0000:00/0000:00:02.0")

    assert tree.sysfs.function(Bdf("0000:00:02.0")).driver is None


def test_bridges_without_a_readable_config_are_counted(tree) -> None:
    path = "pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:04.0/0000:3d:00.0"
    tree.bridges(path, None, None, None)
    tree.function(path)

    assert tree.sysfs.function(Bdf("0000:3d:00.0")).path.switches == ("0000:3b:00.0",)


def test_port_types_are_believed_over_counting(tree) -> None:
    path = "pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:04.0/0000:3d:00.0"
    tree.bridges(path, 4, 7, 7)
    tree.function(path)

    assert tree.sysfs.function(Bdf("0000:3d:00.0")).path.switches == ()


def test_an_unknown_address_is_not_found(tree) -> None:
    with pytest.raises(NotFound, match="0000:99"):
        tree.sysfs.function(Bdf("0000:99:00.0"))


def test_a_link_that_leads_nowhere_is_not_found(tree) -> None:
    (tree.listing / "0000:3b:00.0").symlink_to("../../../devices/pci0000:3a/0000:3b:00.0")

    with pytest.raises(NotFound, match="does not exist"):
        tree.sysfs.function(Bdf("0000:3b:00.0"))


def test_a_link_that_leads_to_itself_is_not_found(tree) -> None:
    (tree.listing / "0000:3b:00.0").symlink_to("0000:3b:00.0")

    with pytest.raises(NotFound):
        tree.sysfs.function(Bdf("0000:3b:00.0"))


def test_an_empty_identifier_is_a_fault_of_the_machine(tree) -> None:
    tree.function("pci0000:00/0000:00:02.0", vendor="")

    with pytest.raises(HardwareFault, match="vendor is empty"):
        tree.sysfs.function(Bdf("0000:00:02.0"))


def test_a_machine_without_pci_has_no_functions(tmp_path) -> None:
    assert Sysfs(tmp_path).addresses() == ()
    assert Sysfs(tmp_path).nics() == ()


def test_this_machine_can_be_read_too() -> None:
    sysfs = Sysfs()

    functions = [sysfs.function(bdf) for bdf in sysfs.addresses()]

    assert all(len(function.class_code) == 6 for function in functions)
    assert isinstance(sysfs.nics(), tuple)
