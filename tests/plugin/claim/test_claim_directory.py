"""Claims from a folder of YAML files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from daemon import documents
from plugin.base.errors import ClaimUnreadable, ClaimUnusable
from plugin.claim.claim_directory import ClaimDirectory
from scheduler_core.model.claim import ClaimRef

CLAIM = """
kind: ResourceClaim
metadata: {{name: {name}, namespace: {namespace}, uid: {name}-uid}}
"""


def text(name: str, namespace: str = "default") -> str:
    return CLAIM.format(name=name, namespace=namespace)


def test_a_claim_is_found_by_namespace_and_name_among_many_documents(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("---".join([text("one"), "kind: Pod\n", text("two", "other"), "\n"]))
    (tmp_path / "b.json").write_text('{"kind": "ResourceClaim", "metadata": {"name": "three"}}')

    claims = ClaimDirectory(tmp_path)

    assert claims.read(ClaimRef("other", "two"))["metadata"]["uid"] == "two-uid"
    assert claims.read(ClaimRef("default", "three"))["metadata"]["name"] == "three"


def test_a_change_of_a_file_is_seen_at_the_next_call(tmp_path: Path) -> None:
    claims = ClaimDirectory(tmp_path)
    with pytest.raises(ClaimUnusable):
        claims.read(ClaimRef("default", "one"))

    (tmp_path / "a.yml").write_text(text("one"))

    assert claims.read(ClaimRef("default", "one"))


def test_a_file_is_read_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(text("one") + "---" + text("two"))
    (tmp_path / "b.yaml").write_text(text("three"))
    parsed: list[str] = []
    parse = documents.documents

    def told(name: str, *more: Any) -> Any:
        parsed.append(Path(name).name)
        return parse(name, *more)

    monkeypatch.setattr(documents, "documents", told)
    claims = ClaimDirectory(tmp_path, now_ns=lambda: 2**62)

    for name in ("one", "two", "three"):
        claims.read(ClaimRef("default", name))
    (tmp_path / "b.yaml").write_text(text("other"))
    with pytest.raises(ClaimUnusable):
        claims.read(ClaimRef("default", "three"))

    assert parsed == ["a.yaml", "b.yaml", "b.yaml"]


def test_a_file_that_was_just_written_is_read_again_though_it_looks_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text("one"))
    written = path.stat()
    claims = ClaimDirectory(tmp_path, now_ns=lambda: written.st_ctime_ns)
    claims.read(ClaimRef("default", "one"))

    path.write_text(text("two"))
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))

    assert claims.read(ClaimRef("default", "two"))


def test_a_claim_that_is_nowhere_is_refused_naming_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text("one"))

    with pytest.raises(ClaimUnusable, match=f"claim default/one: no file in {tmp_path} has it"):
        ClaimDirectory(tmp_path).read(ClaimRef("default", "one"))


def test_a_claim_that_is_there_twice_is_refused_naming_both_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text("one"))
    (tmp_path / "b.yaml").write_text(text("one"))

    with pytest.raises(ClaimUnusable, match=r"a\.yaml and .*b\.yaml"):
        ClaimDirectory(tmp_path).read(ClaimRef("default", "one"))


@pytest.mark.parametrize(
    "broken",
    [
        *(b"a: [", b"\xff\xfe\xfa", b"a: b: c", b"d: !!int abc", b"d: !!timestamp 2024-99-99"),
        *(b"[" * 5000, b"- " * 300_000, b"&a [*a]", b"kind: ResourceClaim\nkind: ResourceClaim"),
    ],
)
def test_a_broken_file_hides_no_claim_of_another_and_is_named_when_one_is_missing(
    tmp_path: Path, broken: bytes
) -> None:
    (tmp_path / "a.yaml").write_text(text("one"))
    (tmp_path / "broken.yaml").write_bytes(broken)
    claims = ClaimDirectory(tmp_path)

    assert claims.read(ClaimRef("default", "one"))
    with pytest.raises(ClaimUnreadable, match=r"broken\.yaml") as refusal:
        claims.read(ClaimRef("default", "two"))
    assert refusal.value.retry


def test_a_broken_file_is_logged_in_one_line_once_and_again_when_it_is_broken_otherwise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.yaml").write_text(text("one"))
    broken = tmp_path / "broken.yaml"
    broken.write_text("d: !!int abc")
    claims = ClaimDirectory(tmp_path)

    for _ in range(3):
        claims.read(ClaimRef("default", "one"))
    broken.write_text("a: [")
    for _ in range(3):
        claims.read(ClaimRef("default", "one"))

    first, second = caplog.records
    assert "broken.yaml:1:4: is not YAML: invalid literal" in first.getMessage()
    assert "broken.yaml:2:1: is not YAML" in second.getMessage()
    assert [record.exc_info for record in caplog.records] == [None, None]
    assert "\n" not in first.getMessage() + second.getMessage()


def test_a_file_that_is_mended_is_read_and_one_that_breaks_again_is_logged_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.yaml"
    claims = ClaimDirectory(tmp_path)

    for _ in range(2):
        path.write_text("a: [")
        with pytest.raises(ClaimUnreadable):
            claims.read(ClaimRef("default", "one"))
        path.write_text(text("one"))
        assert claims.read(ClaimRef("default", "one"))

    assert len(caplog.records) == 2


def test_a_broken_file_is_not_read_again_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "a.yaml").write_text(text("one"))
    claims = ClaimDirectory(tmp_path, now_ns=lambda: 0)  # so nothing has been as it is for long
    claims.read(ClaimRef("default", "one"))
    parsed: list[str] = []
    decode = documents.decode
    monkeypatch.setattr(
        documents, "decode", lambda name, data: parsed.append(data.decode()) or decode(name, data)
    )

    claims.read(ClaimRef("default", "one"))

    assert parsed == [text("one")]


def test_a_file_over_64_mib_hides_no_claim(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.yaml").write_text(text("one"))
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(64 * 2**20 + 1)

    assert ClaimDirectory(tmp_path).read(ClaimRef("default", "one"))

    assert "large.yaml: is larger than 64 MiB" in caplog.text


def test_what_is_no_file_hides_no_claim_and_keeps_nobody_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.yaml").write_text(text("one"))
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "nowhere.yaml").symlink_to(tmp_path / "missing")
    claims = ClaimDirectory(tmp_path)

    for _ in range(2):
        assert claims.read(ClaimRef("default", "one"))

    names = [record.getMessage().split(": ")[1].rpartition("/")[2] for record in caplog.records]
    assert names == ["folder.yaml", "nowhere.yaml", "pipe.yaml"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClaimUnreadable, match="nowhere"):
        ClaimDirectory(tmp_path / "nowhere").read(ClaimRef("default", "one"))


@pytest.mark.parametrize(
    "odd", ["[]", "7", "null", "kind: ResourceClaim", "kind: ResourceClaim\nmetadata: 7"]
)
def test_documents_of_odd_shapes_are_passed_over(tmp_path: Path, odd: str) -> None:
    (tmp_path / "a.yaml").write_text(f"{odd}\n---\n{text('one')}")

    assert ClaimDirectory(tmp_path).read(ClaimRef("default", "one"))
