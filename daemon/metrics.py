"""The counters and gauges of one program, and their text for Prometheus. Safe to use from any thread.

Source: Prometheus text exposition format 0.0.4.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """What one metric is. Shape: ``help`` is one sentence."""

    kind: Literal["counter", "gauge"]
    help: str


class Registry:
    """Holds the values of a fixed set of metrics, by name and labels.

    Shape: ``prefix`` stands before every name in the text; a name that has no definition is a KeyError.
    """

    def __init__(self, prefix: str, definitions: Mapping[str, Definition]) -> None:
        self._prefix = prefix
        self._definitions = definitions
        self._lock = threading.Lock()
        self._values: dict[str, dict[Labels, float]] = {name: {} for name in definitions}

    def count(self, name: str, **labels: str) -> None:
        """Add one to a counter."""
        self.add(name, 1.0, **labels)

    def add(self, name: str, amount: float, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            series = self._values[name]
            key = tuple(sorted(labels.items()))
            series[key] = series.get(key, 0.0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._values[name][tuple(sorted(labels.items()))] = value

    def only(self, name: str, label: str, values: Mapping[str, float]) -> None:
        """Replace all series of a gauge that has one label."""
        with self._lock:
            self._values[name] = {((label, key),): value for key, value in values.items()}

    def replace(self, name: str, values: Mapping[Labels, float]) -> None:
        """Replace all series of a gauge, whatever its labels. Shape: labels by name."""
        with self._lock:
            self._values[name] = dict(values)

    def text(self) -> str:
        """Return every metric that has a value, in Prometheus's text form."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name, definition in self._definitions.items():
            if not self._values[name]:
                continue
            full_name = f"{self._prefix}{name}"
            yield f"# HELP {full_name} {definition.help}"
            yield f"# TYPE {full_name} {definition.kind}"
            for labels, value in sorted(self._values[name].items()):
                shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
                yield f"{full_name}{{{shown}}} {value:.17g}" if shown else f"{full_name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
