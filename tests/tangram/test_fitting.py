"""What commands print fits the terminal, and no name is cut: as a table, in narrow columns, or as blocks."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tangram.program.fitting import Column, FittingTable, Hanging
from tangram.program.output import Form, Output

COLUMNS = (Column("name"), Column("devices", is_right=True), Column("why not", is_prose=True))
NAME = "gpu-7-mig-1g-10gb-me-15"
WHY = "each of its memory slices is held by another claim of the same namespace"


def drawn(picture: object, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(picture)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_table_that_fits_has_one_line_per_row() -> None:
    lines = drawn(FittingTable(COLUMNS, [(NAME, "8", WHY)]), 120)

    assert lines == [f"{'name':23}  devices  why not", f"{NAME}        8  {WHY}"]


def test_in_less_room_only_sentences_take_several_lines() -> None:
    lines = drawn(FittingTable(COLUMNS, [(NAME, "8", WHY)]), 60)

    assert len(lines) > 2
    assert lines[1].startswith(f"{NAME}        8  each of")
    assert " ".join(line[34:].strip() for line in lines[1:]) == WHY


def test_in_still_less_each_row_is_a_block_and_an_empty_cell_is_left_out() -> None:
    lines = drawn(FittingTable(COLUMNS, [(NAME, "", WHY)]), 40)

    assert lines[0] == NAME
    assert lines[1].startswith("  why not: each of")
    assert all(line.startswith("    ") for line in lines[2:])
    assert " ".join(lines[1:]).replace("    ", " ").split() == ["why", "not:", *WHY.split()]


def test_in_a_block_short_facts_share_a_line_and_a_long_one_begins_the_next() -> None:
    columns = (Column("name"), Column("devices"), Column("memory"), Column("why", is_prose=True))
    lines = drawn(FittingTable(columns, [(f"{NAME}-{NAME}", "8", "40Gi", WHY)]), 50)

    assert lines[:2] == [f"{NAME}-{NAME}", "  devices: 8  memory: 40Gi"]
    assert lines[2].startswith("  why: each of")
    assert " ".join(lines[2:]).split() == ["why:", *WHY.split()]


@given(
    rows=st.lists(st.tuples(st.from_regex(r"[a-z0-9-]{1,30}", fullmatch=True), st.text("ab ", max_size=90))),
    width=st.integers(36, 120),
)
def test_no_line_is_wider_than_the_terminal_and_no_name_is_cut(
    rows: list[tuple[str, str]], width: int
) -> None:
    lines = drawn(FittingTable((Column("name"), Column("why", is_prose=True)), rows), width)

    assert all(len(line) <= width for line in lines)
    assert all(any(name in line for line in lines) for name, _ in rows)


@given(
    words=st.lists(st.from_regex(r"[a-z0-9-]{1,28}", fullmatch=True), min_size=1), indent=st.integers(0, 8)
)
def test_a_hanging_sentence_keeps_its_words_and_its_indent(words: list[str], indent: int) -> None:
    lines = drawn(Hanging(f"{' ' * indent}{' '.join(words)}"), 60)

    assert " ".join(lines).split() == words
    assert all(line.startswith(" " * (indent + 2)) for line in lines[1:])
    assert all(len(line) <= 60 for line in lines)


@pytest.mark.parametrize(("form", "text"), [(Form.JSON, '{"a":1}\n'), (Form.YAML, "---\na: 1\n")])
def test_one_of_many_values_is_a_line_of_json_or_a_yaml_document(
    capsys: pytest.CaptureFixture[str], form: Form, text: str
) -> None:
    Output(form).json_line({"a": 1})

    assert capsys.readouterr().out == text


def test_json_and_yaml_are_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Form.JSON).json({"names": ["a", "b"], "on": True})
    value = json.loads(capsys.readouterr().out)
    Output(Form.YAML).json(value)

    assert capsys.readouterr().out == "names:\n- a\n- b\n'on': true\n"
