"""What the agent counts, and how Prometheus reads it. Safe to use from any thread.

Source: Prometheus text exposition format 0.0.4.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Final

_PREFIX: Final = "tangram_agent_"
_HELP: Final[Mapping[str, tuple[str, str]]] = {
    "slices": ("gauge", "Slices of this node that the API server holds, by kind."),
    "devices": ("gauge", "Devices of this node that are published, by kind."),
    "left_out_devices": ("gauge", "Devices that could not be read or described."),
    "writes_total": ("counter", "Writes to the API server that succeeded, by kind and verb."),
    "failures_total": ("counter", "Attempts to publish that failed, by kind."),
    "discoveries_total": ("counter", "Times that the machine was read."),
    "discovery_failures_total": ("counter", "Times that the machine could not be read."),
    "unforeseen_failures_total": (
        "counter",
        "Failures that nobody foresaw, by what failed; the log has the traceback.",
    ),
    "watch_interruptions_total": ("counter", "Broken watches, by kind."),
    "form": ("gauge", "1 for the form in which the devices are published; fixed: only what cannot overlap."),
    "dropped_field": ("gauge", "1 for each field that the API server drops from our slices."),
    "last_published_timestamp_seconds": ("gauge", "When the API server last held all that we want, by kind."),
}

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counters and gauges by name and labels."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[Labels, float]] = {name: {} for name in _HELP}

    def count(self, name: str, **labels: str) -> None:
        """Add one."""
        with self._lock:
            series = self._values[name]
            key = tuple(sorted(labels.items()))
            series[key] = series.get(key, 0.0) + 1

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._values[name][tuple(sorted(labels.items()))] = value

    def only(self, name: str, label: str, values: Mapping[str, float]) -> None:
        """Replace all series of a gauge that has one label."""
        with self._lock:
            self._values[name] = {((label, key),): value for key, value in values.items()}

    def text(self) -> str:
        """Return everything in Prometheus's text form."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name, (kind, meaning) in _HELP.items():
            if not self._values[name]:
                continue
            yield f"# HELP {_PREFIX}{name} {meaning}"
            yield f"# TYPE {_PREFIX}{name} {kind}"
            for labels, value in sorted(self._values[name].items()):
                shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
                yield f"{_PREFIX}{name}{{{shown}}} {value:.17g}" if shown else f"{_PREFIX}{name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
