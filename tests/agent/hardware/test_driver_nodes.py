"""The device nodes that a driver offers, in hand-made roots."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.hardware.driver.nodes import DriverNodes
from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import NotFound
from agent.hardware.types import Bdf, DeviceNode

DEVICES = (
    "Character devices:\n  1 mem\n195 nvidia-frontend\n507 nvidia-caps\n511 nvidia-uvm\n\n"
    "Block devices:\n  8 sd\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A driver with one GPU, and the instance GI 3 with CI 0 on it."""
    for node in ("nvidiactl", "nvidia0"):
        write(tmp_path / "dev" / node)
    write(tmp_path / "proc/devices", DEVICES)
    instance = tmp_path / "proc/driver/nvidia/capabilities/gpu0/mig/gi3"
    write(instance / "access", "DeviceFileMinor: 30\nDeviceFileMode: 256\nDeviceFileModify: 1\n")
    write(instance / "ci0/access", "DeviceFileMinor: 31\nDeviceFileMode: 256\nDeviceFileModify: 1\n")
    return tmp_path


def write(file: Path, content: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def test_a_gpus_node_is_the_one_of_its_minor(root: Path) -> None:
    assert DriverNodes(root).gpu_nodes(0) == (DeviceNode("/dev/nvidia0", root / "dev/nvidia0"),)


def test_a_gpu_without_a_node_is_not_found_and_the_operator_is_told(root: Path) -> None:
    with pytest.raises(NotFound, match=r"/dev/nvidia7.*the operator must load the driver"):
        DriverNodes(root).gpu_nodes(7)


def test_a_monitor_gets_its_capability_and_those_of_a_gpus_instances_by_number(root: Path) -> None:
    write(root / "proc/driver/nvidia/capabilities/mig/monitor", "DeviceFileMinor: 2\nDeviceFileMode: 256\n")
    write(root / "proc/driver/nvidia/capabilities/gpu1/mig/gi5/access", "DeviceFileMinor: 99\n")
    write(root / "dev/nvidia-caps/nvidia-cap30")

    assert DriverNodes(root).monitoring_nodes(0) == tuple(
        DeviceNode(f"/dev/nvidia-caps/nvidia-cap{minor}", None, 507, minor) for minor in (2, 30, 31)
    )


def test_a_driver_without_mig_has_nothing_for_a_monitor(tmp_path: Path) -> None:
    assert DriverNodes(tmp_path).monitoring_nodes(0) == ()


def test_a_driver_container_with_nodes_of_its_own_is_asked_for_them(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "run/driver"):
        write(root / "dev/nvidiactl")

    (node,) = DriverRoot.installed(Path("/run/driver"), tmp_path).control_nodes()

    assert node.host_path == tmp_path / "run/driver/dev/nvidiactl"


def test_control_nodes_are_those_that_exist(root: Path) -> None:
    assert [node.path for node in DriverNodes(root).control_nodes()] == ["/dev/nvidiactl"]

    write(root / "dev/nvidia-modeset")

    assert [node.path for node in DriverNodes(root).control_nodes()] == [
        "/dev/nvidiactl",
        "/dev/nvidia-modeset",
    ]


def test_nodes_of_unified_memory_that_nobody_made_are_described_by_their_numbers(root: Path) -> None:
    assert DriverNodes(root).compute_nodes() == (
        DeviceNode("/dev/nvidia-uvm", None, 511, 0),
        DeviceNode("/dev/nvidia-uvm-tools", None, 511, 1),
    )


def test_nodes_of_unified_memory_with_other_numbers_are_the_hosts(root: Path) -> None:
    for node in ("nvidia-uvm", "nvidia-uvm-tools"):
        write(root / "dev" / node)

    assert [node.host_path for node in DriverNodes(root).compute_nodes()] == [
        root / "dev/nvidia-uvm",
        root / "dev/nvidia-uvm-tools",
    ]


def test_nodes_of_unified_memory_are_described_alike_before_and_after_somebody_made_them(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = DriverNodes(root).compute_nodes()
    write(root / "dev/nvidia-uvm")
    monkeypatch.setattr("agent.hardware.driver.nodes._numbers", lambda _: (511, 0))

    assert DriverNodes(root).compute_nodes() == before


def test_without_the_module_for_unified_memory_nothing_computes_and_the_operator_is_told(root: Path) -> None:
    write(root / "proc/devices", DEVICES.replace("511 nvidia-uvm\n", ""))

    with pytest.raises(NotFound, match=r"/dev/nvidia-uvm.*has no nvidia-uvm.*load.*module nvidia-uvm"):
        DriverNodes(root).compute_nodes()


def test_a_gpus_drm_nodes_are_those_of_its_pci_function(root: Path) -> None:
    for name in ("card1", "renderD128", "controlD64"):
        write(root / "sys/bus/pci/devices/0000:3b:00.0/drm" / name / "dev")
    for name in ("card0", "card1", "renderD128", "renderD129"):
        write(root / "dev/dri" / name)

    nodes = DriverNodes(root).graphics_nodes(Bdf("0000:3b:00.0"))

    assert [node.path for node in nodes] == ["/dev/dri/card1", "/dev/dri/renderD128"]


def test_a_gpu_whose_driver_has_no_graphics_has_no_drm_nodes(root: Path) -> None:
    write(root / "sys/bus/pci/devices/0000:3b:00.0/drm/card1/dev")

    assert DriverNodes(root).graphics_nodes(Bdf("0000:3b:00.0")) == ()
    assert DriverNodes(root).graphics_nodes(Bdf("0000:86:00.0")) == ()


def test_no_gpu_is_usable_without_nvidiactl(root: Path) -> None:
    (root / "dev/nvidiactl").unlink()

    with pytest.raises(NotFound, match="/dev/nvidiactl"):
        DriverNodes(root).control_nodes()


def test_capability_nodes_that_are_not_there_are_described_by_numbers(root: Path) -> None:
    nodes = DriverNodes(root).instance_nodes(0, 3, 0)

    assert nodes == (
        DeviceNode("/dev/nvidia-caps/nvidia-cap30", None, 507, 30),
        DeviceNode("/dev/nvidia-caps/nvidia-cap31", None, 507, 31),
    )


def test_capability_nodes_that_are_there_are_used(root: Path) -> None:
    write(root / "dev/nvidia-caps/nvidia-cap30")
    write(root / "dev/nvidia-caps/nvidia-cap31")
    (root / "proc/devices").unlink()

    nodes = DriverNodes(root).instance_nodes(0, 3, 0)

    assert [node.host_path for node in nodes] == [
        root / "dev/nvidia-caps/nvidia-cap30",
        root / "dev/nvidia-caps/nvidia-cap31",
    ]


@pytest.mark.parametrize("instance", [(1, 3, 0), (0, 4, 0), (0, 3, 1)])
def test_an_instance_without_capabilities_is_not_found(root: Path, instance: tuple[int, int, int]) -> None:
    with pytest.raises(NotFound, match="capabilities/gpu"):
        DriverNodes(root).instance_nodes(*instance)


def test_a_block_device_of_that_name_has_no_capability_major(root: Path) -> None:
    write(root / "proc/devices", "Character devices:\n  1 mem\n\nBlock devices:\n507 nvidia-caps\n")

    with pytest.raises(NotFound, match="has no nvidia-caps"):
        DriverNodes(root).instance_nodes(0, 3, 0)
