"""Keeps what is known of the cluster, and says what to write next. One thread; no I/O; times are arguments.

Changes and outcomes go in, plans come out. A pod is *in flight* from the plan until its outcome: what it
will hold counts as held meanwhile, and nothing else is decided about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.decide.allocator import Allocator
from controller.decide.decisions import Decision, NotTogether, Placed, Refused, Served
from controller.decide.question import NotYet, Question, question_of
from controller.gangs.seen import PodGroupSeen
from controller.model.claims import ClaimSeen
from controller.model.nodes import ClusterNode
from controller.model.pods import Pod
from controller.model.slices import SliceSeen
from controller.plan.plans import GroupPlacement, Placement, Plan, Release, Tell, placement_of
from controller.queue.waiting_line import Entry, Order, WaitingLine
from controller.run.distrust import Distrust
from controller.run.explaining import Explaining
from controller.run.groups.deciding import NoPlace, decided_together
from controller.run.groups.giving_back import GivingBack
from controller.run.groups.groups import Asked, Groups, Look
from controller.run.groups.roster import Roster
from controller.run.held_back import HeldBack
from controller.run.letting_go import LettingGo
from controller.run.ports import Why
from controller.run.set_aside import SetAside
from controller.run.unbound import Unbound
from controller.run.values import Counts, Decided, Patience
from controller.run.why import why_waits
from controller.run.writer import Outcome
from controller.state.cluster_seen import ClusterSeen, Effect, only_node
from scheduler_core.model.claim import ClaimRef

_TAKEN_BACK = "had their devices given back by kube-scheduler"
_NOT_BOUND = "had the devices, and the pod was not bound there"
_REFUSED = "had an allocation that the API server refused"
_UNEXPECTED = "the controller met an unexpected error while it chose devices for this pod"
_FREE_FAILURES = 1  # the first write that fails is mostly one that somebody else was faster with


class Coordinator:
    """The controller without threads.

    Shape: ``against`` are, by pod, the nodes that will not do for it and why; ``notes`` why pods are not in
           the line; ``since`` when pods began to wait, all by UID; ``plans`` are for the caller to take.
    """

    def __init__(self, seen: ClusterSeen, allocator: Allocator, patience: Patience | None = None) -> None:
        self.seen = seen
        self.allocator = allocator
        self.patience = patience or Patience()
        self.line = WaitingLine()
        self.counts = Counts()
        self.held_back = HeldBack(allocator)
        roster = Roster(seen, allocator)
        self.groups = Groups(roster, GivingBack(seen, roster))
        self.aside = SetAside()
        self.notes: dict[str, str] = {}
        self.since: dict[str, float] = {}
        self.plans: list[Plan] = []
        self.now = 0.0
        self._unbound = Unbound(seen, self.patience.bind_s)
        self._explaining = Explaining(seen.waiting, self.why, self.same_shape)
        self._flights: dict[str, Placement] = {}
        self._letting_go = LettingGo(seen.waiting, self.patience.let_go_s)
        self._distrusted = Distrust()
        self._is_room = False

    @property
    def against(self) -> dict[str, dict[str, str]]:
        """Return, by pod, the nodes that will not do for it and why."""
        return self._distrusted.against

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Take in a pod that is new, has changed or is gone."""
        self.groups.pod_changed(old, new)
        if old is not None and (new is None or new.uid != old.uid):
            self._take(self.seen.remove_pod(old.uid))
            self._ended(old.uid)
            self._trust(old.node)  # what it used is free
        if new is not None:
            self._take(self.seen.set_pod(new))
            if new.is_over:
                self._ended(new.uid)
            elif not new.is_waiting:
                self._forget(new.uid)

    def node_changed(self, name: str, new: ClusterNode | None) -> None:
        """Take in a node that is new, has changed or is gone. A heartbeat only wins its trust back."""
        if new is None:
            self._take(self.seen.remove_node(name))
        elif self.seen.nodes.get(name) != new:
            self._take(self.seen.set_node(new))
        self._trust(name)

    def slices_changed(self, gone: list[str], slices: list[SliceSeen]) -> None:
        """Take in slices."""
        for name in gone:
            self._take(self.seen.remove_slice(name))
        if slices:
            self._take(self.seen.set_slices(slices))

    def claim_changed(self, old: ClaimSeen | None, new: ClaimSeen | None) -> None:
        """Take in a claim that is new, has changed or is gone."""
        if new is None:
            if old is not None:
                self._take(self.seen.remove_claim(old.ref))
            return
        is_taken = old is not None and old.uid == new.uid and old.held is not None and new.held is None
        if old is not None and is_taken and not self.groups.giving.has(old):
            self._distrust(old)
        self._take(self.seen.set_claim(new))

    def template_changed(self, ref: ClaimRef, new: Mapping[str, object] | None) -> None:
        """Take in a claim template."""
        if new is None:
            self.seen.templates.pop(ref, None)
        else:
            self.seen.templates[ref] = new
        for uid in list(self.notes):
            self._reconsider(uid)

    def take(self, effect: Effect) -> None:
        """Take in what another change of ``seen`` may help."""
        self._take(effect)

    def group_changed(self, old: PodGroupSeen | None, new: PodGroupSeen | None) -> None:
        """Take in a PodGroup that is new, has changed or is gone."""
        self.groups.group_changed(old, new)

    def done(self, plan: Placement | GroupPlacement, outcome: Outcome) -> None:
        """Take in what became of a plan, when its claims are known as the server has them."""
        plans = plan.members if isinstance(plan, GroupPlacement) else (plan,)
        if outcome.failure is None:
            self.counts.placed += len(plans)
        else:
            self.counts.failed[outcome.failure] = self.counts.failed.get(outcome.failure, 0) + 1
        for one in plans:
            self._landed(one, outcome)
            self._reconsider(one.pod.uid)

    def _landed(self, plan: Placement, outcome: Outcome) -> None:
        uid = plan.pod.uid
        self._flights.pop(uid, None)
        for held in plan.holds:
            self.seen.release(held)
        if outcome.failure is None:
            self.aside.forget(uid)
        else:
            if outcome.failure is Why.REFUSED and plan.node and outcome.pod in ("", uid):
                self._distrusted.note(uid, plan.node, _REFUSED, self.now)
            else:
                self.aside.failed(uid, self.now, free=_FREE_FAILURES)
            self._is_room = self._is_room or bool(plan.holds)
        self.seen.forget_assumed(uid)

    def failed(self, entry: Entry, error: Exception) -> None:
        """Set a pod or a group aside: an unexpected error came up while it was decided about."""
        asked = self.groups.asked.get(entry.uid)
        uids = [entry.uid] if asked is None else [one.pod.uid for one in asked.questions]
        for uid in uids:
            self.aside.failed(uid, self.now, free=0)
            self._reconsider(uid)
            if uid in self.seen.waiting:
                self._explaining.tell(
                    uid, f"{_UNEXPECTED} ({type(error).__name__}); it is tried again; see its log"
                )

    def untold(self, plan: Tell) -> None:
        """Tell a pod later what it could not be told now."""
        if plan.uid in self.seen.waiting:
            self._explaining.tell_again(plan.uid, plan.message)

    @property
    def is_woken(self) -> bool:
        """Whether something changed that may help pods that did not fit."""
        return self._is_room

    @property
    def in_flight(self) -> int:
        """Return how many pods are in flight."""
        return len(self._flights)

    def wake(self) -> None:
        """Try pods again that did not fit."""
        self._is_room = False
        self.groups.touch_all()
        self.line.wake()

    def decide(self) -> Decided | None:
        """Decide about the next pod or group, None where none is to be tried."""
        for look in self.groups.looks(self.now, self._flights.keys(), self.aside, self.against):
            self._looked(look)
        while (entry := self.line.next()) is not None:
            asked = self.groups.asked.get(entry.uid)
            if asked is not None:
                return self._decided_together(entry, asked)
            question = question_of(self.seen.waiting[entry.uid], self.seen)
            if isinstance(question, Question):
                return self._decided(entry, question)
            self._note(entry.uid, question)
        return None

    def tick(self) -> None:
        """Do what is due by time: take back what is not used, and let go pods that waited too long."""
        self.settle()
        for uid in self.aside.due(self.now):
            self._reconsider(uid)
        self._explaining.look_again(self.now)
        for pod, releases in self._unbound.due(self.now):
            self.plans += releases
            node = self.seen.rooms.node_of(pod.uid)
            if node is not None and releases:
                self._distrusted.note(pod.uid, node, _NOT_BOUND, self.now)
        for uid in self._distrusted.ended(self.now, self.patience.distrust_s):
            self._reconsider(uid)
        self.plans += self.groups.giving.all_left()
        self.plans += self._letting_go.due(self.now, self.since, self.line, self._flights)

    def settle(self) -> None:
        """Note how long nodes have been the controller's, also while this replica does not lead."""
        if self.seen.owned.settle(self.now, self.patience.settle_s):
            self._is_room = True

    def explain(self) -> bool:
        """Find out why one pod waits; False where nothing is to be found out now."""
        if self.seen.owned.is_settling:
            return False  # the reasons are others in a moment
        return self._explaining.explain(self.now, self.since, self.patience.tell_s)

    def tells(self) -> Iterator[Plan]:
        """Yield what to tell pods now."""
        return self._explaining.tells(self.now)

    @property
    def refused(self) -> Mapping[str, Decision]:
        """Return the last decision about pods that get nothing, by UID."""
        return self._explaining.refused

    def why(self, decision: Decision) -> str:
        """Return why a pod waits, empty where its waiting is not our business."""
        return why_waits(decision, self.allocator, self.against, self.held_back)

    def _decided(self, entry: Entry, question: Question) -> Decided:
        against = self.against.get(entry.uid, {})
        decision = self.allocator.decide(question, against, self.held_back.nodes(entry.order))
        match decision:
            case Placed() | Served():
                return Decided((decision,), self._start(placement_of(decision)))
            case _:
                self.counts.refused += 1
                self.line.refused(entry)
                if isinstance(decision, Refused):
                    self.plans += self._unbound.releases(question.pod)  # a part of its claims is of no use
                self._explaining.put(decision)
        waited = self.now - self.since.get(entry.uid, self.now)
        if isinstance(decision, Refused) and waited >= self.patience.reserve_s:
            self.held_back.hold(entry, question, against)
        return Decided((decision,), None)

    def _decided_together(self, entry: Entry, asked: Asked) -> Decided:
        reserved = self.held_back.nodes(entry.order)
        found = decided_together(self.allocator, asked.questions, asked.minimum, self.against, reserved)
        if not isinstance(found, NoPlace):
            self.line.remove(entry.uid)
            return Decided(found, GroupPlacement(tuple(self._start(placement_of(one)) for one in found)))
        decisions: list[Decision] = []
        for other in self.line.same_shape(entry):
            group = self.groups.asked[other.uid]
            why = f"group {group.key}: {found.why}"
            mine = [NotTogether(one, why, found.nowhere) for one in group.questions]
            self._explaining.put(*mine)
            decisions += mine
        self.counts.refused += len(decisions)
        self.line.refused(entry)
        releases = self.groups.refused(asked)
        if releases:
            self.plans += releases
            self.line.remove(entry.uid)  # it comes back when all is given back
        return Decided(tuple(decisions), None)

    def _start(self, plan: Placement) -> Placement:
        uid = plan.pod.uid
        for held in plan.holds:
            self.seen.devices.hold(held)
        if plan.node:
            self.seen.assume(plan.pod, plan.node)
        self._leave(uid)
        self._flights[uid] = plan
        return plan

    def _take(self, effect: Effect) -> None:
        self._is_room = self._is_room or effect.is_room
        for uid in effect.pods:
            self._reconsider(uid)

    def _reconsider(self, uid: str) -> None:
        """Put a pod into the line, or take it out, by what is known of it now."""
        if uid in self._flights:
            return
        pod = self.seen.waiting.get(uid)
        if pod is None or not pod.is_waiting:
            self._forget(uid)
        elif not self.groups.touch(pod):
            self._serve_alone(pod)

    def _looked(self, look: Look) -> None:
        """Do what a look at a group says."""
        if look.entry is None:
            self.line.remove(look.id)
        else:
            self.line.put(look.entry)
        self.plans += look.releases
        for pod in look.alone:
            self._serve_alone(pod)
        for uid, why in look.waits.items():
            self.since.setdefault(uid, self.now)
            self.line.remove(uid)
            self.notes[uid] = why
            self._explaining.tell(uid, why)

    def _serve_alone(self, pod: Pod) -> None:
        uid = pod.uid
        if uid in self.aside:
            self._leave(uid)
            return
        question = question_of(pod, self.seen)
        if isinstance(question, NotYet):
            self._note(uid, question)
            return
        if self.notes.pop(uid, None) is not None:
            self._explaining.withdraw(uid)
        if not question.is_empty or pod.is_gated:
            self.since.setdefault(uid, self.now)
            self._unbound.forget(uid)
            entry = self._entry(pod, question)
            if not self.line.holds(entry):  # else only its status has changed, for example by what we told it
                self.line.put(entry)
        else:
            self._leave(uid)
            if pod.claims:
                self._unbound.note(uid, self.now)

    def _entry(self, pod: Pod, question: Question) -> Entry:
        against = tuple(sorted(self.against.get(pod.uid, {}).items()))
        shape = (question.shape, pod.is_gated, against)
        return Entry(Order.of(pod.priority, pod.created, pod.uid), shape)

    def same_shape(self, uid: str) -> list[str]:
        """Return the UIDs of the pods in the line that ask for the same as one of them."""
        pod = self.seen.waiting[uid]
        question = question_of(pod, self.seen)
        if not isinstance(question, Question):
            return []
        return [one.uid for one in self.line.same_shape(self._entry(pod, question))]

    def _note(self, uid: str, missing: NotYet) -> None:
        self._leave(uid)
        self.notes[uid] = missing.why
        self._explaining.tell(uid, missing.why)

    def _leave(self, uid: str) -> None:
        self.line.remove(uid)
        self._explaining.forget(uid)
        if self.held_back.let_go(uid):
            self._is_room = True

    def _ended(self, uid: str) -> None:
        """Note that a pod is gone or has ended, and that its claims may be given back."""
        self._forget(uid)
        for claim in self.seen.unused_claims(uid):
            gone = frozenset(one.uid for one in claim.consumers)
            self.plans.append(Release(claim.ref, claim.uid, gone))

    def _forget(self, uid: str) -> None:
        self._leave(uid)
        self._unbound.forget(uid)
        self.aside.forget(uid)
        self._letting_go.forget(uid)
        self._distrusted.forget(uid)
        for known in (self.notes, self.since):
            known.pop(uid, None)

    def _distrust(self, old: ClaimSeen) -> None:
        """Note that kube-scheduler took an allocation away: its pods cannot run on that node."""
        node = only_node(old)
        for pod in self.seen.users(old.ref):
            if node is not None and pod.is_waiting and pod.uid not in self._flights:
                self.counts.taken_back += 1
                self._distrusted.note(pod.uid, node, _TAKEN_BACK, self.now)

    def _trust(self, node: str) -> None:
        """Let pods use a node again that did not do for them: it has changed."""
        for uid in self._distrusted.trust(node):
            self._reconsider(uid)
