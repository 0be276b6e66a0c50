"""The metrics and labels that a PromQL expression names. Not a parser of PromQL: it reads names, not meaning.

Strings are cut out first, so that nothing in them is taken for a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SERIES = re.compile(r"\b([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?\s*(\()?")
_GROUPED = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_WORDS = {
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
    "or",
    "and",
    "unless",
    "offset",
    "bool",
}


@dataclass(frozen=True)
class Named:
    """One metric with the labels that its selector names."""

    metric: str
    labels: frozenset[str]


def metrics_of(expression: str) -> Iterator[Named]:
    """Yield every metric that an expression selects."""
    text = _GROUPED.sub(" ", _STRING.sub('""', expression))
    text = re.sub(r"\[[^\]]*\]", "", text)  # ranges
    for name, selector, opening in _SERIES.findall(text):
        if opening or name in _WORDS:
            continue
        yield Named(name, frozenset(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector)))


def grouping_of(expression: str) -> frozenset[str]:
    """Return the labels by which an expression groups or joins."""
    found = _GROUPED.findall(_STRING.sub('""', expression))
    return frozenset(label.strip() for labels in found for label in labels.split(",") if label.strip())
