"""A file that cannot be read affects its own claim only, and the log mentions it once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from unreadable_files import UNREADABLE

UNKNOWN = "for which claim {path} was written is unknown"
Look = Callable[[], bool]
every_harm = pytest.mark.parametrize("harm", sorted(UNREADABLE))


@pytest.fixture
def bench(telling_bench: Any) -> Any:
    """A plugin with two prepared claims, each with one GPU and metadata."""
    telling_bench.prepare("u1", "gpu-0")
    telling_bench.prepare("u2", "gpu-1")
    return telling_bench


def metadata(bench: Any, uid: str = "u1") -> Path:
    found: Path = bench.options.metadata_dir / f"default_claim-{uid}" / "r" / "metadata.json"
    assert found.is_file()
    return found


@every_harm
def test_metadata_that_cannot_be_read_is_written_anew_at_the_start_and_told(
    bench: Any, caplog: pytest.LogCaptureFixture, harm: str
) -> None:
    path = metadata(bench)
    before = path.read_bytes()
    UNREADABLE[harm](path)

    bench.restart()

    assert UNKNOWN.format(path=path) in caplog.text
    assert path.read_bytes() == before


@every_harm
def test_metadata_that_cannot_be_read_keeps_no_look_from_the_other_claims(
    bench: Any, look: Look, harm: str
) -> None:
    path, other = metadata(bench), bench.document("u2").read_bytes()
    before = path.read_bytes()
    UNREADABLE[harm](path)
    bench.document("u2").unlink()

    assert look()

    assert bench.document("u2").read_bytes() == other
    assert path.read_bytes() == before


@every_harm
def test_metadata_that_nobody_writes_again_is_told_once_by_the_start_and_all_looks(
    bench: Any, heard: Any, claims: Any, caplog: pytest.LogCaptureFixture, harm: str
) -> None:
    path = metadata(bench)
    UNREADABLE[harm](path)
    bench.options = replace(bench.options, has_metadata=False)

    with caplog.at_level(logging.ERROR):
        bench.restart()
        looks = bench.driver.looks(heard, claims)
        assert [looks.look(), looks.look()] == [True, True]

    assert caplog.text.count(UNKNOWN.format(path=path)) == 1


@every_harm
def test_a_claim_whose_metadata_cannot_be_read_ends_as_any_other(bench: Any, harm: str) -> None:
    UNREADABLE[harm](metadata(bench))

    bench.unprepare("u1")
    bench.unprepare("u2")

    assert bench.leftovers() == []


def test_a_folder_of_metadata_that_cannot_be_listed_stops_neither_the_start_nor_looks_nor_the_end(
    bench: Any, heard: Any, claims: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = bench.options.metadata_dir
    folder.rename(folder.with_name("elsewhere"))
    UNREADABLE["a link to itself"](folder)
    bench.options = replace(bench.options, has_metadata=False)

    bench.restart()
    looks = bench.driver.looks(heard, claims)
    assert looks.look()
    for uid in ("u1", "u2"):
        bench.unprepare(uid)
    assert looks.look(), "what mounts the files is swept"

    assert caplog.text.count(UNKNOWN.format(path=folder)) == 1
    folder.unlink()
    assert bench.leftovers() == []


@pytest.mark.parametrize("is_known", [True, False], ids=["after a look", "after a restart"])
@every_harm
def test_a_document_that_cannot_be_read_is_written_again_and_so_are_those_of_the_others(
    bench: Any, look: Look, harm: str, is_known: bool
) -> None:
    documents = [bench.document(uid) for uid in ("u1", "u2")]
    before = [document.read_bytes() for document in documents]
    if is_known:
        look()
    UNREADABLE[harm](documents[0])
    documents[1].unlink()
    if not is_known:
        bench.restart()

    assert look()

    assert [document.read_bytes() for document in documents] == before


def test_a_folder_with_content_in_the_place_of_a_document_is_moved_aside_and_it_is_written_again(
    bench: Any, look: Look, caplog: pytest.LogCaptureFixture
) -> None:
    look()
    document, other = bench.document("u1"), bench.document("u2").read_bytes()
    before = document.read_bytes()
    UNREADABLE["a folder"](document)
    (document / "precious").touch()
    bench.document("u2").unlink()

    assert look()

    assert bench.document("u2").read_bytes() == other
    assert document.read_bytes() == before
    (aside,) = document.parent.glob(f".{document.name}.*.aside")
    assert (aside / "precious").exists()
    assert caplog.text.count(f"it was moved to {aside}") == 1
