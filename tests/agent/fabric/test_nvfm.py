"""The adapter to libnvfm: configuration, library, connection, codes."""

from __future__ import annotations

from ctypes import sizeof
from pathlib import Path

import fake_nvfm
import pytest
from fake_nvfm import FakeLibrary

from agent.hardware.errors import (
    FabricUnavailable,
    HardwareError,
    HardwareFault,
    InvalidArgument,
    NotFound,
    NotSupported,
)
from agent.hardware.fabric.configuration import FILE, FabricSettings, read_settings
from agent.hardware.fabric.nvfm import Nvfm
from agent.hardware.fabric.nvfm.structures import (
    ConnectParametersV1,
    ConnectParametersV2,
    Partition,
    PartitionGpu,
    PartitionList,
    version_of,
)
from agent.hardware.fabric.types import FabricMode
from agent.hardware.simulated import SimulatedMachine


def configured(root: Path, text: str) -> FabricSettings:
    (root / FILE).parent.mkdir(parents=True, exist_ok=True)
    (root / FILE).write_text(text)
    return read_settings([root])


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("", FabricMode.NONE),
        ("FABRIC_MODE=0\n", FabricMode.NONE),
        ("# FABRIC_MODE=0\nFABRIC_MODE = 1\nFABRIC_MODE_RESTART=0\n", FabricMode.SHARED),
        ("FABRIC_MODE=2 # for vGPU\n", FabricMode.VGPU),
        ("FABRIC_MODE=\n", FabricMode.NONE),
    ],
)
def test_the_mode_is_that_of_the_configuration(tmp_path: Path, text: str, mode: FabricMode) -> None:
    assert configured(tmp_path, text).mode is mode


def test_a_node_without_a_configuration_has_no_mode(tmp_path: Path) -> None:
    assert read_settings([tmp_path]) == FabricSettings()


def test_an_unknown_mode_names_the_file_and_who_corrects_it(tmp_path: Path) -> None:
    with pytest.raises(HardwareFault, match=r"FABRIC_MODE=3 in .*fabricmanager.cfg.*operator corrects"):
        configured(tmp_path, "FABRIC_MODE=3\n")


@pytest.mark.parametrize(
    ("text", "address", "is_unix"),
    [
        ("FABRIC_MODE=1\n", "127.0.0.1:6666", False),
        ("FM_CMD_BIND_INTERFACE=10.0.0.7\nFM_CMD_PORT_NUMBER=7777\n", "10.0.0.7:7777", False),
        ("FM_CMD_UNIX_SOCKET_PATH=/run/nvidia-fabricmanager/s\n", "run/nvidia-fabricmanager/s", True),
    ],
)
def test_the_address_is_that_of_the_configuration(
    tmp_path: Path, text: str, address: str, is_unix: bool
) -> None:
    found = configured(tmp_path, text)

    assert found.is_unix_socket is is_unix
    assert found.address == (str(tmp_path / address) if is_unix else address)


def test_the_first_root_that_has_a_configuration_counts(tmp_path: Path) -> None:
    driver, host = tmp_path / "driver", tmp_path / "host"
    configured(host, "FABRIC_MODE=1\n")
    assert read_settings([driver, host]).mode is FabricMode.SHARED

    configured(driver, "FABRIC_MODE=0\n")

    assert read_settings([driver, host]).mode is FabricMode.NONE


def test_the_structures_have_the_documented_layout() -> None:
    # Fields of four bytes and texts: 4 + 80 + 32 + 3 * 4; 3 * 4 + 16 of these; 3 * 4 + 64 of those.
    assert sizeof(PartitionGpu) == 128
    assert sizeof(Partition) == 12 + 16 * 128
    assert sizeof(PartitionList) == 12 + 64 * sizeof(Partition)
    assert sizeof(ConnectParametersV1) == 4 + 256 + 4 + 4
    assert sizeof(ConnectParametersV2) == 4 + 256 + 4 + 4 + 4
    assert version_of(ConnectParametersV1, 1) == 268 | 1 << 24
    assert version_of(ConnectParametersV2, 2) == 272 | 2 << 24


@pytest.mark.parametrize("newest", [1, 2])
def test_it_connects_to_libraries_of_both_versions(nvfm: Nvfm, library: FakeLibrary, newest: int) -> None:
    library.newest = newest

    assert len(nvfm.partitions()) == 15
    assert library.connected == [(b"127.0.0.1:6666", 0, 5000)]


def test_it_connects_to_a_unix_socket(nvfm: Nvfm, library: FakeLibrary, machine: SimulatedMachine) -> None:
    configured(machine.root, "FABRIC_MODE=1\nFM_CMD_UNIX_SOCKET_PATH=/run/fm/socket\n")

    nvfm.activate(3)

    assert library.connected == [(str(machine.root / "run/fm/socket").encode(), 1, 5000)]


def test_every_call_closes_its_connection_also_one_that_fails(nvfm: Nvfm, library: FakeLibrary) -> None:
    nvfm.activate(3)
    assert not library.is_open

    with pytest.raises(NotFound):
        nvfm.activate(99)

    assert not library.is_open
    assert library.initializations == 1


def test_a_library_that_somebody_initialized_before_is_used(nvfm: Nvfm, library: FakeLibrary) -> None:
    library.fmLibInit()

    assert len(nvfm.partitions()) == 15


def test_a_missing_library_says_what_to_install(nvfm: Nvfm, machine: SimulatedMachine) -> None:
    next(machine.root.rglob("libnvfm.so.1")).unlink()

    with pytest.raises(FabricUnavailable, match=r"libnvfm.so.1 is not installed; .*fabricmanager-devel"):
        nvfm.partitions()


def test_a_library_that_comes_later_is_found(
    nvfm: Nvfm, machine: SimulatedMachine, library: FakeLibrary
) -> None:
    path = next(machine.root.rglob("libnvfm.so.1"))
    path.unlink()
    with pytest.raises(FabricUnavailable):
        nvfm.partitions()

    path.touch()

    assert len(nvfm.partitions()) == 15


def test_a_file_that_is_no_library_is_refused(machine: SimulatedMachine) -> None:
    path = next(machine.root.rglob("libnvfm.so.1"))

    with pytest.raises(FabricUnavailable, match=str(path)):
        Nvfm([machine.root], lambda: path).partitions()


def test_a_manager_that_tells_who_its_gpus_are_is_believed(nvfm: Nvfm, library: FakeLibrary) -> None:
    library.identities = {1: ("GPU-1d4c0154-6fc1-5e39-a564-902085991a7d", "00000000:9D:00.0"), 3: ("", "")}

    (pair,) = (one for one in nvfm.partitions() if one.id == 3)

    assert [(gpu.physical_id, gpu.uuid, gpu.bdf) for gpu in pair.gpus] == [
        (1, "GPU-1d4c0154-6fc1-5e39-a564-902085991a7d", "0000:9d:00.0"),
        (3, None, None),
    ]


@pytest.mark.parametrize(
    ("function", "code", "error", "text"),
    [
        ("fmLibInit", fake_nvfm.GENERIC_ERROR, HardwareFault, "GENERIC_ERROR"),
        ("fmConnect", fake_nvfm.VERSION_MISMATCH, NotSupported, "in one version"),
        ("fmConnect", fake_nvfm.BADPARAM, InvalidArgument, "BADPARAM"),
        ("fmConnect", fake_nvfm.CONNECTION_NOT_VALID, FabricUnavailable, "nothing answers at 127.0.0.1:6666"),
        ("fmActivateFabricPartition", fake_nvfm.NVLINK_ERROR, HardwareFault, "the operator resets the GPUs"),
        ("fmActivateFabricPartition", fake_nvfm.CONNECTION_NOT_VALID, FabricUnavailable, "operator starts"),
        ("fmActivateFabricPartition", -99, HardwareFault, r"unknown code \(-99\)"),
    ],
)
def test_a_code_becomes_the_error_that_says_who_acts(
    nvfm: Nvfm, library: FakeLibrary, function: str, code: int, error: type[HardwareError], text: str
) -> None:
    library.answers[function] = code

    with pytest.raises(error, match=text) as refusal:
        nvfm.activate(3)

    assert type(refusal.value) is error
    assert refusal.value.attempted == "activate fabric partition 3"
