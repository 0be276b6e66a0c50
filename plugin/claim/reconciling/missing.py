"""The devices of prepared claims that are not there any more, as the last look found them.

The claims' statuses and the health of devices are told from it. Any thread may ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from scheduler_core.model.claim import ClaimUid


@dataclass(frozen=True, slots=True)
class MissingDevice:
    """A device that was prepared and is gone.

    Shape: ``is_own`` false where the claim may only look at it: then it is missing for that claim alone.
    """

    device: str
    why: str
    is_own: bool = True


class MissingDevices:
    """What is missing, by claim."""

    def __init__(self) -> None:
        self._changing = Lock()
        self._by_claim: Mapping[ClaimUid, Sequence[MissingDevice]] = {}

    @property
    def by_claim(self) -> Mapping[ClaimUid, Sequence[MissingDevice]]:
        """Return what is missing, of claims of which something is."""
        return self._by_claim  # never changed, only replaced

    def news(self) -> object:
        """Return a value that changes when the missing devices change."""
        return self._by_claim

    def put(self, uid: ClaimUid, missing: Sequence[MissingDevice]) -> None:
        """Replace what is missing of a claim; nothing says that all of it is there."""
        with self._changing:
            others = {known: found for known, found in self._by_claim.items() if known != uid}
            self._by_claim = {**others, uid: tuple(missing)} if missing else others

    def forget(self, uid: ClaimUid) -> None:
        """Forget a claim: it was prepared anew, or undone."""
        if uid in self._by_claim:
            self.put(uid, ())

    def of(self, uid: ClaimUid) -> Mapping[str, str]:
        """Return the missing devices of a claim, by name, each with the reason."""
        return {one.device: one.why for one in self._by_claim.get(uid, ())}

    def by_device(self) -> Mapping[str, str]:
        """Return the missing devices of the node, by name, each with the reason."""
        return {one.device: one.why for found in self._by_claim.values() for one in found if one.is_own}
