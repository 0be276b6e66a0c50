"""The folder of CDI documents: only files of this driver, and each with the content that was meant."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from unreadable_files import UNREADABLE

from agent.hardware.types import DeviceNode
from plugin.base.errors import NotReady
from plugin.cdi import document as cdi
from plugin.cdi.folder import CdiFolder
from scheduler_core.model.claim import ClaimUid

UID = ClaimUid("uid-1")
NODE = DeviceNode("/dev/nvidia0", Path("/dev/nvidia0"))
DOCUMENT = cdi.claim_document(
    "tangram.dev",
    [cdi.Injection(name="uid-1-gpu-0", device="gpu-0", identity="GPU-1", nodes=(NODE,), files=())],
)
CONTENT = cdi.encode(DOCUMENT)


def test_a_document_on_disk_that_is_right_is_not_written_again(tmp_path: Path) -> None:
    folder = CdiFolder(tmp_path, "tangram.dev")
    folder.ensure(UID, CONTENT)
    before = folder.path(UID).stat()

    folder.ensure(UID, CONTENT)

    assert folder.path(UID).stat().st_ino == before.st_ino
    assert folder.path(UID).name == "tangram.dev-claim_uid-1.json"
    assert before.st_mode & 0o777 == 0o644


@pytest.mark.parametrize("damage", ["missing", "edited", "truncated"])
def test_a_document_on_disk_that_is_wrong_is_written_again(tmp_path: Path, damage: str) -> None:
    folder = CdiFolder(tmp_path, "tangram.dev")
    folder.ensure(UID, CONTENT)
    path = folder.path(UID)
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:20] if damage == "truncated" else b"{}")

    folder.ensure(UID, CONTENT)

    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("harm", sorted(UNREADABLE))
@pytest.mark.parametrize(
    "write",
    [
        lambda folder: folder.ensure(UID, CONTENT),
        lambda folder: folder.keep(UID, DOCUMENT, lambda _: True),
        lambda folder: folder.restore(UID, DOCUMENT, lambda _: True, None, None),
    ],
)
def test_a_document_that_cannot_be_read_is_written_again(
    tmp_path: Path, harm: str, write: Callable[[CdiFolder], str | None]
) -> None:
    folder = CdiFolder(tmp_path, "tangram.dev")
    folder.ensure(UID, CONTENT)
    UNREADABLE[harm](folder.path(UID))

    assert write(folder) == cdi.checksum(CONTENT)

    assert folder.path(UID).read_bytes() == CONTENT


def test_a_document_that_is_not_on_disk_as_it_was_written_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CdiFolder(tmp_path, "tangram.dev")
    replace = os.replace

    def somebody_writes_after_us(path: str, target: Path) -> None:
        replace(path, target)
        target.write_bytes(b"{}")

    monkeypatch.setattr(os, "replace", somebody_writes_after_us)

    with pytest.raises(NotReady, match=r"claim_uid-1\.json: its content is not what was written"):
        folder.ensure(UID, CONTENT)


def test_only_files_of_this_driver_are_ours(tmp_path: Path) -> None:
    folder = CdiFolder(tmp_path, "tangram.dev")
    folder.ensure(UID, CONTENT)
    for name in (
        "nvidia.json",
        "other.dev-claim_uid-2.json",
        "tangram.dev-claim_a b.json",
        "tangram.dev.json",
    ):
        (tmp_path / name).write_text("{}")
    (tmp_path / ".tangram.dev-claim_uid-3.json.tmp").write_text("{")

    assert folder.claims() == {"uid-1", "uid-3"}
    assert folder.remove(UID)
    assert not folder.remove(ClaimUid("uid-2"))
    assert (tmp_path / "other.dev-claim_uid-2.json").exists()
