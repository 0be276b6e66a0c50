"""Keeps what is known of the cluster, and says what to write next. One thread; no I/O; times are arguments.

Changes and outcomes go in, plans come out. A pod is *in flight* from the plan until its outcome: what it
will hold counts as held meanwhile, and nothing else is decided about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.decide.allocator import Allocator
from controller.decide.decisions import Decision, NotTogether, Placed, Refused, Served
from controller.decide.question import Question, question_of
from controller.gangs.seen import PodGroupSeen
from controller.model.claims import ClaimSeen
from controller.model.nodes import ClusterNode
from controller.model.pods import Pod
from controller.model.slices import SliceSeen
from controller.plan.plans import GroupPlacement, Placement, Plan, Tell, placement_of
from controller.queue.waiting_line import Entry
from controller.run.groups.deciding import NoPlace, decided_together
from controller.run.groups.groups import Asked
from controller.run.ports import Why
from controller.run.standing import Standing
from controller.run.values import Counts, Decided, Patience
from controller.run.writer import Outcome
from controller.state.cluster_seen import ClusterSeen, Effect
from scheduler_core.model.claim import ClaimRef

_REFUSED = "had an allocation that the API server refused"
_UNEXPECTED = "the controller met an unexpected error while it chose devices for this pod"
_FREE_FAILURES = 1  # the first write that fails is mostly one that somebody else was faster with


class Coordinator:
    """The controller without threads.

    Shape: ``standing`` where each pod stands; its ``plans`` are for the caller to take.
    """

    def __init__(self, seen: ClusterSeen, allocator: Allocator, patience: Patience | None = None) -> None:
        self.seen = seen
        self.allocator = allocator
        self.patience = patience or Patience()
        self.counts = Counts()
        self.standing = Standing(seen, allocator, self.patience, self.counts)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Take in a pod that is new, has changed or is gone."""
        self.standing.groups.pod_changed(old, new)
        if old is not None and (new is None or new.uid != old.uid):
            self.standing.take(self.seen.remove_pod(old.uid))
            self.standing.ended(old.uid)
            self.standing.trust(old.node)  # what it used is free
        if new is not None:
            self.standing.take(self.seen.set_pod(new))
            if new.is_over:
                self.standing.ended(new.uid)
            elif not new.is_waiting:
                self.standing.forget(new.uid)

    def node_changed(self, name: str, new: ClusterNode | None) -> None:
        """Take in a node that is new, has changed or is gone. A heartbeat only wins its trust back."""
        if new is None:
            self.standing.take(self.seen.remove_node(name))
        elif self.seen.nodes.get(name) != new:
            self.standing.take(self.seen.set_node(new))
        self.standing.trust(name)

    def slices_changed(self, gone: list[str], slices: list[SliceSeen]) -> None:
        """Take in slices."""
        for name in gone:
            self.standing.take(self.seen.remove_slice(name))
        if slices:
            self.standing.take(self.seen.set_slices(slices))

    def claim_changed(self, old: ClaimSeen | None, new: ClaimSeen | None) -> None:
        """Take in a claim that is new, has changed or is gone."""
        if new is None:
            if old is not None:
                self.standing.take(self.seen.remove_claim(old.ref))
            return
        is_taken = old is not None and old.uid == new.uid and old.held is not None and new.held is None
        if old is not None and is_taken and not self.standing.groups.giving.has(old):
            self.standing.distrust(old)
        self.standing.take(self.seen.set_claim(new))

    def template_changed(self, ref: ClaimRef, new: Mapping[str, object] | None) -> None:
        """Take in a claim template."""
        if new is None:
            self.seen.templates.pop(ref, None)
        else:
            self.seen.templates[ref] = new
        for uid in list(self.standing.notes):
            self.standing.reconsider(uid)

    def take(self, effect: Effect) -> None:
        """Take in what another change of ``seen`` may help."""
        self.standing.take(effect)

    def group_changed(self, old: PodGroupSeen | None, new: PodGroupSeen | None) -> None:
        """Take in a PodGroup that is new, has changed or is gone."""
        self.standing.groups.group_changed(old, new)

    def done(self, plan: Placement | GroupPlacement, outcome: Outcome) -> None:
        """Take in what became of a plan, when its claims are known as the server has them."""
        plans = plan.members if isinstance(plan, GroupPlacement) else (plan,)
        if outcome.failure is None:
            self.counts.placed += len(plans)
        else:
            self.counts.failed[outcome.failure] = self.counts.failed.get(outcome.failure, 0) + 1
        for one in plans:
            self._landed(one, outcome)
            self.standing.reconsider(one.pod.uid)

    def _landed(self, plan: Placement, outcome: Outcome) -> None:
        uid, standing = plan.pod.uid, self.standing
        standing.flights.pop(uid, None)
        for held in plan.holds:
            self.seen.release(held)
        if outcome.failure is None:
            standing.aside.forget(uid)
        else:
            if outcome.failure is Why.REFUSED and plan.node and outcome.pod in ("", uid):
                standing.distrusted.note(uid, plan.node, _REFUSED, standing.now)
            else:
                standing.aside.failed(uid, standing.now, free=_FREE_FAILURES)
            standing.is_room = standing.is_room or bool(plan.holds)
        self.seen.forget_assumed(uid)

    def failed(self, entry: Entry, error: Exception) -> None:
        """Set a pod or a group aside: an unexpected error came up while it was decided about."""
        asked = self.standing.groups.asked.get(entry.uid)
        uids = [entry.uid] if asked is None else [one.pod.uid for one in asked.questions]
        for uid in uids:
            self.standing.aside.failed(uid, self.standing.now, free=0)
            self.standing.reconsider(uid)
            if uid in self.seen.waiting:
                why = f"{_UNEXPECTED} ({type(error).__name__}); it is tried again; see its log"
                self.standing.explaining.tell(uid, why)

    def untold(self, plan: Tell) -> None:
        """Tell a pod later what it could not be told now."""
        if plan.uid in self.seen.waiting:
            self.standing.explaining.tell_again(plan.uid, plan.message)

    @property
    def is_woken(self) -> bool:
        """Whether something changed that may help pods that did not fit."""
        return self.standing.is_room

    @property
    def in_flight(self) -> int:
        """Return how many pods are in flight."""
        return len(self.standing.flights)

    def wake(self) -> None:
        """Try pods again that did not fit."""
        self.standing.is_room = False
        self.standing.groups.touch_all()
        self.standing.line.wake()

    def decide(self) -> Decided | None:
        """Decide about the next pod or group, None where none is to be tried."""
        standing = self.standing
        standing.look_at_groups()
        while (entry := standing.line.next()) is not None:
            asked = standing.groups.asked.get(entry.uid)
            if asked is not None:
                return self._decided_together(entry, asked)
            question = question_of(self.seen.waiting[entry.uid], self.seen)
            if isinstance(question, Question):
                return self._decided(entry, question)
            standing.note(entry.uid, question)
        return None

    def tick(self) -> None:
        """Do what is due by time: take back what is not used, and let go pods that waited too long."""
        self.settle()
        self.standing.tick()

    def settle(self) -> None:
        """Note how long nodes have been the controller's, also while this replica does not lead."""
        if self.seen.owned.settle(self.standing.now, self.patience.settle_s):
            self.standing.is_room = True

    def explain(self) -> bool:
        """Find out why one pod waits; False where nothing is to be found out now."""
        if self.seen.owned.is_settling:
            return False  # the reasons are others in a moment
        return self.standing.explaining.explain(self.standing.now, self.standing.since, self.patience.tell_s)

    def tells(self) -> Iterator[Plan]:
        """Yield what to tell pods now."""
        return self.standing.explaining.tells(self.standing.now)

    @property
    def refused(self) -> Mapping[str, Decision]:
        """Return the last decision about pods that get nothing, by UID."""
        return self.standing.explaining.refused

    def _decided(self, entry: Entry, question: Question) -> Decided:
        standing = self.standing
        against = standing.against.get(entry.uid, {})
        decision = self.allocator.decide(question, against, standing.held_back.nodes(entry.order))
        match decision:
            case Placed() | Served():
                return Decided((decision,), standing.start(placement_of(decision)))
            case _:
                self.counts.refused += 1
                standing.line.refused(entry)
                if isinstance(decision, Refused):  # a part of its claims is of no use
                    standing.plans += standing.unbound.releases(question.pod)
                standing.explaining.put(decision)
        waited = standing.now - standing.since.get(entry.uid, standing.now)
        if isinstance(decision, Refused) and waited >= self.patience.reserve_s:
            standing.held_back.hold(entry, question, against)
        return Decided((decision,), None)

    def _decided_together(self, entry: Entry, asked: Asked) -> Decided:
        standing = self.standing
        reserved = standing.held_back.nodes(entry.order)
        found = decided_together(self.allocator, asked.questions, asked.minimum, standing.against, reserved)
        if not isinstance(found, NoPlace):
            standing.line.remove(entry.uid)
            started = tuple(standing.start(placement_of(one)) for one in found)
            return Decided(found, GroupPlacement(started))
        decisions: list[Decision] = []
        for other in standing.line.same_shape(entry):
            group = standing.groups.asked[other.uid]
            why = f"group {group.key}: {found.why}"
            mine = [NotTogether(one, why, found.nowhere) for one in group.questions]
            standing.explaining.put(*mine)
            decisions += mine
        self.counts.refused += len(decisions)
        standing.line.refused(entry)
        releases = standing.groups.refused(asked)
        if releases:
            standing.plans += releases
            standing.line.remove(entry.uid)  # it comes back when all is given back
        return Decided(tuple(decisions), None)
