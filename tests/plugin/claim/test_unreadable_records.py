"""A record that cannot be read, or is of a newer plugin, blocks what its claim may hold and nothing else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plugin.base.errors import DeviceHeld, RecordTooNew
from plugin.claim.record_format import VERSION, encode
from scheduler_core.model.claim import ClaimUid

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-2"
U1 = ClaimUid("u1")


def record_file(bench: Any, uid: str = "u1") -> Path:
    path: Path = bench.options.claims_dir / f"{uid}.json"
    return path


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_unreadable(path: Path) -> None:
    """Reading the first byte of a process's memory fails with EIO, for root too."""
    path.unlink()
    path.symlink_to("/proc/self/mem")


@pytest.mark.parametrize("spoiled", [make_folder, make_pipe, make_unreadable])
def test_a_record_that_cannot_be_read_blocks_what_it_holds_and_nothing_else(
    bench: Any, caplog: pytest.LogCaptureFixture, spoiled: Callable[[Path], None]
) -> None:
    bench.prepare("u1", HALF)
    bench.prepare("u2", SMALL)
    spoiled(record_file(bench))
    bench.restart()

    assert "claim u1 stays as it is: " in caplog.text
    assert "tangram plugin release u1" in caplog.text
    with pytest.raises(DeviceHeld, match="claim u1, whose record cannot be believed"):
        bench.prepare("u3", HALF)
    with pytest.raises(DeviceHeld, match="claim u1, whose record cannot be believed"):
        bench.prepare("u3", "gpu-0")
    bench.prepare("u3", "gpu-0-mig-1g-5gb-0", "gpu-1")
    for uid in ("u3", "u2", "u1"):
        bench.unprepare(uid)

    assert bench.records() == ()
    assert bench.instances() == ()  # its document names the MIG device


def newer(bench: Any, uid: str) -> bytes:
    """The record of a prepared claim as a later version may write it, with everything sound."""
    record = next(one for one in bench.records() if one.claim_uid == uid)
    claim = (
        encode(record).partition(b'"claim":')[2].partition(b',"seal":')[0].replace(b'"gpu"', b'"gpu-of-9"')
    )
    line = f'{{"version":{VERSION + 1},"checksum":"'.encode() + digest_of(claim) + b'","claim":' + claim
    return line + b',"seal":"' + digest_of(line) + b'"}\n'


def digest_of(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def test_a_record_of_a_newer_plugin_blocks_what_it_holds_and_nothing_else(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")
    bench.prepare("u2", "gpu-1")
    record_file(bench).write_bytes(newer(bench, "u1"))
    for path in bench.options.cdi_dir.glob("*u1*"):
        path.unlink()  # what it holds stands in the record itself
    bench.restart()

    with pytest.raises(DeviceHeld, match="claim default/claim-u1"):
        bench.prepare("u3", SMALL)
    with pytest.raises(RecordTooNew, match=r"upgrades the plugin.*tangram plugin release u1"):
        bench.unprepare("u1")
    bench.unprepare("u2")
    bench.prepare("u3", "gpu-1")
    bench.driver.release(U1)

    bench.prepare("u4", SMALL)


def test_a_flipped_bit_in_a_version_does_not_stop_new_claims(bench: Any) -> None:
    bench.prepare("u1", SMALL)
    data = record_file(bench).read_bytes()
    at = data.rindex(b'{"version":') + len(b'{"version":')
    record_file(bench).write_bytes(data[:at] + b"9" + data[at + 1 :])
    bench.restart()

    bench.prepare("u2", HALF)
    bench.unprepare("u1")
    bench.unprepare("u2")

    assert bench.instances() == ()


def test_a_file_with_neither_a_sound_line_nor_a_document_holds_nothing(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")
    record_file(bench).write_text('{"version": 99}\n')
    for path in bench.options.cdi_dir.iterdir():
        path.unlink()
    bench.restart()

    bench.prepare("u2", "gpu-0")


def test_a_daemon_of_mps_runs_on_for_a_claim_whose_record_cannot_be_read(linked_bench: Any) -> None:
    linked_bench.prepare("u1", "gpu-0-mps")
    make_folder(record_file(linked_bench))
    (daemon,) = linked_bench.machine.mps.names()

    linked_bench.restart()

    assert linked_bench.machine.mps.names() == (daemon,)
    linked_bench.unprepare("u1")
    linked_bench.driver.care.look_after()
    assert list(linked_bench.machine.mps.names()) == []


def test_the_vfs_stay_while_it_is_not_known_what_a_claim_holds(vf_bench: Any) -> None:
    vf_bench.prepare("u1", "nic-0000-19-00-1-vf-0")
    vf_bench.prepare("u2", "nic-0000-19-00-1-vf-1")
    make_folder(record_file(vf_bench))
    vf_bench.restart()

    vf_bench.unprepare("u2")
    assert vf_bench.vfs() == 3
    vf_bench.unprepare("u1")
    vf_bench.driver.vf_keeper.keep(lambda *_: None)

    assert vf_bench.vfs() == 0
