"""What graphics programs read of a driver, and the sockets of its services."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from short_folders import short_folder

from agent.hardware.driver.configs import configs
from agent.hardware.driver_root import DriverRoot
from agent.hardware.fabric.configuration import FILE
from agent.hardware.types import HostFile

PERSISTENCE, FABRIC = "run/nvidia-persistenced/socket", "run/nvidia-fabricmanager/socket"


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder whose name is short enough for sockets, with both services."""
    with short_folder() as name, ExitStack() as stack:
        for path in (PERSISTENCE, FABRIC):
            listen(stack, Path(name) / path)
        yield Path(name)


def listen(stack: ExitStack, path: Path) -> None:
    path.parent.mkdir(parents=True)
    stack.enter_context(socket.socket(socket.AF_UNIX)).bind(str(path))


def write(file: Path, content: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def places(root: Path) -> dict[str, str]:
    return {file.path: str(file.host_path.relative_to(root)) for file in configs(root)}


@pytest.mark.parametrize(
    ("folder", "place"),
    [("etc", "/etc"), ("usr/share", "/usr/share"), ("usr/local/nvidia/share", "/usr/share")],
)
def test_settings_of_egl_and_optix_are_where_programs_look(tmp_path: Path, folder: str, place: str) -> None:
    names = ("glvnd/egl_vendor.d/10_nvidia.json", "nvidia/nvoptix.bin")
    for name in names:
        write(tmp_path / folder / name)

    assert places(tmp_path) == {f"{place}/{name}": f"{folder}/{name}" for name in names}


@pytest.mark.parametrize("folder", ["etc/", "usr/share/", "usr/local/nvidia/share/", ""])
def test_settings_of_vulkan_stand_where_every_vulkan_loader_looks(tmp_path: Path, folder: str) -> None:
    for name in ("icd.d/nvidia_icd.x86_64.json", "implicit_layer.d/nvidia_layers.json"):
        write(tmp_path / f"{folder}vulkan" / name)

    assert places(tmp_path) == {
        "/etc/vulkan/icd.d/nvidia_icd.x86_64.json": f"{folder}vulkan/icd.d/nvidia_icd.x86_64.json",
        "/etc/vulkan/implicit_layer.d/nvidia_layers.json": (
            f"{folder}vulkan/implicit_layer.d/nvidia_layers.json"
        ),
    }


def test_a_driver_without_graphics_has_no_settings(tmp_path: Path) -> None:
    assert places(tmp_path) == {}


def test_containers_reach_the_services_of_the_driver(root: Path) -> None:
    assert DriverRoot(root).sockets() == (
        HostFile(f"/{PERSISTENCE}", root / PERSISTENCE, is_socket=True),
        HostFile(f"/{FABRIC}", root / FABRIC, is_socket=True),
    )


def test_the_services_of_a_driver_container_come_before_the_hosts(root: Path) -> None:
    with ExitStack() as stack:
        listen(stack, root / "run/driver" / PERSISTENCE)

        sockets = DriverRoot.installed(Path("/run/driver"), root).sockets()

    assert [file.host_path for file in sockets] == [root / "run/driver" / PERSISTENCE, root / FABRIC]


@pytest.mark.parametrize("mode", ["1", "2", "unknown"])
def test_nobody_reaches_a_fabric_manager_that_joins_gpus_on_request(root: Path, mode: str) -> None:
    write(root / FILE, f"FABRIC_MODE={mode}\n")

    assert [file.path for file in DriverRoot(root).sockets()] == [f"/{PERSISTENCE}"]


def test_what_is_no_socket_is_not_given(tmp_path: Path) -> None:
    write(tmp_path / PERSISTENCE)

    assert DriverRoot(tmp_path).sockets() == ()
