"""Entries of slices that the API server refuses: left out, told once, and tried again when something changes.

A server refuses a whole slice for one entry. Without this a device that it does not take would keep the pool
incomplete for ever. An entry is sent again when its content changes, and after the server may have changed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent.publishing.metrics import Metrics
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.refusals import SliceEntry, contents_of, without_entries

_log = logging.getLogger("agent.publishing")
_KINDS: Final = {"devices": "device", "deviceMixins": "mixin", "sharedCounters": "counter set"}

Refused = Mapping[SliceEntry, Mapping[str, Any]]
"""Entries with the content that was refused."""


class Refusals:
    """What the server refused of one kind of slice. For one thread."""

    def __init__(self, kind: str, metrics: Metrics) -> None:
        self._kind = kind
        self._metrics = metrics
        self._known: dict[SliceEntry, Mapping[str, Any]] = {}

    def note(self, refused: Refused, reason: str) -> bool:
        """Leave these entries out from now on, and tell; return whether one of them is new."""
        new = {entry: content for entry, content in refused.items() if self._known.get(entry) != content}
        for entry in new:
            what = f"{_KINDS[entry.kind]} {entry.name}"
            _log.warning("the rest of the %ss is published without %s: %s", self._kind, what, reason)
        self._known |= new
        self._count()
        return bool(new)

    def without(self, slices: Sequence[Document]) -> tuple[Document, ...]:
        """Return slices without what was refused as it is now."""
        if not self._known:
            return tuple(slices)
        present = contents_of(slices, self._known.keys())
        return without_entries(
            slices, {key for key, content in present.items() if self._known[key] == content}
        )

    def settle(self, slices: Sequence[Document]) -> None:
        """Forget what all the wanted slices no longer have, or have with another content."""
        if not self._known:
            return
        present = contents_of(slices, self._known.keys())
        self._known = {key: content for key, content in self._known.items() if present.get(key) == content}
        self._count()

    def forget(self) -> None:
        """Send everything again: the server may accept it now."""
        self._known = {}
        self._count()

    def _count(self) -> None:
        self._metrics.set("refused_entries", len(self._known), kind=self._kind)
