"""Asks the API server what has become of prepared claims: one GET for each of them, never a list.

Takes a finder; remembers how claims stood at earlier looks. A server that does not answer, or answers what is
not understood, ends no claim.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from plugin.claim.figures.pods import PodsOfClaims
from plugin.claim.ports import ClaimFinder
from plugin.claim.quarantine.census import Census
from plugin.claim.reconciling.standing import Standing, why_over
from plugin.claim.record import Record
from plugin.claim.states import State
from scheduler_core.model.claim import ClaimRef, ClaimUid

Wanted = tuple[ClaimUid, ClaimRef, Record | None]
"""A claim that may be over, and what it holds here as far as that is known."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What is known of the claims of a node. One thread asks; any may forget.

    Shape: ``pods`` is told of each claim that is read; a claim of which it knows nothing is read once.
    Units: seconds of ``clock``.
    """

    clock: Callable[[], float]
    pods: PodsOfClaims
    _known: dict[ClaimUid, Standing] = field(default_factory=dict, init=False, repr=False, compare=False)

    def over(
        self, census: Census, finder: ClaimFinder | None, is_wanted: Callable[[], bool]
    ) -> frozenset[ClaimUid]:
        """Ask for the claims that are due; return those that were over for long, to be asked for once more.

        Raises: ClaimUnreadable at the first claim for which no answer came.
        """
        claims = tuple(_wanted(census))
        self._keep_only({uid for uid, _, _ in claims})
        if finder is None:
            return frozenset()
        ripe = set()
        for uid, ref, record in claims:
            now_s = self.clock()
            known = self._known.setdefault(uid, Standing(now_s))
            if not is_wanted():
                continue
            if not known.is_due(now_s):
                self._learn_pods(finder, uid, ref)
                continue
            if known.is_ripe(now_s):
                ripe.add(uid)
            else:
                self.why_over(finder, uid, ref, record)
        return frozenset(ripe)

    def why_over(self, finder: ClaimFinder, uid: ClaimUid, ref: ClaimRef, record: Record | None) -> str:
        """Ask for one claim, remember the answer and return why the claim is over, empty where it is not.

        Raises: ClaimUnreadable.
        """
        claim = finder.find(ref)
        self.pods.note(uid, claim)
        why, now_s = why_over(claim, uid, record), self.clock()
        self._known[uid] = self._known.get(uid, Standing(now_s)).after(why, now_s)
        return why

    def _learn_pods(self, finder: ClaimFinder, uid: ClaimUid, ref: ClaimRef) -> None:
        """Read a claim that an earlier process prepared, once. Raises: ClaimUnreadable."""
        if not self.pods.knows(uid):
            self.pods.note(uid, finder.find(ref))

    def forget(self, uid: ClaimUid) -> None:
        """Forget a claim: it was prepared anew, so some pod has it."""
        self._known.pop(uid, None)

    def _keep_only(self, uids: Collection[ClaimUid]) -> None:
        self.pods.keep_only(uids)
        for gone in [uid for uid in tuple(self._known) if uid not in uids]:
            self._known.pop(gone, None)


def _wanted(census: Census) -> Iterator[Wanted]:
    """Yield the prepared claims, and the claims in quarantine whose namespace and name can be read.

    All others are undone anyway: a claim that is begun, or half undone, has no pod.
    """
    for record in census.records:
        if record.state is State.COMPLETED:
            yield record.uid, record.ref, record
    for one in census.quarantined:
        if one.known.ref is not None and not one.is_too_new:
            yield one.uid, one.known.ref, one.record
