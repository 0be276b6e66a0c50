"""Names in files may have any character: none of them reaches a terminal as a command, or forges a line."""

from __future__ import annotations

import unicodedata

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from tangram.__main__ import main
from tangram.program.output import Output
from tangram.program.streams import complain, harmless, one_line

FORGED = "a\n1 document: 0 errors, 0 warnings\n::error file=x::text\x1b[8m\x9b31m\u202etxt\r\x07"


def is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc" or character in "\u202e\u2066"


@given(st.text())
def test_a_text_keeps_its_length_and_its_lines_and_has_no_control_character(text: str):
    shown = harmless(text)

    assert len(shown) == len(text)
    assert [at for at, one in enumerate(shown) if one == "\n"] == [
        at for at, one in enumerate(text) if one == "\n"
    ]
    assert not any(is_control(one) for one in shown if one not in "\n\t")
    assert harmless(shown) == shown
    assert len(one_line(text).split("\n")) == 1


@pytest.mark.parametrize("width", ["80", "200"])
def test_no_picture_prints_what_a_name_would_do_to_a_terminal(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    table = Table("name")
    table.add_row(FORGED)

    Output().show(table, Text(FORGED), FORGED)

    assert not any(is_control(one) for one in capsys.readouterr().out if one not in "\n\t")


def test_a_message_has_no_line_that_begins_with_text_out_of_a_name(capsys):
    complain(f"claim {FORGED} is left out")

    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("tangram: ")
    assert others
    assert all(line.startswith("  ") for line in others)
    assert "\x1b" not in "".join(others)


@pytest.mark.parametrize("field", ["name", "namespace"])
def test_validate_shows_such_a_name_on_its_line(field, tmp_path, capsys):
    name = "a\n1 document: 0 errors\n::error file=x::text\x1b[8m"
    request = {"name": "BAD_NAME", "exactly": {"deviceClassName": "gpu.tangram.dev"}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", field: name},
        "spec": {"devices": {"requests": [request]}},
    }
    (tmp_path / "in.yaml").write_text(yaml.safe_dump(claim))

    assert main(["validate", "-f", str(tmp_path / "in.yaml")]) == 2

    printed = capsys.readouterr()
    lines = (printed.out + printed.err).splitlines()
    assert any("BAD_NAME" in line for line in lines)
    assert not [line for line in lines if line.startswith(("::error", "1 document: 0"))]
    assert "\x1b" not in printed.out + printed.err
