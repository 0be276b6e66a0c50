"""Whatever files a machine shows, reading it ends without a traceback, and NICs beside odd ones are read."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from campaign import ROUND, in_rounds
from hypothesis import given, settings
from hypothesis import strategies as st
from short_folders import ROOT

from agent.hardware import attributes
from agent.hardware.errors import HardwareError, HardwareFault
from agent.hardware.nics.reading.sysfs_nics import SysfsNics
from agent.hardware.reuse import ReuseUnchanged
from agent.hardware.sysfs import Sysfs
from agent.hardware.types import PhysicalFunction
from agent.inventory.nic_facts import facts_of_all

ODD, SOUND = "0000:3b:00.0", "0000:5e:00.0"
CONTENTS = st.one_of(
    st.sampled_from(
        [b"", b"\n", b"-1", b"0", b"10" + b"0" * 23, b"9" * 5000, b"\xff\xfe\x00", b"0x" + b"f" * 300]
    ),
    st.binary(max_size=40),
)
FILES = (
    "vendor",
    "device",
    "class",
    "numa_node",
    "sriov_totalvfs",
    "sriov_numvfs",
    "config",
    "vpd",
    "driver_override",
)
OF_NETDEV = ("address", "ifindex", "mtu", "type", "speed", "operstate", "phys_switch_id")
ROUTES = st.one_of(CONTENTS, st.lists(st.binary(max_size=60), max_size=4).map(b"\n".join))
LINKS = ("driver", "iommu_group", "physfn", "virtfn0", "virtfn1", "virtfn00")
TARGETS = st.sampled_from([".", "..", "nowhere", "self", f"../{SOUND}", f"../{ODD}", "/", "²", "9" * 200])


def function(root, bdf, files):
    """Make the folder of a function as sysfs has it."""
    folder = root / "sys/devices/pci0000:00" / bdf
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True, exist_ok=True)
    (devices / bdf).symlink_to(f"../../../devices/pci0000:00/{bdf}")
    return folder


def sound(root):
    function(root, SOUND, {"vendor": b"0x15b3\n", "device": b"0x1021\n", "class": b"0x020000\n"})


@in_rounds
@given(
    st.dictionaries(st.sampled_from(FILES), CONTENTS),
    st.booleans(),
    st.dictionaries(st.sampled_from(LINKS), TARGETS),
    st.dictionaries(st.sampled_from(OF_NETDEV), CONTENTS),
    ROUTES,
    ROUTES,
)
@settings(deadline=None, max_examples=ROUND)
def test_odd_files_and_looping_links_of_one_nic_leave_the_other_as_it_is(
    before, files, is_nic, links, netdev, v4, v6
):
    root = Path(tempfile.mkdtemp(dir=ROOT))
    try:
        sound(root)
        folder = function(root, ODD, files | ({"class": b"0x020000\n"} if is_nic else {}))
        for name, target in links.items():
            (folder / name).symlink_to(name if target == "self" else target)
        (folder / "net/eth²0").mkdir(parents=True)
        for name, content in netdev.items():
            (folder / "net/eth²0" / name).write_bytes(content)
        (root / "sys/class/net").mkdir(parents=True)
        (root / "sys/class/net/eth²0").symlink_to(f"../../devices/pci0000:00/{ODD}/net/eth²0")
        (root / "proc/net").mkdir(parents=True)
        (root / "proc/net/route").write_bytes(b"head\n" + v4)
        (root / "proc/net/ipv6_route").write_bytes(v6)

        found = Sysfs(root).nics()
        again = Sysfs(root).reusing(ReuseUnchanged(itertools.count(step=1000).__next__))
        assert [again.nics(), again.nics(), again.nics()] == 3 * [found]
        read = [one for one in found if isinstance(one, PhysicalFunction)]
        functions = [each for pf in read for each in (pf.function, *(vf.function for vf in pf.vfs))]
        drivers = {each.bdf: each.driver for each in functions}
        facts = facts_of_all(SysfsNics(root), drivers, drivers)

        assert SOUND in {pf.function.bdf for pf in read}
        assert facts.keys() == drivers.keys()
        assert not facts[SOUND].problem
    except HardwareError as error:
        pytest.fail(f"one odd NIC failed the whole reading: {error}")
    finally:
        shutil.rmtree(root)


def test_a_link_called_virtfn_to_another_nic_takes_that_nic_from_nobody(tmp_path):
    sound(tmp_path)
    odd = function(tmp_path, ODD, {"vendor": b"0x15b3", "device": b"0x1021", "class": b"0x020000"})
    (odd / "virtfn0").symlink_to(f"../{SOUND}")

    found = Sysfs(tmp_path).nics()

    assert [(nic.function.bdf, nic.vfs) for nic in found] == [(ODD, ()), (SOUND, ())]


def test_a_file_of_one_gigabyte_is_not_read_whole(tmp_path, monkeypatch):
    (tmp_path / "numa_node").touch()
    os.truncate(tmp_path / "numa_node", 2**30)
    read, count = os.read, 0

    def counted(descriptor, size):
        nonlocal count
        part = read(descriptor, size)
        count += len(part)
        return part

    monkeypatch.setattr(os, "read", counted)

    assert attributes.text(tmp_path / "numa_node") is None
    with pytest.raises(HardwareFault, match="more than"):
        attributes.required_text(tmp_path / "numa_node", "PCI function 0000:3b:00.0")
    assert count < 2**26
