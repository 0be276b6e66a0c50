"""A long input is followed on a terminal's standard error, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from tangram.program.progress import reading
from tangram.program.streams import messages_as


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, length: int, *, json: bool = False) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with messages_as(json=json), reading("slices.yaml", length) as tell:
        if tell is not None:
            tell(length // 2)
    return stream.getvalue()


def test_a_terminal_is_told_how_far_it_is_and_the_line_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = told(Terminal(), monkeypatch, 24_000_000)

    line = "tangram: reading slices.yaml: 50 %"
    assert text.split("\r") == ["", "tangram: reading slices.yaml: 0 %", line, " " * len(line), ""]


def test_a_short_input_a_pipe_and_a_program_are_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(Terminal(), monkeypatch, 1000) == ""
    assert told(io.StringIO(), monkeypatch, 24_000_000) == ""
    assert told(Terminal(), monkeypatch, 24_000_000, json=True) == ""
