"""What claims hold on this node, as their records say it."""

from __future__ import annotations

import logging

from agent.inventory.published import Hardware
from plugin.base.errors import StorageFailed
from plugin.claim.record_store import RecordStore
from scheduler_core.model.claim import ClaimUid

_log = logging.getLogger(__name__)


def held_hardware(
    store: RecordStore, boot_id: str, but: ClaimUid | None = None
) -> frozenset[Hardware] | None:
    """Return the hardware of all claims of this boot, whatever their state; ``but`` one.

    None where it is not known: a record that cannot be read may be of a claim whose containers run.
    """
    try:
        census = store.census()
    except StorageFailed as error:
        _log.error("what claims hold is unknown: %s", error)
        return None
    kept = [one for one in census.quarantined if one.uid != but and one.may_hold_in(boot_id)]
    if any(one.record is None for one in kept):
        return None
    return frozenset(
        device.hardware
        for record in census.holding
        if record.boot_id == boot_id and record.uid != but
        for device in record.devices
        if not device.has_admin_access
    )
