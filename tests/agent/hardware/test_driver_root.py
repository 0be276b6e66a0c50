"""What a driver offers, in hand-made roots."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import NotFound
from agent.hardware.types import DeviceNode

VERSION = "560.35.03"
DEVICES = "Character devices:\n  1 mem\n195 nvidia-frontend\n507 nvidia-caps\n\nBlock devices:\n  8 sd\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A driver with one GPU, and the instance GI 3 with CI 0 on it."""
    for node in ("nvidiactl", "nvidia0", "nvidia-uvm"):
        write(tmp_path / "dev" / node)
    write(tmp_path / "proc/devices", DEVICES)
    instance = tmp_path / "proc/driver/nvidia/capabilities/gpu0/mig/gi3"
    write(instance / "access", "DeviceFileMinor: 30\nDeviceFileMode: 256\nDeviceFileModify: 1\n")
    write(instance / "ci0/access", "DeviceFileMinor: 31\nDeviceFileMode: 256\nDeviceFileModify: 1\n")
    return tmp_path


def write(file: Path, content: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def library(root: Path, path: str, *links: str) -> None:
    file = root / path.removeprefix("/")
    write(file)
    for link in links:
        (file.parent / link).symlink_to(file.name)


def paths(root: Path) -> dict[str, str]:
    files = DriverRoot(root).libraries(VERSION)
    return {file.path: str(file.host_path.relative_to(root)) for file in files}


def test_a_gpus_node_is_the_one_of_its_minor(root: Path) -> None:
    assert DriverRoot(root).gpu_nodes(0) == (DeviceNode("/dev/nvidia0", root / "dev/nvidia0"),)


def test_a_gpu_without_a_node_is_not_found_and_the_operator_is_told(root: Path) -> None:
    with pytest.raises(NotFound, match=r"/dev/nvidia7.*the operator must load the driver"):
        DriverRoot(root).gpu_nodes(7)


def test_a_monitor_gets_its_capability_and_those_of_a_gpus_instances_by_number(root: Path) -> None:
    write(root / "proc/driver/nvidia/capabilities/mig/monitor", "DeviceFileMinor: 2\nDeviceFileMode: 256\n")
    write(root / "proc/driver/nvidia/capabilities/gpu1/mig/gi5/access", "DeviceFileMinor: 99\n")
    write(root / "dev/nvidia-caps/nvidia-cap30")

    assert DriverRoot(root).monitoring_nodes(0) == tuple(
        DeviceNode(f"/dev/nvidia-caps/nvidia-cap{minor}", None, 507, minor) for minor in (2, 30, 31)
    )


def test_a_driver_without_mig_has_nothing_for_a_monitor(tmp_path: Path) -> None:
    assert DriverRoot(tmp_path).monitoring_nodes(0) == ()


def test_libraries_below_a_driver_container_and_nodes_of_the_host_meet(tmp_path: Path) -> None:
    host = tmp_path / "host"
    write(host / "dev/nvidiactl")
    library(host, f"/run/driver/usr/lib64/libcuda.so.{VERSION}", "libcuda.so.1")
    write(host / "run/driver/usr/lib64/libnvidia-ml.so.1")

    files = DriverRoot.installed(Path("/run/driver"), host)

    assert files.control_nodes() == (DeviceNode("/dev/nvidiactl", host / "dev/nvidiactl"),)
    assert {file.path for file in files.libraries(VERSION)} == {
        f"/usr/lib64/libcuda.so.{VERSION}",
        "/usr/lib64/libcuda.so.1",
    }
    assert files.management_library() == host / "run/driver/usr/lib64/libnvidia-ml.so.1"


def test_a_driver_container_with_nodes_of_its_own_is_asked_for_them(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "run/driver"):
        write(root / "dev/nvidiactl")

    (node,) = DriverRoot.installed(Path("/run/driver"), tmp_path).control_nodes()

    assert node.host_path == tmp_path / "run/driver/dev/nvidiactl"


def test_without_a_driver_there_is_no_management_library(tmp_path: Path) -> None:
    assert DriverRoot.installed(Path("/"), tmp_path).management_library() is None


def test_control_nodes_are_those_that_exist(root: Path) -> None:
    nodes = DriverRoot(root).control_nodes()

    assert [node.path for node in nodes] == ["/dev/nvidiactl", "/dev/nvidia-uvm"]


def test_no_gpu_is_usable_without_nvidiactl(root: Path) -> None:
    (root / "dev/nvidiactl").unlink()

    with pytest.raises(NotFound, match="/dev/nvidiactl"):
        DriverRoot(root).control_nodes()


def test_capability_nodes_that_are_not_there_are_described_by_numbers(root: Path) -> None:
    nodes = DriverRoot(root).instance_nodes(0, 3, 0)

    assert nodes == (
        DeviceNode("/dev/nvidia-caps/nvidia-cap30", None, 507, 30),
        DeviceNode("/dev/nvidia-caps/nvidia-cap31", None, 507, 31),
    )


def test_capability_nodes_that_are_there_are_used(root: Path) -> None:
    write(root / "dev/nvidia-caps/nvidia-cap30")
    write(root / "dev/nvidia-caps/nvidia-cap31")
    (root / "proc/devices").unlink()

    nodes = DriverRoot(root).instance_nodes(0, 3, 0)

    assert [node.host_path for node in nodes] == [
        root / "dev/nvidia-caps/nvidia-cap30",
        root / "dev/nvidia-caps/nvidia-cap31",
    ]


@pytest.mark.parametrize("instance", [(1, 3, 0), (0, 4, 0), (0, 3, 1)])
def test_an_instance_without_capabilities_is_not_found(root: Path, instance: tuple[int, int, int]) -> None:
    with pytest.raises(NotFound, match="capabilities/gpu"):
        DriverRoot(root).instance_nodes(*instance)


def test_a_block_device_of_that_name_has_no_capability_major(root: Path) -> None:
    write(root / "proc/devices", "Character devices:\n  1 mem\n\nBlock devices:\n507 nvidia-caps\n")

    with pytest.raises(NotFound, match="has no nvidia-caps"):
        DriverRoot(root).instance_nodes(0, 3, 0)


def test_a_library_is_offered_under_every_name_that_leads_to_it(root: Path) -> None:
    library(root, f"/usr/lib64/libcuda.so.{VERSION}", "libcuda.so.1", "libcuda.so")
    library(root, f"/usr/lib64/libnvidia-nvvm.so.{VERSION}", "libnvidia-nvvm.so.4")

    assert paths(root) == {
        "/usr/lib64/libcuda.so": f"usr/lib64/libcuda.so.{VERSION}",
        "/usr/lib64/libcuda.so.1": f"usr/lib64/libcuda.so.{VERSION}",
        f"/usr/lib64/libcuda.so.{VERSION}": f"usr/lib64/libcuda.so.{VERSION}",
        "/usr/lib64/libnvidia-nvvm.so.4": f"usr/lib64/libnvidia-nvvm.so.{VERSION}",
        f"/usr/lib64/libnvidia-nvvm.so.{VERSION}": f"usr/lib64/libnvidia-nvvm.so.{VERSION}",
    }


def test_a_library_without_links_gets_the_usual_soname(root: Path) -> None:
    library(root, f"/usr/lib64/libcuda.so.{VERSION}")

    assert set(paths(root)) == {"/usr/lib64/libcuda.so.1", f"/usr/lib64/libcuda.so.{VERSION}"}


def test_libraries_of_another_version_stay_outside(root: Path) -> None:
    library(root, f"/usr/lib64/libcuda.so.{VERSION}")
    library(root, "/usr/lib64/libnvidia-ml.so.550.54.15", "libnvidia-ml.so.1")
    (root / f"usr/lib64/libgone.so.{VERSION}").symlink_to("nowhere")

    assert all("libcuda" in path for path in paths(root))


def test_two_names_of_one_folder_give_each_library_once(root: Path) -> None:
    library(root, f"/usr/lib64/libcuda.so.{VERSION}", "libcuda.so.1")
    (root / "lib64").symlink_to("usr/lib64")

    assert len(paths(root)) == 2


def test_each_tool_comes_from_the_first_folder_that_has_it(root: Path) -> None:
    library(root, f"/usr/lib64/libcuda.so.{VERSION}")
    for tool in ("usr/bin/nvidia-smi", "usr/local/bin/nvidia-smi", "usr/local/bin/nvidia-persistenced"):
        write(root / tool)

    tools = {path for path in paths(root) if "/bin/" in path}

    assert tools == {"/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-persistenced"}


def test_a_driver_without_libraries_of_its_version_is_not_found(root: Path) -> None:
    with pytest.raises(NotFound, match=r"driver 560\.35\.03.*exactly this version"):
        DriverRoot(root).libraries(VERSION)
