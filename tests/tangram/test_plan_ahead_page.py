"""Every command of docs/plan-ahead.md prints what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "plan-ahead.md"
BLOCK = re.compile(r"```console\n\$ tangram (.*)\n((?:.*\n)*?)```")
SHOWN = [(command, output) for command, output in BLOCK.findall(PAGE.read_text())]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command[:60] for command, _ in SHOWN])
def test_the_page_shows_what_the_command_prints(tangram, monkeypatch, command, output):
    monkeypatch.chdir(ROOT)

    answer = tangram(*shlex.split(command))

    assert answer.status in (0, 1)
    assert answer.err == ""
    assert answer.out == output
