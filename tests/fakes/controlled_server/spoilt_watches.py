"""Watches as they are at a bad time: events late, doubled and repeated, streams that end, versions too old.

Takes the lines of a watch; returns those that the client gets. What happens is drawn from a seed.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator
from itertools import count
from random import Random
from threading import Event

EXPIRED = {
    "type": "ERROR",
    "object": {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": "too old resource version",
        "reason": "Expired",
        "code": 410,
    },
}
_LONGEST_DELAY_S = 0.4
_REPEATED = 5  # of this many earlier lines one comes again


class SpoiltWatches:
    """Spoils watches. Shape: ``done`` counts what happened, by its name."""

    def __init__(self, seed: int) -> None:
        self.done: Counter[str] = Counter()
        self._seeds = (seed + number for number in count())

    def __call__(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        random, earlier = Random(next(self._seeds)), deque[bytes](maxlen=_REPEATED)
        kinds = ("closed", "expired", "late", "doubled", "repeated", "as it is")
        for line in lines:
            (kind,) = random.choices(kinds, (1, 1, 4, 3, 3, 4))
            self.done[kind] += 1
            match kind:
                case "closed":
                    return
                case "expired":
                    yield json.dumps(EXPIRED).encode() + b"\n"
                    return
                case "late":
                    Event().wait(random.uniform(0, _LONGEST_DELAY_S))
            yield line
            if kind == "doubled":
                yield line
            if kind == "repeated" and earlier:
                yield random.choice(earlier)
            earlier.append(line)
