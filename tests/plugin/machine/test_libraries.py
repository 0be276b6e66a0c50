"""The cache of the driver's libraries: never older than the driver or the files."""

from __future__ import annotations

from pathlib import Path

from agent.hardware.types import Bdf, DeviceNode, HostFile
from plugin.machine.libraries import RememberedFiles


class Files:
    """Driver files in a folder: one library for each version; counts how often they are searched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.searches = 0

    def libraries(self, driver_version: str) -> tuple[HostFile, ...]:
        self.searches += 1
        found = self.folder.glob(f"*.{driver_version}")
        return tuple(HostFile(f"/usr/lib/{path.name}", path) for path in found)

    def gpu_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        return (DeviceNode(f"/dev/nvidia{minor}", None),)

    def control_nodes(self) -> tuple[DeviceNode, ...]:
        return (DeviceNode("/dev/nvidiactl", None),)

    def compute_nodes(self) -> tuple[DeviceNode, ...]:
        return (DeviceNode("/dev/nvidia-uvm", None),)

    def graphics_nodes(self, bdf: Bdf) -> tuple[DeviceNode, ...]:
        return (DeviceNode(f"/dev/dri/by-path/pci-{bdf}-card", None),)

    def sockets(self) -> tuple[HostFile, ...]:
        return (HostFile("/run/socket", self.folder / "socket", is_socket=True),)

    def instance_nodes(self, minor: int, gi_id: int, ci_id: int) -> tuple[DeviceNode, DeviceNode]:
        return DeviceNode(f"/dev/gi{gi_id}", None), DeviceNode(f"/dev/ci{ci_id}", None)


def test_libraries_are_searched_once_for_each_version(tmp_path: Path) -> None:
    for version in ("560", "570"):
        (tmp_path / f"libcuda.so.{version}").touch()
    files = Files(tmp_path)
    remembered = RememberedFiles(files)

    found = [remembered.libraries(version)[0].host_path.name for version in ("560", "560", "570", "570")]

    assert found == ["libcuda.so.560"] * 2 + ["libcuda.so.570"] * 2
    assert files.searches == 2


def test_a_library_that_was_removed_is_searched_again(tmp_path: Path) -> None:
    for name in ("libcuda.so.560", "libother.so.560"):
        (tmp_path / name).touch()
    remembered = RememberedFiles(Files(tmp_path))
    remembered.libraries("560")

    (tmp_path / "libother.so.560").unlink()

    assert [file.path for file in remembered.libraries("560")] == ["/usr/lib/libcuda.so.560"]


def test_device_nodes_are_asked_for_every_time(tmp_path: Path) -> None:
    files = Files(tmp_path)
    remembered = RememberedFiles(files)

    assert remembered.gpu_nodes(3) == files.gpu_nodes(3)
    assert remembered.control_nodes() == files.control_nodes()
    assert remembered.compute_nodes() == files.compute_nodes()
    assert remembered.graphics_nodes(Bdf("0000:3b:00.0")) == files.graphics_nodes(Bdf("0000:3b:00.0"))
    assert remembered.sockets() == files.sockets()
    assert remembered.instance_nodes(0, 1, 2) == files.instance_nodes(0, 1, 2)
