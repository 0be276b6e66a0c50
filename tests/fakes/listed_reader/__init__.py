"""For fakes of an API server that list documents: what a command reads of each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tangram.clusters import Reading, V


class ListedReader:
    """Reads objects one by one from ``list``, which each fake server has to define."""

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        raise NotImplementedError

    def read(self, kind: str, reading: Reading[V], fields: str = "") -> tuple[V, ...]:
        return tuple(map(reading.document, self.list(kind, fields)))
