"""The files that a driver offers, in hand-made roots."""

from __future__ import annotations

from pathlib import Path

import pytest
from elf_files import AARCH64, I386, shared_object

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import NotFound
from agent.hardware.types import DeviceNode

VERSION = "560.35.03"
LAYOUTS = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
)


def write(file: Path, content: bytes = b"") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def library(root: Path, path: str, *links: str, says: bytes | None = None) -> None:
    file = root / path.removeprefix("/")
    write(file, shared_object() if says is None else says)
    for link in links:
        (file.parent / link).symlink_to(file.name)


def paths(root: Path) -> dict[str, str]:
    files = DriverRoot(root).libraries(VERSION)
    return {file.path: str(file.host_path.relative_to(root)) for file in files}


def in_both_families(*names: str) -> set[str]:
    return {f"{folder}/{name}" for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64") for name in names}


def test_libraries_below_a_driver_container_and_nodes_of_the_host_meet(tmp_path: Path) -> None:
    host = tmp_path / "host"
    write(host / "dev/nvidiactl")
    library(host, f"/run/driver/usr/lib64/libnvidia-nvvm.so.{VERSION}", "libnvidia-nvvm.so.4")
    write(host / "run/driver/usr/lib64/libnvidia-ml.so.1")

    files = DriverRoot.installed(Path("/run/driver"), host)

    assert files.control_nodes() == (DeviceNode("/dev/nvidiactl", host / "dev/nvidiactl"),)
    names = in_both_families("libnvidia-nvvm.so.4", f"libnvidia-nvvm.so.{VERSION}")
    assert {file.path for file in files.libraries(VERSION)} == names
    assert files.management_library() == host / "run/driver/usr/lib64/libnvidia-ml.so.1"


def test_without_a_driver_there_is_no_management_library(tmp_path: Path) -> None:
    assert DriverRoot.installed(Path("/"), tmp_path).management_library() is None


@pytest.mark.parametrize("folder", LAYOUTS)
def test_an_image_of_each_family_finds_a_library_wherever_the_host_has_it(
    tmp_path: Path, folder: str
) -> None:
    library(tmp_path, f"{folder}/libnvidia-ml.so.{VERSION}", says=shared_object("libnvidia-ml.so.1"))

    assert set(paths(tmp_path)) == in_both_families("libnvidia-ml.so.1", f"libnvidia-ml.so.{VERSION}")
    assert set(paths(tmp_path).values()) == {f"{folder.removeprefix('/')}/libnvidia-ml.so.{VERSION}"}


def test_a_machine_with_arm_processors_has_its_own_folder_in_debian_images(tmp_path: Path) -> None:
    library(tmp_path, f"/usr/lib64/libcuda.so.{VERSION}", says=shared_object("libcuda.so.1", AARCH64))

    assert "/usr/lib/aarch64-linux-gnu/libcuda.so.1" in paths(tmp_path)
    assert "/usr/lib64/libcuda.so.1" in paths(tmp_path)
    assert not any("x86_64" in path for path in paths(tmp_path))


def test_a_library_for_32_bits_never_takes_the_place_of_one_for_64(tmp_path: Path) -> None:
    says = shared_object("libcuda.so.1", I386, bits=32)
    library(tmp_path, f"/usr/lib/libcuda.so.{VERSION}", says=says)
    library(tmp_path, f"/usr/lib/libnvidia-tls.so.{VERSION}", says=says)
    library(tmp_path, f"/usr/local/nvidia/lib64/libcuda.so.{VERSION}")

    assert set(paths(tmp_path).values()) == {f"usr/local/nvidia/lib64/libcuda.so.{VERSION}"}


def test_a_library_is_offered_under_every_name_that_leads_to_it(tmp_path: Path) -> None:
    library(tmp_path, f"/usr/lib64/libnvidia-nvvm.so.{VERSION}", "libnvidia-nvvm.so.4", "libnvidia-nvvm.so")

    names = ("libnvidia-nvvm.so", "libnvidia-nvvm.so.4", f"libnvidia-nvvm.so.{VERSION}")
    assert set(paths(tmp_path)) == in_both_families(*names)


def test_a_library_without_links_has_the_name_by_which_programs_load_it(tmp_path: Path) -> None:
    says = shared_object("libnvidia-nvvm.so.4")
    library(tmp_path, f"/usr/lib64/libnvidia-nvvm.so.{VERSION}", says=says)

    assert set(paths(tmp_path)) == in_both_families("libnvidia-nvvm.so.4", f"libnvidia-nvvm.so.{VERSION}")


def test_a_library_that_says_nothing_and_has_no_links_gets_the_usual_soname(tmp_path: Path) -> None:
    library(tmp_path, f"/usr/lib64/libnvidia-ml.so.{VERSION}")

    assert set(paths(tmp_path)) == in_both_families("libnvidia-ml.so.1", f"libnvidia-ml.so.{VERSION}")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("libcuda", "libcuda.so"),
        ("libGLX_nvidia", "libGLX_indirect.so.0"),
        ("libnvidia-allocator", "gbm/nvidia-drm_gbm.so"),
    ],
)
def test_names_that_programs_use_and_packages_leave_out_are_offered(
    tmp_path: Path, name: str, more: str
) -> None:
    library(tmp_path, f"/usr/lib64/{name}.so.{VERSION}")

    assert in_both_families(more) <= set(paths(tmp_path))


def test_libraries_with_versions_of_their_own_come_along(tmp_path: Path) -> None:
    library(tmp_path, f"/usr/lib64/libcuda.so.{VERSION}")
    gbm, api = shared_object("libnvidia-egl-gbm.so.1"), shared_object("libnvidia-api.so.1")
    library(tmp_path, "/usr/lib64/libnvidia-egl-gbm.so.1.1.2", "libnvidia-egl-gbm.so.1", says=gbm)
    library(tmp_path, "/usr/lib64/libnvidia-api.so.1", says=api)
    library(tmp_path, "/usr/lib64/libnvidia-container.so.1.17.8", "libnvidia-container.so.1")

    names = {Path(path).name for path in paths(tmp_path)}

    assert {"libnvidia-egl-gbm.so.1", "libnvidia-egl-gbm.so.1.1.2", "libnvidia-api.so.1"} <= names
    assert not any("container" in name for name in names)


def test_a_library_of_a_subfolder_stays_in_it(tmp_path: Path) -> None:
    library(tmp_path, f"/usr/lib64/vdpau/libvdpau_nvidia.so.{VERSION}", "libvdpau_nvidia.so.1")

    assert in_both_families("vdpau/libvdpau_nvidia.so.1") <= set(paths(tmp_path))


def test_libraries_of_another_version_stay_outside(tmp_path: Path) -> None:
    library(tmp_path, f"/usr/lib64/libcuda.so.{VERSION}")
    library(tmp_path, "/usr/lib64/libnvidia-ml.so.550.54.15", "libnvidia-ml.so.1")
    (tmp_path / f"usr/lib64/libgone.so.{VERSION}").symlink_to("nowhere")

    assert all("libcuda" in path for path in paths(tmp_path))


def test_two_names_of_one_folder_give_each_library_once(tmp_path: Path) -> None:
    library(tmp_path, f"/usr/lib64/libnvidia-ml.so.{VERSION}", "libnvidia-ml.so.1")
    (tmp_path / "lib64").symlink_to("usr/lib64")

    assert len(DriverRoot(tmp_path).libraries(VERSION)) == len(paths(tmp_path)) == 4


def test_each_tool_comes_from_the_first_folder_that_has_it(tmp_path: Path) -> None:
    library(tmp_path, f"/usr/lib64/libcuda.so.{VERSION}")
    for tool in ("usr/bin/nvidia-smi", "usr/local/bin/nvidia-smi", "usr/local/bin/nvidia-persistenced"):
        write(tmp_path / tool)

    tools = {path for path in paths(tmp_path) if "/bin/" in path}

    assert tools == {"/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-persistenced"}


def test_a_driver_without_libraries_of_its_version_is_not_found(tmp_path: Path) -> None:
    library(tmp_path, "/usr/lib64/libnvidia-egl-gbm.so.1.1.2")

    with pytest.raises(NotFound, match=r"driver 560\.35\.03.*exactly this version"):
        DriverRoot(tmp_path).libraries(VERSION)
