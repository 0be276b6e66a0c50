"""Carries out plans: one write after the other, none while this replica may not lead.

Safe between threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from controller.classes.turns import StatusWrite
from controller.model.pods import PodRef
from controller.plan import documents
from controller.plan.log_fields import of_allocation, of_plan
from controller.plan.plans import ClaimWrite, GroupPlacement, LetGo, Placement, Plan, Release, Tell
from controller.run.ports import ClusterWriter, Document, Why, WriteFailed
from daemon.log_fields import fields, log_about
from scheduler_core.model.claim import ClaimRef

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a plan.

    Shape: ``failure`` None where all was written; ``text`` says what failed; ``pod`` is the UID of the
           member of a group whose claim was not written, else empty.
    """

    failure: Why | None = None
    text: str = ""
    pod: str = ""


@dataclass(frozen=True, slots=True)
class Writer:
    """Carries out plans.

    Shape: ``may_write`` says whether this replica leads, for long enough for one more call; ``now`` gives
           the time in UTC as RFC 3339; ``warn`` writes an event about a pod.
    """

    cluster: ClusterWriter
    may_write: Callable[[], bool]
    now: Callable[[], str]
    warn: Callable[[PodRef, str, str], None] = lambda _pod, _uid, _text: None

    def carry_out(self, plan: Plan) -> Outcome:
        """Write what a plan says, up to the first failure, and return what became of it.

        Each thing that was done is one line in the log.
        """
        with log_about(**of_plan(plan)):
            try:
                return self._carried_out(plan)
            except WriteFailed as error:
                return Outcome(error.why, str(error))

    def refresh(self) -> bool:
        """Read all claims as they are now; return whether the server answered."""
        try:
            self.cluster.refresh()
        except WriteFailed:
            return False
        return True

    def settle(self, plan: Placement | GroupPlacement) -> bool:
        """Read the claims of a plan whose writes failed; return whether the server answered."""
        try:
            for one in plan.claims:
                self.cluster.read_claim(one.ref)
        except WriteFailed:
            return False
        return True

    def _carried_out(self, plan: Plan) -> Outcome:
        match plan:
            case Placement():
                self._place(plan)
            case GroupPlacement():
                return self._place_together(plan)
            case Release():
                self._release(plan)
            case Tell(pod=pod, uid=uid, message=message):
                self._check()
                self.cluster.patch_pod_status(pod, documents.condition(uid, message, self.now()))
                _log.info("pod %s waits: %s", pod, message)
                self.warn(pod, uid, message)
            case LetGo(pod=pod, uid=uid):
                self._remove_gate(pod, uid)
            case StatusWrite(name=name, document=document):
                self._check()
                self.cluster.write_class_status(name, document)
        return Outcome()

    def _place(self, plan: Placement) -> None:
        for one in plan.claims:
            self._allocate(one, plan)
        self._ungate(plan)
        self._tell_done(plan)

    def _place_together(self, plan: GroupPlacement) -> Outcome:
        """Write the claims of all members before the first gate goes."""
        for member in plan.members:
            try:
                for one in member.claims:
                    self._allocate(one, member)
            except WriteFailed as error:
                return Outcome(error.why, str(error), member.pod.uid)
        for member in plan.members:
            self._ungate(member)
        for member in plan.members:
            self._tell_done(member)
        return Outcome()

    def _ungate(self, plan: Placement) -> None:
        if plan.is_gated:
            self._remove_gate(plan.pod.ref, plan.pod.uid)

    def _remove_gate(self, pod: PodRef, uid: str) -> None:
        self._check()
        self.cluster.patch_pod(pod, documents.without_gate(uid))
        _log.info("pod %s: its gate was removed", pod)

    def _tell_done(self, plan: Placement) -> None:
        if plan.is_told:
            self._check()
            told = documents.condition(plan.pod.uid, None, self.now())
            self.cluster.patch_pod_status(plan.pod.ref, told)

    def _allocate(self, one: ClaimWrite, plan: Placement) -> None:
        if one.instead is not None:
            self._delete(one.instead)
        self._check()
        claim = self.cluster.create_claim(one.document) if one.is_new else one.document
        protected = documents.with_finalizer(claim)
        if protected is not None:
            self._check()
            claim = self.cluster.replace_claim(protected)
        self._check()
        self.cluster.replace_claim_status(documents.allocated(claim, one.allocation, plan.pod, self.now()))
        self._tell_allocated(one, str(claim["metadata"].get("uid", "")), plan)

    def _tell_allocated(self, one: ClaimWrite, uid: str, plan: Placement) -> None:
        about = of_allocation(one.ref, uid, one.allocation)
        text = "claim %s (%s): allocated on node %s for pod %s, with %s"
        told = fields(**about, pod=plan.pod.ref.name, node=plan.node)
        _log.info(text, one.ref, uid, plan.node, plan.pod.ref, about["device"], extra=told)

    def _delete(self, claim: Document) -> None:
        """Delete a claim without devices, whose name is needed."""
        unprotected = documents.without_finalizer(claim)
        if unprotected is not None:
            self._check()
            claim = self.cluster.replace_claim(unprotected)
        self._check()
        self.cluster.delete_claim(claim)

    def _release(self, plan: Release) -> None:
        claim = self._read(plan.claim, plan.uid)
        freed = None if claim is None else documents.released(claim, plan.gone)
        if freed is None or any(self.cluster.is_bound(pod, uid) for pod, uid in plan.unbound):
            return
        self._check()
        unprotected = documents.without_finalizer(self.cluster.replace_claim_status(freed))
        _log.info("claim %s (%s): released, since its pods are gone", plan.claim, plan.uid)
        if unprotected is not None:
            self._check()
            self.cluster.replace_claim(unprotected)

    def _read(self, ref: ClaimRef, uid: str) -> Document | None:
        found = self.cluster.read_claim(ref)
        return found if found is not None and found["metadata"]["uid"] == uid else None

    def _check(self) -> None:
        if not self.may_write():
            raise WriteFailed(Why.NOT_LEADING, "this replica does not lead: nothing more was written")
