"""One metric, and the text of each of its series, which is kept until the series changes.

Prometheus's client keeps the values and writes the text. Left alone it writes all series of a metric anew
when one has changed: with hundreds of prepared devices that was most of the time of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from daemon.metrics.definition import Definition, Labels

# When each series began would be one more gauge for each counter; Prometheus notices restarts without it.
disable_created_metrics()  # type: ignore[no-untyped-call]

Values = tuple[str, ...]
"""The values of a series' labels, in the order of the definition."""


@dataclass(slots=True)
class _Series:
    """One series.

    Shape: ``client`` is what Prometheus's client has of it; ``value`` what it was set to last, None where
           something was added since; ``text`` its lines, None where they are not those of its value.
    """

    client: Any
    value: float | None = None
    text: str | None = None


class Family:
    """The series of one metric, in the order in which they came. The caller keeps other threads away.

    Shape: ``name`` as Prometheus has it; ``is_shown`` whether there is something to say of the metric.
    """

    def __init__(self, name: str, definition: Definition) -> None:
        self._kind = definition.kind
        self._labels = definition.labels
        self._known = frozenset(definition.labels)
        self._parent = _made(name, definition)
        self._series: dict[Values, _Series] = {}
        self._head = self._written(())
        self.is_shown = definition.kind != "gauge"  # which says nothing before it has a value
        if self.is_shown and not self._labels:
            self._of(())

    def add(self, labels: Mapping[str, str], amount: float) -> None:
        """Add to a counter, or to a gauge. Raises: ValueError for labels that it does not have."""
        self._changed(self.values_of(labels)).client.inc(amount)

    def observe(self, labels: Mapping[str, str], value: float) -> None:
        """Add a value to a histogram. Raises: ValueError for labels that it does not have."""
        self._changed(self.values_of(labels)).client.observe(value)

    def set(self, values: Values, value: float) -> None:
        """Set a series of a gauge."""
        known = self._series.get(values)
        if known is None or known.value != value:
            series = self._changed(values)
            series.client.set(value)
            series.value = value

    def replace(self, series: Mapping[Labels, float]) -> None:
        """Set series of a gauge, and remove all others.

        Raises: ValueError for labels that it does not have.
        """
        wanted = {self._in_order(labels): value for labels, value in series.items()}
        for gone in [values for values in self._series if values not in wanted]:
            del self._series[gone]
            self._parent.remove(*gone)
        for values, value in wanted.items():
            self.set(values, value)

    def text(self) -> str:
        """Return its lines as Prometheus's client writes them."""
        if any(one.text is None for one in self._series.values()):
            self._write_stale()
        return self._head + "".join(one.text or "" for one in self._series.values())

    def values_of(self, labels: Mapping[str, str]) -> Values:
        """Return the values of labels. Raises: ValueError for labels that it does not have."""
        if labels.keys() != self._known:
            raise self._foreign(labels)
        return tuple(labels[label] for label in self._labels)

    def refuse_addition(self, labels: Mapping[str, str], amount: float) -> None:
        """Raises: ValueError for foreign labels, for a histogram, and for a counter that would fall."""
        if labels.keys() != self._known:
            raise self._foreign(labels)
        if self._kind == "histogram" or (amount < 0 and self._kind == "counter"):
            raise ValueError(f"{self._parent}: {amount} cannot be added to a {self._kind}")

    def refuse_observation(self, labels: Mapping[str, str]) -> None:
        """Raises: ValueError for foreign labels, and for what is no histogram."""
        if labels.keys() != self._known:
            raise self._foreign(labels)
        if self._kind != "histogram":
            raise ValueError(f"{self._parent}: a {self._kind} observes nothing")

    def _foreign(self, labels: Mapping[str, str]) -> ValueError:
        return ValueError(f"{self._parent}: it has the labels {self._labels}, not {tuple(labels)}")

    def _in_order(self, labels: Labels) -> Values:
        names, values = zip(*labels, strict=True) if labels else ((), ())
        return values if names == self._labels else self.values_of(dict(labels))

    def _changed(self, values: Values) -> _Series:
        series = self._of(values)
        series.value = series.text = None
        self.is_shown = True
        return series

    def _of(self, values: Values) -> _Series:
        if values not in self._series:
            self._series[values] = _Series(self._parent.labels(*values) if values else self._parent)
        return self._series[values]

    def _write_stale(self) -> None:
        """Let the client write the series that have no text, all at once."""
        stale = {values: one for values, one in self._series.items() if one.text is None}
        samples = {values: self._samples(values, one) for values, one in stale.items()}
        written = self._written(sample for own in samples.values() for sample in own)
        lines = iter(written[len(self._head) :].split("\n"))
        for values, own in samples.items():
            stale[values].text = "".join(f"{line}\n" for line in islice(lines, len(own)))

    def _samples(self, values: Values, series: _Series) -> list[Sample]:
        own = dict(zip(self._labels, values, strict=True))
        found = (sample for metric in series.client.collect() for sample in metric.samples)
        return [sample._replace(labels={**own, **sample.labels}) for sample in found]

    def _written(self, samples: Iterable[Sample]) -> str:
        """Return head and lines of some of the samples."""
        (metric,) = self._parent.describe()
        metric.samples.extend(samples)
        return generate_latest(_Told(metric)).decode()


@dataclass(frozen=True, slots=True)
class _Told(Collector):
    metric: Metric

    def collect(self) -> Iterable[Metric]:
        return (self.metric,)


def _made(name: str, definition: Definition) -> MetricWrapperBase:
    if definition.kind == "histogram":
        return Histogram(name, definition.help, definition.labels, buckets=definition.buckets, registry=None)
    kind = Counter if definition.kind == "counter" else Gauge
    return kind(name, definition.help, definition.labels, registry=None)
