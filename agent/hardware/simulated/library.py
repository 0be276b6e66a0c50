"""Node files: one YAML text per machine, shipped in ``nodes/`` or written by a user.

Takes a name or path; returns a checked ``NodeFile``.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Final

from agent.hardware.simulated.errors import InvalidNodeFile, UnknownNode
from agent.hardware.simulated.first_state import first_state
from agent.hardware.simulated.node import NodeFile, described

MAX_BYTES: Final = 256 * 2**10
"""Sixty times the largest shipped file; reading this much takes seconds."""

_FOLDER: Final = resources.files("agent.hardware.simulated") / "nodes"


@cache
def shipped_nodes() -> tuple[str, ...]:
    """Return the names of the machines that come with the package, sorted."""
    return tuple(
        sorted(file.name.removesuffix(".yaml") for file in _FOLDER.iterdir() if file.name.endswith(".yaml"))
    )


def node_text(name: str) -> str:
    """Return the YAML text of a shipped machine. Raises: UnknownNode."""
    if name not in shipped_nodes():
        raise UnknownNode(name, shipped_nodes())
    return (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def load_node(name_or_path: str) -> NodeFile:
    """Return a shipped machine by name, or a user's machine by the path of its file.

    Raises: UnknownNode if it is neither; InvalidNodeFile if the file breaks a rule or cannot be read.
    """
    if name_or_path in shipped_nodes():
        return parse_node(name_or_path, node_text(name_or_path))
    path = Path(name_or_path)
    if not os.path.isfile(path):  # whatever the text: none of its errors comes here
        raise UnknownNode(name_or_path, shipped_nodes())
    try:
        return parse_node(name_or_path, _bounded(path).decode())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidNodeFile(name_or_path, "", None, f"cannot be read: {error}") from error


def _bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidNodeFile(str(path), "", None, f"is larger than {MAX_BYTES // 2**10} KiB")
    return data


@lru_cache(maxsize=16)
def parse_node(source: str, text: str) -> NodeFile:
    """Return the machine that a text describes. Raises: InvalidNodeFile.

    Each process that attaches to a machine reads the machine's text anew; a text is parsed once.
    """
    node = described(source, text)
    first_state(node)
    return node
