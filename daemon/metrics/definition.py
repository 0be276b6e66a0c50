"""What a metric is: a program names all its metrics with their labels in one table of these.

From the tables the documents are written and the rules of alerts are checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Labels = tuple[tuple[str, str], ...]
"""The labels of one series with their values, by name."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What one metric is.

    Shape: ``help`` is one sentence; ``labels`` are the names of its labels; ``buckets`` the upper bounds of a
           histogram, ascending; ``prefix`` stands before its name, None for the prefix of its program.
    """

    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    prefix: str | None = None


BUILD_INFO: Final = Definition(
    "gauge", "1, with the version of the program and of Python.", ("version", "python")
)


def full_name(prefix: str, name: str, definition: Definition) -> str:
    """Return the name under which Prometheus knows a metric."""
    return f"{prefix if definition.prefix is None else definition.prefix}{name}"
