"""Claims from a folder of YAML files."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugin.claim_directory import ClaimDirectory
from plugin.errors import ClaimUnreadable, ClaimUnusable
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


def test_a_claim_that_is_nowhere_is_refused_naming_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text("one"))

    with pytest.raises(ClaimUnusable, match=f"claim default/one: no file in {tmp_path} has it"):
        ClaimDirectory(tmp_path).read(ClaimRef("default", "one"))


def test_a_claim_that_is_there_twice_is_refused_naming_both_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text("one"))
    (tmp_path / "b.yaml").write_text(text("one"))

    with pytest.raises(ClaimUnusable, match=r"a\.yaml and .*b\.yaml"):
        ClaimDirectory(tmp_path).read(ClaimRef("default", "one"))


@pytest.mark.parametrize("broken", [b"a: [", b"\xff\xfe\xfa", b"a: b: c"])
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


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClaimUnreadable, match="nowhere"):
        ClaimDirectory(tmp_path / "nowhere").read(ClaimRef("default", "one"))


@pytest.mark.parametrize(
    "odd", ["[]", "7", "null", "kind: ResourceClaim", "kind: ResourceClaim\nmetadata: 7"]
)
def test_documents_of_odd_shapes_are_passed_over(tmp_path: Path, odd: str) -> None:
    (tmp_path / "a.yaml").write_text(f"{odd}\n---\n{text('one')}")

    assert ClaimDirectory(tmp_path).read(ClaimRef("default", "one"))
