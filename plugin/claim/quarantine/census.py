"""PURE: all records at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.record import Record
from scheduler_core.model.claim import ClaimUid


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """All records at one moment.

    Shape: ``records`` those that can be believed, by claim UID; ``quarantined`` the claims whose records
           cannot be; ``unfinished`` those with a temporary or an empty file, which may have a record too.
    """

    records: tuple[Record, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    unfinished: tuple[ClaimUid, ...] = ()

    @property
    def holding(self) -> tuple[Record, ...]:
        """Return what all claims hold, as far as lines of records say it."""
        kept = (one.record for one in self.quarantined)
        return (*self.records, *(record for record in kept if record is not None))

    @property
    def told_uuids(self) -> frozenset[str]:
        """Return the UUIDs that the CDI documents of quarantined claims name."""
        return frozenset(uuid for one in self.quarantined for uuid in one.uuids)
