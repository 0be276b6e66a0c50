"""An emptied or changed CDI folder is as it was after the next look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

HALF, WHOLE = "gpu-0-mig-3g-20gb-4-7", "gpu-1"
EARLIER = (Path(__file__).parents[3] / "data/cdi/parts-with-each-device.json").read_bytes()
"""What an earlier version of the plugin wrote for a claim of both."""
Look = Callable[[], bool]


def content(bench: Any, uid: str = "u1") -> bytes:
    found: bytes = bench.document(uid).read_bytes()
    return found


def delete(document: Path) -> None:
    document.unlink()


def cut(document: Path) -> None:
    document.write_bytes(document.read_bytes()[:100])


def empty(document: Path) -> None:
    document.write_bytes(b"")


def edit(document: Path) -> None:
    document.write_bytes(document.read_bytes().replace(b"/dev/nvidia0", b"/dev/nvidia1"))


@pytest.mark.parametrize("harm", [delete, cut, empty, edit])
def test_a_document_that_somebody_deleted_or_changed_is_back_byte_by_byte(
    bench: Any, look: Look, harm: Callable[[Path], None]
) -> None:
    bench.prepare("u1", HALF, "gpu-1")
    before = content(bench)
    look()
    harm(bench.document("u1"))

    assert look()

    assert content(bench) == before
    assert 'tangram_plugin_repairs_total{kind="rewrite"} 1.0' in bench.driver.metrics.text()


def test_an_emptied_folder_is_filled_again_after_a_restart_that_remembers_nothing(
    bench: Any, heard: Any, claims: Any
) -> None:
    for uid, device in (("u1", HALF), ("u2", "gpu-1")):
        bench.prepare(uid, device)
    before = [content(bench, uid) for uid in ("u1", "u2")]
    for uid in ("u1", "u2"):
        bench.document(uid).unlink()
    bench.restart()

    bench.driver.looks(heard, claims).look()

    assert [content(bench, uid) for uid in ("u1", "u2")] == before


def test_a_document_of_an_earlier_version_is_back_as_that_version_wrote_it(
    bench: Any, heard: Any, claims: Any
) -> None:
    bench.options = replace(bench.options, host_root=bench.simulated.root)
    bench.restart()
    bench.prepare("u1", HALF, WHOLE)
    bench.document("u1").write_bytes(EARLIER)
    bench.restart()
    bench.driver.looks(heard, claims).look()
    assert content(bench) == EARLIER

    bench.document("u1").unlink()
    bench.driver.looks(heard, claims).look()

    assert content(bench) == EARLIER


def test_what_is_as_it_was_is_not_written(bench: Any, look: Look) -> None:
    bench.prepare("u1", HALF)
    before = bench.document("u1").stat()

    for _ in range(3):
        assert look()

    assert bench.document("u1").stat() == before
    assert "repairs_total{" not in bench.driver.metrics.text()


def test_a_document_that_the_kubelets_next_call_wrote_is_what_is_kept_from_then_on(
    bench: Any, look: Look
) -> None:
    bench.prepare("u1", HALF)
    look()
    bench.unprepare("u1")
    bench.prepare("u1", "gpu-1")
    before = content(bench)
    look()
    bench.document("u1").unlink()

    look()

    assert content(bench) == before


def test_a_folder_that_was_removed_is_made_again(bench: Any, look: Look) -> None:
    bench.prepare("u1", "gpu-0")
    before = content(bench)
    bench.document("u1").unlink()
    bench.options.cdi_dir.rmdir()

    look()

    assert content(bench) == before


def test_no_document_comes_back_for_a_device_that_is_gone(bench: Any, look: Look) -> None:
    bench.prepare("u1", HALF)
    bench.inject("gpu-0:lost")
    bench.document("u1").unlink()

    look()
    look()

    assert not bench.document("u1").exists()


def test_a_document_of_no_claim_is_removed(bench: Any, look: Look) -> None:
    bench.prepare("u1", HALF)
    lone = bench.document("u9")
    lone.write_bytes(content(bench))

    look()

    assert not lone.exists()
    assert bench.document("u1").exists()


def test_metadata_files_are_back_too(telling_bench: Any, heard: Any) -> None:
    bench = telling_bench
    bench.prepare("u1", "gpu-0")
    files = sorted(path for path in bench.options.cdi_dir.iterdir())
    files += sorted(path for path in bench.options.metadata_dir.rglob("*") if path.is_file())
    before = [path.read_bytes() for path in files]
    assert len(files) == 3
    for path in files:
        path.unlink()

    bench.driver.looks(heard).look()

    assert [path.read_bytes() for path in files] == before


def test_a_document_that_cannot_be_made_is_logged_once_and_tried_again_soon(
    bench: Any, look: Look, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", "gpu-0")
    bench.document("u1").unlink()
    folder = bench.document("u1").parent
    folder.rename(folder.with_name("moved"))
    folder.write_text("a file in the place of the folder")

    assert [look(), look()] == [False, False]

    assert len([line for line in caplog.messages if "failed and is tried again" in line]) == 1
    folder.unlink()
    assert look()
    assert bench.document("u1").is_file()
