"""The real interfaces: files below a root, this kernel's rtnetlink and devlink."""

from __future__ import annotations

import errno
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyroute2.netlink.devlink import devlinkcmd
from pyroute2.netlink.generic import ctrlmsg

from agent.hardware import errors
from agent.hardware.errors import HardwareError, NotFound, NotSupported
from agent.hardware.nics.functions import SysfsFunctions
from agent.hardware.nics.kernel import AttributeFiles
from agent.hardware.nics.links import Move, SetUp
from agent.hardware.nics.reading import devlink
from agent.hardware.nics.reading.devlink import eswitch_mode
from agent.hardware.nics.reading.sysfs_nics import SysfsNics
from agent.hardware.nics.refusals import GENERAL, refused, translated
from agent.hardware.nics.rtnetlink import Rtnetlink
from agent.hardware.nics.sysfs_files import SysfsFiles
from agent.hardware.nics.types import DriverBinding, VfSettings
from agent.hardware.open import simulated_hardware
from agent.hardware.ports import Readers
from agent.hardware.types import Bdf

PF, VF = Bdf("0000:19:00.0"), Bdf("0000:19:00.2")
DEVICES = "sys/bus/pci/devices"


@pytest.fixture(params=["simulated", "files"])
def files(request: pytest.FixtureRequest, host) -> AttributeFiles:
    """Both interfaces over the same tree: the files alone do not answer with a kernel's work."""
    return host.kernel if request.param == "simulated" else SysfsFiles(host.root)


def test_what_is_not_a_function_is_refused(files) -> None:
    with pytest.raises(FileNotFoundError):
        files.write(f"{DEVICES}/0000:99:00.0/sriov_numvfs", "1")


def test_what_is_written_can_be_read(host, files) -> None:
    files.write(f"{DEVICES}/{VF}/driver_override", "vfio-pci")

    assert SysfsNics(host.root).binding(VF).override == "vfio-pci"


def test_repeating_what_is_true_already_writes_nothing(host, files) -> None:
    functions = SysfsFunctions(SysfsNics(host.root), files)
    before = host.kernel.calls.store.read()

    assert functions.set_vf_count(PF, 2) == 2
    functions.restore(VF, DriverBinding("mlx5_core"))

    assert host.kernel.calls.store.read() == before


def test_a_missing_function_is_the_same_error_through_both(host, files) -> None:
    functions = SysfsFunctions(SysfsNics(host.root), files)

    with pytest.raises(NotFound):
        functions.set_autoprobe(Bdf("0000:99:00.0"), False)


def test_a_value_is_written_in_one_piece_to_the_file_itself(tmp_path: Path) -> None:
    file = tmp_path / "sys/bus/pci/drivers_probe"
    file.parent.mkdir(parents=True)
    file.touch()
    inode = file.stat().st_ino

    SysfsFiles(tmp_path).write("sys/bus/pci/drivers_probe", VF)

    assert (file.read_text(), file.stat().st_ino) == (VF, inode)


@pytest.mark.parametrize("number", sorted(GENERAL))
def test_every_known_number_is_kept_and_named(number: int) -> None:
    error = refused("write", "PF x", OSError(number, "said"))

    assert error.errno == number
    assert type(error) is not errors.HardwareFault
    assert errno.errorcode[number] in error.reason


@pytest.mark.parametrize("number", [errno.EIO, None])
def test_a_number_without_a_class_is_a_fault_of_the_hardware(number: int | None) -> None:
    with pytest.raises(errors.HardwareFault) as failure, translated("write", "PF x"):
        raise OSError(number, "said") if number else OSError("said")

    assert failure.value.errno == number
    assert failure.value.retry


def test_readers_have_no_way_to_change_a_nic(host) -> None:
    machine = simulated_hardware(host)
    words = {"write", "set", "give", "restore", "move", "apply", "bind", "unbind"}

    assert isinstance(machine.readers, Readers)
    public = {name for name in dir(machine.readers.nics) if not name.startswith("_")}
    assert {name for name in public if set(name.split("_")) & words} == set()


def test_the_agent_s_and_the_plugin_s_programs_start_without_the_netlink_library() -> None:
    program = "import sys, agent.hardware.open; print('pyroute2' in sys.modules)"

    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert answer.stdout == "False\n"


def test_an_interface_that_is_no_pf_has_no_vfs_and_sets_none(real) -> None:
    assert real.kernel.vf_settings("vf0") == {}
    with pytest.raises(OSError) as refusal:  # noqa: PT011 (the number is compared)
        real.kernel.set_vf("vf0", 0, VfSettings(trust=True))

    assert refusal.value.errno == errno.EOPNOTSUPP


def test_an_interface_that_does_not_exist_has_no_device(real) -> None:
    for call in (
        lambda: real.kernel.vf_settings("none"),
        lambda: real.kernel.apply(None, SetUp("none", True)),
    ):
        with pytest.raises(OSError) as refusal:  # noqa: PT011 (the number is compared)
            call()
        assert refusal.value.errno == errno.ENODEV


def test_calls_into_other_namespaces_leave_this_process_where_it_is(real) -> None:
    before = Path("/proc/self/ns/net").readlink()

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: real.kernel.links(real.pod), range(24)))

    assert all(links == seen[0] for links in seen)
    assert {link.name for link in seen[0]} == {"lo"}
    assert Path("/proc/self/ns/net").readlink() == before


def test_a_file_that_is_no_namespace_is_refused(real, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(OSError) as refusal:  # noqa: PT011 (the number is compared)
        real.kernel.apply(None, Move("vf0", tmp_path / "file", "vf0"))

    assert refusal.value.errno == errno.EINVAL


def test_a_pf_without_devlink_tells_no_mode() -> None:
    assert eswitch_mode(Bdf("0000:ff:1f.7")) is None


def test_links_of_this_machine_know_their_functions() -> None:
    with_parent = [link for link in Rtnetlink().links(None) if link.bdf is not None]

    assert all(Path(f"/sys/bus/pci/devices/{link.bdf}").exists() for link in with_parent)


def test_a_hardware_error_without_a_kernel_s_number_has_none() -> None:
    assert HardwareError("read", "x", "y").errno is None
    assert NotSupported("read", "x", "y", errno=errno.EOPNOTSUPP).errno == errno.EOPNOTSUPP


def test_a_call_leaves_no_file_open_whether_it_succeeds_or_fails(real) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    real.kernel.links(real.pod)
    eswitch_mode(Bdf("0000:ff:1f.7"))
    before = open_files()

    for _ in range(5):
        real.kernel.links(real.pod)
        eswitch_mode(Bdf("0000:ff:1f.7"))
        with pytest.raises(OSError, match="No such device"):
            real.kernel.apply(real.pod, SetUp("none", True))

    assert open_files() == before


def test_an_answer_of_devlink_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has no devlink: its answers are those that the library would write."""
    wire = DevlinkWire({"0000:19:00.0": 1, "0000:19:00.1": 0, "0000:3b:00.0": 7})
    monkeypatch.setattr(devlink.socket, "socket", lambda *_: wire)

    found = [eswitch_mode(Bdf(bdf)) for bdf in (*wire.modes, "0000:ff:1f.7")]

    assert found == ["switchdev", "legacy", None, None]


class DevlinkWire:
    """A socket whose other end answers as the kernel's devlink does."""

    FAMILY = 0x15

    def __init__(self, modes: dict[str, int]) -> None:
        self.modes = modes
        self.answer = b""

    def settimeout(self, _: float) -> None:
        pass

    def close(self) -> None:
        pass

    def recv(self, _: int) -> bytes:
        return self.answer

    def send(self, data: bytes) -> None:
        (kind,) = struct.unpack_from("=H", data, 4)
        if kind != self.FAMILY:
            self.answer = self.encoded(ctrlmsg, kind, CTRL_ATTR_FAMILY_ID=self.FAMILY)
            return
        asked = devlinkcmd(data)
        asked.decode()
        mode = self.modes.get(asked.get_attr("DEVLINK_ATTR_DEV_NAME"))
        if mode is None:
            self.answer = struct.pack("=IHHIIi", 36, 2, 0, 0, 0, -errno.ENODEV) + data[:16]
        else:
            self.answer = self.encoded(devlinkcmd, kind, DEVLINK_ATTR_ESWITCH_MODE=mode)

    @staticmethod
    def encoded(form: Any, kind: int, **attributes: int) -> bytes:
        message = form()
        message["header"]["type"] = kind
        message["attrs"] = [[name, value] for name, value in attributes.items()]
        message.encode()
        return bytes(message.data)
