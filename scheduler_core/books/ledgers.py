"""The ledgers of several pools, with everything that claims hold."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.base.features import ALL, Features
from scheduler_core.books.ledger import Ledger
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice
from scheduler_core.model.device import DeviceName
from scheduler_core.model.names import qualified
from scheduler_core.model.pool import Pool


def ledgers_of(
    pools: Sequence[Pool], allocated: Sequence[AllocatedClaim], features: Features = ALL
) -> tuple[Ledger, ...]:
    """Return a ledger per pool, with everything that claims hold. Admin access holds nothing."""
    ledgers = tuple(Ledger(pool, features) for pool in pools)
    by_id = {(pool.id.driver, pool.id.name): index for index, pool in enumerate(pools)}
    for claim in allocated:
        for result in claim.results:
            index = by_id.get((result.device.driver, result.device.pool))
            if index is not None and not result.admin_access:
                _record(ledgers[index], pools[index], result, str(claim.ref))
    return ledgers


def _record(ledger: Ledger, pool: Pool, result: AllocatedDevice, holder: str) -> None:
    name = DeviceName(result.device.device)
    if result.share_id is None:
        ledger.record(name, holder)
        return
    share = {qualified(key, pool.id.driver): amount for key, amount in result.consumed.items()}
    ledger.record(name, holder, share)
