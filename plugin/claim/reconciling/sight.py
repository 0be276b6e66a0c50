"""What one look sees beside the records: documents, missing devices, and how claims stand at the API server.

Nothing is changed and no lock is held. What cannot be read now is unknown, and is told once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from agent.hardware.errors import HardwareError
from plugin.base.errors import PluginError
from plugin.claim.figures.pods import PodsOfClaims
from plugin.claim.ports import ClaimFinder
from plugin.claim.quarantine.census import Census
from plugin.claim.reconciling.asking import Asking
from plugin.claim.reconciling.documents import KnownDocuments
from plugin.claim.reconciling.hardware import missing_of
from plugin.claim.reconciling.missing import MissingDevice, MissingDevices
from plugin.claim.reconciling.repairs import Seen
from plugin.claim.reconciling.told import ToldOnce
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.claim.steps import ClaimSteps
from scheduler_core.model.claim import ClaimUid

_log = logging.getLogger(__name__)


class Sight:
    """Sees the claims of one node, and remembers what earlier looks saw. One thread looks at a time.

    Shape: ``in_use`` the claims that are over and stay, because programs use their GPUs; ``pods`` is told of
           the claims that are read.
    Units: ``clock`` counts seconds.
    """

    def __init__(self, steps: ClaimSteps, clock: Callable[[], float], pods: PodsOfClaims) -> None:
        self.in_use: set[ClaimUid] = set()
        self.missing = MissingDevices()
        self.asking = Asking(clock, pods)
        self.documents = KnownDocuments(steps.cdi)
        self.errors = ToldOnce(_log)
        self._steps = steps

    def forget(self, uid: ClaimUid) -> None:
        """Forget a claim: it was prepared anew, or undone. Any thread may call it."""
        self.missing.forget(uid)
        self.asking.forget(uid)
        self.in_use.discard(uid)

    def seen(
        self, census: Census, boot_id: str, finder: ClaimFinder | None, is_wanted: Callable[[], bool]
    ) -> Seen:
        """Look and return what was seen. Shape: ``finder`` None where claims come from no API server.

        Raises: StorageFailed.
        """
        prepared = [one for one in census.records if one.state is State.COMPLETED and one.boot_id == boot_id]
        uids = {record.uid for record in prepared}
        self.in_use.intersection_update(uids | {one.uid for one in census.quarantined})
        self.documents.keep_only(uids)
        for gone in self.missing.by_claim.keys() - uids:
            self.missing.forget(gone)
        return Seen(
            documents=self._steps.cdi.claims() | self._steps.metadata.claims(self.errors.tell),
            altered=frozenset(uid for uid in uids if self.documents.is_altered(uid)),
            missing=self._missing(prepared, is_wanted),
            told=self.missing.by_claim,
            over=self._over(census, finder, is_wanted),
        )

    def _missing(
        self, prepared: Iterable[Record], is_wanted: Callable[[], bool]
    ) -> Mapping[ClaimUid, Sequence[MissingDevice]]:
        found = {}
        for record in prepared:
            if not is_wanted():
                break
            try:
                found[record.uid] = missing_of(self._steps, record)
            except (PluginError, HardwareError) as error:
                text = f"claim {record.ref} ({record.uid}): whether its devices are there is unknown: {error}"
                self.errors.tell(f"devices of {record.uid}", text)
        return found

    def _over(
        self, census: Census, finder: ClaimFinder | None, is_wanted: Callable[[], bool]
    ) -> frozenset[ClaimUid]:
        """Return the claims that are over, none where the API server does not say it."""
        try:
            return self.asking.over(census, finder, is_wanted)
        except PluginError as error:
            self.errors.tell("claims", f"whether claims are over is unknown, nothing is undone: {error}")
            return frozenset()
