"""The labels of the node, asked for now and then: a policy's rules are for nodes with some labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Final

_REST_S: Final = 60.0
_SOON_S: Final = 10.0


class RememberedLabels:
    """Labels that are asked for once a minute, and sooner while nobody knows them. For one thread.

    Shape: ``ask`` returns them, None while it cannot; the last ones known count meanwhile.
    Units: ``clock`` seconds.
    """

    def __init__(self, ask: Callable[[], Mapping[str, str] | None], clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._known: Mapping[str, str] | None = None
        self._due = -inf

    def __call__(self) -> Mapping[str, str] | None:
        """Return the labels, None where they were never known."""
        now = self._clock()
        if now >= self._due:
            found = self._ask()
            self._known = self._known if found is None else dict(found)
            self._due = now + (_SOON_S if found is None else _REST_S)
        return self._known
