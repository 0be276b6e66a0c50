"""Who may read the metrics: asks the API server about a caller's token, and remembers the answer for a while.

A caller is who a TokenReview says, and may read what a SubjectAccessReview of ``get`` on the path says, as
kube-rbac-proxy has it. Takes headers; returns HTTP statuses. Tokens are kept as digests only.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from enum import Enum
from typing import Final

_SCHEME: Final = "Bearer "
_ALLOWED_S: Final = 60.0
_REFUSED_S: Final = 10.0
_MOST: Final = 256
"""Answers that are remembered; a node has a few scrapers."""


class Access(Enum):
    """What the API server says of a caller. Shape: the HTTP status and the text of the answer."""

    ALLOWED = (200, "")
    UNKNOWN = (
        401,
        "the token is missing, wrong or expired: send one as Authorization: Bearer TOKEN\n",
    )
    FORBIDDEN = (403, "this account may not read it: it needs get on this nonResourceURL\n")
    UNDECIDED = (503, "the API server does not say who this is; ask again\n")


class Unreviewed(Exception):
    """The API server did not answer who a token is, or what it may do."""


Review = Callable[[str, str], Access]
"""Asks the API server about a token and a path. Raises: Unreviewed."""


def reviewing(is_allowed: Callable[[str, str], bool | None], failure: type[Exception]) -> Review:
    """Return a review by a question to the API server.

    Shape: ``is_allowed`` takes a token and a path, and returns None where the server knows no owner of the
           token; ``failure`` is what it raises where the server gave no answer.
    """

    def review(token: str, path: str) -> Access:
        try:
            allowed = is_allowed(token, path)
        except failure as error:
            raise Unreviewed(str(error)) from error
        if allowed is None:
            return Access.UNKNOWN
        return Access.ALLOWED if allowed else Access.FORBIDDEN

    return review


class Authorization:
    """Judges callers. Safe between threads. Units: ``clock`` counts seconds.

    Shape: ``review`` asks the API server; ``tell`` is called with the reason where that fails.
    """

    def __init__(
        self, review: Review, clock: Callable[[], float], tell: Callable[[str], object] = lambda _: None
    ) -> None:
        self._review = review
        self._clock = clock
        self._tell = tell
        self._lock = threading.Lock()
        self._known: dict[tuple[bytes, str], tuple[float, Access]] = {}

    def of(self, header: str | None, path: str) -> Access:
        """Return whether a caller may read a path.

        Shape: ``header`` is ``Authorization``, None without one.
        """
        if header is None or not header.startswith(_SCHEME):
            return Access.UNKNOWN
        token = header.removeprefix(_SCHEME).strip()
        if not token:
            return Access.UNKNOWN
        key = hashlib.sha256(token.encode(errors="surrogateescape")).digest(), path
        with self._lock:
            ends, known = self._known.get(key, (0.0, Access.UNDECIDED))
        if self._clock() < ends:
            return known
        try:
            found = self._review(token, path)
        except Unreviewed as error:
            self._tell(str(error))
            return Access.UNDECIDED
        self._remember(key, found)
        return found

    def _remember(self, key: tuple[bytes, str], found: Access) -> None:
        now = self._clock()
        with self._lock:
            if len(self._known) >= _MOST:  # somebody guesses: what is over goes, then the oldest answers
                alive = sorted((ends, each) for each, (ends, _) in self._known.items() if ends > now)
                self._known = {each: self._known[each] for _, each in alive[-_MOST // 2 :]}
            lasts_s = _ALLOWED_S if found is Access.ALLOWED else _REFUSED_S
            self._known[key] = now + lasts_s, found
