"""What was logged before: the same words about a thing are logged once, however often they are true."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from daemon.log_fields import fields
from plugin.claim.quarantine.quarantined import Quarantined
from scheduler_core.model.claim import ClaimUid


class ToldOnce:
    """Logs errors. One thread uses it. Shape: ``log`` of the module that has them."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._before: dict[str, str] = {}
        self._now: dict[str, str] = {}

    def tell(self, thing: str, text: str) -> None:
        """Log an error about a thing, unless the look before this one found the same."""
        self._now[thing] = text
        if self._before.get(thing) != text:
            self._log.error("%s", text)

    def end_look(self) -> None:
        """Forget what is not true any more: it is logged anew if it comes back."""
        self._before, self._now = self._now, {}


class ToldKept:
    """Logs each claim in quarantine once. The start and the looks share it."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._known: dict[ClaimUid, str] = {}

    def new(self, kept: Iterable[Quarantined]) -> tuple[Quarantined, ...]:
        """Log and return the claims that were not in quarantine before, or for another reason."""
        found = {one.uid: one for one in kept}
        new = tuple(one for uid, one in found.items() if self._known.get(uid) != one.why)
        for one in new:
            self._log.error("%s stays as it is: %s", one.text, one.error, extra=_about(one))
        self._known = {uid: one.why for uid, one in found.items()}
        return new


def _about(one: Quarantined) -> dict[str, Any]:
    ref = one.known.ref
    return (
        fields(uid=one.uid) if ref is None else fields(namespace=ref.namespace, claim=ref.name, uid=one.uid)
    )
