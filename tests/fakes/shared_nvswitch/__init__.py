"""The documented machine in Shared NVSwitch mode; also without VFs, which take long to write."""

from __future__ import annotations

from pathlib import Path

from agent.hardware.simulated import NodeFile, parse_node

NAME = "hgx-h100-shared"
FILE = Path(__file__).parents[3] / f"docs/nodes/{NAME}.yaml"
TEXT = FILE.read_text(encoding="utf-8")
SMALL = TEXT.replace(", vfs: 8, total_vfs: 16", "")


def shared_node(old: str = "", new: str = "") -> NodeFile:
    """The machine without VFs, with one text of its file in the place of another."""
    assert old in SMALL
    return parse_node(NAME, SMALL.replace(old, new) if old else SMALL)
