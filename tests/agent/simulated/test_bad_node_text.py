"""A node file that is no YAML, no mapping, too deep, too large or unreadable is refused with its place."""

from __future__ import annotations

import re

import pytest

from agent.hardware.simulated import InvalidNodeFile, load_node, node_text, parse_node

DGX = "dgx-a100"


@pytest.mark.parametrize(
    ("text", "place", "rule"),
    [
        ("name: [", "line 1, column 8", "not YAML"),
        ("name: a\nname: b", "line 2, column 1", "'name' is given twice"),
        ("name: &a x\nsummary: *a", "line 2", "aliases"),
        ("[1, 2]: x", "line 1, column 1", "single words"),
        ("name: !!python/object:os.system x", "line 1", "could not determine a constructor"),
        ("name: \x00", "", "not YAML"),
    ],
)
def test_what_is_not_yaml_is_refused_with_its_place(text: str, place: str, rule: str) -> None:
    with pytest.raises(InvalidNodeFile) as refused:
        parse_node("mine.yaml", text)

    assert refused.value.field.startswith(place)
    assert rule in str(refused.value)


@pytest.mark.parametrize("content", ["", "null", "- 1", "machine", "7"])
def test_a_document_that_is_no_mapping_is_told_that_it_must_be_one(content: str) -> None:
    with pytest.raises(InvalidNodeFile) as refused:
        parse_node("mine.yaml", content)

    assert str(refused.value).startswith("node file mine.yaml: ")
    assert "the document must be a mapping" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "column"),
    [("[" * 5000, 65), ("a: " + "{b: " * 3000 + "1" + "}" * 3000, 253)],
    ids=["lists", "maps"],
)
def test_deep_nesting_is_refused_with_its_place_and_the_limit(text: str, column: int) -> None:
    with pytest.raises(InvalidNodeFile) as refused:
        parse_node("mine.yaml", text)

    assert "nested deeper than 64 levels" in str(refused.value)
    assert refused.value.field == f"line 1, column {column}"


def test_a_file_beyond_the_limit_is_refused_unread(tmp_path) -> None:
    path = tmp_path / "node.yaml"
    with path.open("wb") as file:
        file.truncate(3 * 2**30)

    with pytest.raises(InvalidNodeFile) as refused:
        load_node(str(path))

    assert str(refused.value) == f"node file {path}: is larger than 256 KiB"


def test_a_file_that_cannot_be_read_is_refused(tmp_path) -> None:
    path = tmp_path / "node.yaml"
    path.write_bytes(b"name: \xff")

    with pytest.raises(InvalidNodeFile) as refused:
        load_node(str(path))

    assert "cannot be read" in str(refused.value)


def test_an_address_may_stand_without_quotes() -> None:
    text = node_text(DGX)

    bare = re.sub(r'"(0000:[^"]*)"', r"\1", text)

    assert bare != text
    assert parse_node(DGX, bare) == load_node(DGX)
