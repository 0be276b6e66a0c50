"""Finds the line on which a value stands in YAML or JSON text, for messages about it.

Takes a text that ``daemon.documents`` has read and the path of a value; returns a line, or None.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

_INDEX: Final = re.compile(r"\[(\d+)\]")


def line_of(text: str, path: str) -> int | None:
    """Return the line of a value of the text's first document, counted from 1; None where nobody knows it.

    Shape: ``path`` such as ``rules[0].nodes.matchLabels``; the line of a key for a value that has one. Where
           the path leads to nothing, the line of the last value on it.
    """
    try:
        node = next(yaml.compose_all(text, yaml.CSafeLoader), None)
    except (yaml.YAMLError, RecursionError):
        return None
    if node is None:
        return None
    line, rest = node.start_mark.line, path
    while rest:
        found = _step(node, rest)
        if found is None:
            break
        line, node, rest = found
    return line + 1


def _step(node: yaml.Node, rest: str) -> tuple[int, yaml.Node, str] | None:
    """Go one step along a path: the line of what is there, the value, and the path that is left."""
    index = _INDEX.match(rest)
    if isinstance(node, yaml.SequenceNode):
        if index is None or int(index[1]) >= len(node.value):
            return None
        found = node.value[int(index[1])]
        return found.start_mark.line, found, rest[index.end() :].removeprefix(".")
    if not isinstance(node, yaml.MappingNode):
        return None
    keys = [pair for pair in node.value if _begins(rest, pair[0].value)]
    if not keys:
        return None
    key, value = max(keys, key=lambda pair: len(pair[0].value))
    return key.start_mark.line, value, rest[len(key.value) :].removeprefix(".")


def _begins(rest: str, key: object) -> bool:
    """Whether a path begins with a key, which may have dots itself."""
    return (
        isinstance(key, str) and bool(key) and rest.startswith(key) and rest[len(key) :][:1] in ("", ".", "[")
    )
