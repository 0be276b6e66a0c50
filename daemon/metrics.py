"""The metrics of one program, and their text for Prometheus. Safe to use from any thread.

The values are kept by Prometheus's own client. Here are the definitions: a program names all its metrics with
their labels in one table, from which the documents are written and the rules of alerts are checked.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Literal

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics import MetricWrapperBase

# When each series began would be one more gauge for each counter; Prometheus notices restarts without it.
disable_created_metrics()  # type: ignore[no-untyped-call]

Labels = tuple[tuple[str, str], ...]
_KINDS: Final[Mapping[str, type[Counter | Gauge]]] = {"counter": Counter, "gauge": Gauge}


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


class Registry:
    """Holds the values of a fixed set of metrics, by name and labels.

    Shape: ``prefix`` stands before every name in the text; a name that has no definition is a KeyError, and
           labels that are not those of the definition a ValueError.
    """

    def __init__(self, prefix: str, definitions: Mapping[str, Definition]) -> None:
        self._lock = threading.Lock()
        self._definitions = definitions
        self._metrics: dict[str, Any] = {}
        self._shown: set[str] = set()
        self._texts: dict[str, str] = {}  # of metrics that have not changed since
        self._replaced: dict[str, dict[Labels, float]] = {}
        for name, definition in definitions.items():
            self._metrics[name] = _made(full_name(prefix, name, definition), definition)
            if definition.kind != "gauge":  # which says nothing before it has a value
                self._shown.add(name)

    def count(self, name: str, **labels: str) -> None:
        """Add one to a counter."""
        self.add(name, 1.0, **labels)

    def add(self, name: str, amount: float, **labels: str) -> None:
        """Add to a counter, or to a gauge."""
        with self._lock:
            self._series(name, labels).inc(amount)

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Add a value to a histogram."""
        with self._lock:
            self._series(name, labels).observe(value)

    @contextmanager
    def timed(self, name: str, clock: Callable[[], float], **labels: str) -> Iterator[None]:
        """Add how long the block took to a histogram, also where it failed. Units: seconds of ``clock``."""
        began = clock()
        try:
            yield
        finally:
            self.observe(name, clock() - began, **labels)

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._series(name, labels).set(value)

    def only(self, name: str, label: str, values: Mapping[str, float]) -> None:
        """Replace all series of a gauge that has one label."""
        self.replace(name, {((label, key),): value for key, value in values.items()})

    def replace(self, name: str, values: Mapping[Labels, float]) -> None:
        """Replace all series of a gauge, whatever its labels. Shape: labels by name."""
        with self._lock:
            if self._replaced.get(name) == values:
                return
            before = self._replaced.get(name)
            if before is None:  # nothing is known of its series
                self._metrics[name].clear()
                self._texts.pop(name, None)
                before = {}
            for labels in before.keys() - values.keys():
                self._metrics[name].remove(*self._in_order(name, dict(labels)))
                self._texts.pop(name, None)
            for labels, value in values.items():
                if before.get(labels) != value:
                    self._series(name, dict(labels)).set(value)
            self._replaced[name] = dict(values)

    def text(self) -> str:
        """Return every metric that has a value, in Prometheus's text form."""
        with self._lock:
            return "".join(self._text_of(name) for name in self._metrics if name in self._shown)

    def _in_order(self, name: str, labels: Mapping[str, str]) -> list[str]:
        return [labels[label] for label in self._definitions[name].labels]

    def _text_of(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = generate_latest(self._metrics[name]).decode()
        return self._texts[name]

    def _series(self, name: str, labels: Mapping[str, str]) -> Any:
        metric = self._metrics[name]
        self._shown.add(name)
        self._texts.pop(name, None)
        self._replaced.pop(name, None)
        return metric.labels(**labels) if labels else metric


def full_name(prefix: str, name: str, definition: Definition) -> str:
    """Return the name under which Prometheus knows a metric."""
    return f"{prefix if definition.prefix is None else definition.prefix}{name}"


def set_build_info(metrics: Registry) -> None:
    """Set the gauge ``build_info``, which ``BUILD_INFO`` defines."""
    metrics.set("build_info", 1.0, version=release(), python=platform.python_version())


def release() -> str:
    """Return the version of this program, ``unknown`` where it is not installed."""
    try:
        return version("tangram-dra")
    except PackageNotFoundError:  # the folders alone, without an installation
        return "unknown"


def _made(name: str, definition: Definition) -> MetricWrapperBase:
    if definition.kind == "histogram":
        return Histogram(name, definition.help, definition.labels, buckets=definition.buckets, registry=None)
    return _KINDS[definition.kind](name, definition.help, definition.labels, registry=None)
