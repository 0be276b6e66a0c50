"""Makes Event objects of occurrences, and counts equal occurrences as a series.

Takes occurrences and the time; returns writes. Nothing is sent here. Equal occurrences about one object are
one event with a count: the first is written at once, the count at most once a minute.

Source: events.k8s.io/v1; KEP-383, "Redesign Event API".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self

from kube_api.objects import Object

EventType = Literal["Normal", "Warning"]

_NOTE_BYTES: Final = 1024  # the server refuses longer ones
_WORD_LENGTH: Final = 128  # reason, action
_NAME_LENGTH: Final = 230  # leaves space for the time within the 253 characters of a name
_COUNT_EVERY_S: Final = 60.0
_SERIES_ENDS_S: Final = 360.0
_REMEMBERED: Final = 256
_NOWHERE: Final = "default"  # the namespace of events about objects without one


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """The object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""

    @classmethod
    def of(cls, found: Object) -> Self:
        """Return the reference to an object that was read."""
        return cls(
            api_version=found.document["apiVersion"],
            kind=found.document["kind"],
            name=found.metadata.name,
            namespace=found.metadata.namespace,
            uid=found.metadata.uid,
        )

    @property
    def document(self) -> dict[str, str]:
        """Return the reference as events carry it."""
        said = {"apiVersion": self.api_version, "kind": self.kind, "name": self.name}
        return said | {key: value for key in ("namespace", "uid") if (value := getattr(self, key))}


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened, without its time: equal ones form one series."""

    regarding: Regarding
    type: EventType
    reason: str
    message: str
    action: str


@dataclass(frozen=True, slots=True)
class NewEvent:
    """Create an event."""

    occurrence: Occurrence
    namespace: str
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CountedAgain:
    """Update the count of an event."""

    occurrence: Occurrence
    namespace: str
    name: str
    patch: dict[str, Any]


Write = NewEvent | CountedAgain


@dataclass(slots=True)
class _Series:
    name: str
    count: int
    last_s: float
    written_count: int
    written_s: float


@dataclass(slots=True)
class EventLedger:
    """The events that one program has written lately. For one thread."""

    component: str
    instance: str
    _series: dict[Occurrence, _Series] = field(default_factory=dict)
    _last_ns: int = 0

    def observe(self, occurrence: Occurrence, now_s: float) -> Write | None:
        """Return what to write for an occurrence, None if it is only counted for now."""
        known = self._series.get(occurrence)
        if known is None or now_s - known.last_s > _SERIES_ENDS_S:
            return self._begin(occurrence, now_s)
        known.count += 1
        known.last_s = now_s
        return self._count(occurrence, known, now_s) if now_s - known.written_s >= _COUNT_EVERY_S else None

    def unwritten(self, now_s: float) -> list[Write]:
        """Return the counts that are not written yet, and forget the series that have ended."""
        writes: list[Write] = [
            self._count(occurrence, series, now_s)
            for occurrence, series in self._series.items()
            if series.count > series.written_count
        ]
        over = [one for one, series in self._series.items() if now_s - series.last_s > _SERIES_ENDS_S]
        for occurrence in over:
            del self._series[occurrence]
        return writes

    def forget(self, occurrence: Occurrence) -> None:
        """Treat an occurrence as new when it comes again: its event could not be written, or is gone."""
        self._series.pop(occurrence, None)

    def _begin(self, occurrence: Occurrence, now_s: float) -> NewEvent:
        self._series.pop(occurrence, None)
        while len(self._series) >= _REMEMBERED:
            del self._series[next(iter(self._series))]
        self._last_ns = max(int(now_s * 1e9), self._last_ns + 1)  # names differ also within one tick
        name = f"{occurrence.regarding.name[:_NAME_LENGTH].rstrip('-.')}.{self._last_ns:x}"
        self._series[occurrence] = _Series(name, 1, now_s, 1, now_s)
        namespace = _namespace(occurrence)
        document = {
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": _time(now_s),
            "reportingController": self.component,
            "reportingInstance": self.instance[:_WORD_LENGTH],
            "type": occurrence.type,
            "reason": occurrence.reason[:_WORD_LENGTH],
            "action": occurrence.action[:_WORD_LENGTH],
            "note": occurrence.message.encode(errors="replace")[:_NOTE_BYTES].decode(errors="ignore"),
            "regarding": occurrence.regarding.document,
        }
        return NewEvent(occurrence, namespace, document)

    def _count(self, occurrence: Occurrence, series: _Series, now_s: float) -> CountedAgain:
        series.written_count = series.count
        series.written_s = now_s
        patch = {"series": {"count": series.count, "lastObservedTime": _time(series.last_s)}}
        return CountedAgain(occurrence, _namespace(occurrence), series.name, patch)


def _namespace(occurrence: Occurrence) -> str:
    return occurrence.regarding.namespace or _NOWHERE


def _time(seconds: float) -> str:
    """Return the API's MicroTime."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
