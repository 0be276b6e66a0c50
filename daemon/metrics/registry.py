"""The metrics of one program, and their text for Prometheus. Safe to use from any thread."""

from __future__ import annotations

import platform
import threading
from collections import deque
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from daemon.metrics.definition import Definition, Labels, full_name
from daemon.metrics.family import Family

_KEPT: Final = 256
"""How many additions are kept before they are carried out. A claim adds about twenty."""

Addition = tuple[Callable[[Mapping[str, str], float], None], Mapping[str, str], float]
"""What is to be added: how, the labels of the series, the amount or the value."""


class Registry:
    """Holds the values of a fixed set of metrics, by name and labels.

    Shape: ``prefix`` stands before every name in the text; a name that has no definition is a KeyError, and
           labels that are not those of the definition a ValueError, as is what its kind cannot take.
    """

    def __init__(self, prefix: str, definitions: Mapping[str, Definition]) -> None:
        self._lock = threading.Lock()
        self._additions = deque[Addition]()
        self._families = {
            name: Family(full_name(prefix, name, definition), definition)
            for name, definition in definitions.items()
        }

    def count(self, name: str, **labels: str) -> None:
        """Add one to a counter."""
        self.add(name, 1.0, **labels)

    def add(self, name: str, amount: float, **labels: str) -> None:
        """Add to a counter, or to a gauge. It is carried out before anybody reads.

        A claim adds ten times, and nobody waits for that: so this and ``observe`` call little.
        """
        family = self._families[name]
        family.refuse_addition(labels, amount)
        self._additions.append((family.add, labels, amount))
        if len(self._additions) > _KEPT:
            self.settle()

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Add a value to a histogram."""
        family = self._families[name]
        family.refuse_observation(labels)
        self._additions.append((family.observe, labels, value))
        if len(self._additions) > _KEPT:
            self.settle()

    def timed(self, name: str, clock: Callable[[], float], **labels: str) -> TimedBlock:
        """Add the time of a ``with`` block to a histogram, also if it raises. Units: seconds of ``clock``."""
        return TimedBlock(self, name, clock, labels)

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._carry_out()
            family = self._families[name]
            family.set(family.values_of(labels), value)

    def only(self, name: str, label: str, values: Mapping[str, float]) -> None:
        """Replace all series of a gauge that has one label."""
        self.replace(name, {((label, key),): value for key, value in values.items()})

    def replace(self, name: str, values: Mapping[Labels, float]) -> None:
        """Replace all series of a gauge, whatever its labels. Shape: labels by name."""
        with self._lock:
            self._carry_out()
            self._families[name].replace(values)

    def text(self) -> str:
        """Return every metric that has a value, in Prometheus's text form."""
        with self._lock:
            self._carry_out()
            return "".join(family.text() for family in self._families.values() if family.is_shown)

    def settle(self) -> None:
        """Carry out what was added. Whoever reads does so, too: this is for a moment when nobody waits."""
        with self._lock:
            self._carry_out()

    def _carry_out(self) -> None:
        """Add what was kept, in its order. The lock is held."""
        while self._additions:
            how, labels, amount = self._additions.popleft()
            how(labels, amount)


class TimedBlock:
    """The block whose time is measured. Every claim has several, and a generator would cost twice as much."""

    __slots__ = ("_began", "_clock", "_labels", "_metrics", "_name")

    def __init__(
        self, metrics: Registry, name: str, clock: Callable[[], float], labels: Mapping[str, str]
    ) -> None:
        self._metrics, self._name, self._clock, self._labels = metrics, name, clock, labels

    def __enter__(self) -> None:
        self._began = self._clock()

    def __exit__(self, *_error: object) -> None:
        self._metrics.observe(self._name, self._clock() - self._began, **self._labels)


def set_build_info(metrics: Registry) -> None:
    """Set the gauge ``build_info``, which ``BUILD_INFO`` defines."""
    metrics.set("build_info", 1.0, version=release(), python=platform.python_version())


def release() -> str:
    """Return the version of this program, ``unknown`` where it is not installed."""
    try:
        return version("tangram-dra")
    except PackageNotFoundError:  # the folders alone, without an installation
        return "unknown"
