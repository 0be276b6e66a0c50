"""Where each waiting pod stands: in the line, set aside, in flight, or waiting for something that is missing.

One thread; no I/O; the time is given by who asks.
"""

from __future__ import annotations

from controller.decide.allocator import Allocator
from controller.decide.decisions import Decision
from controller.decide.question import NotYet, Question, question_of
from controller.model.claims import ClaimSeen
from controller.model.pods import Pod
from controller.plan.plans import Placement, Plan, Release
from controller.queue.waiting_line import Entry, Order, WaitingLine
from controller.run.distrust import Distrust
from controller.run.explaining import Explaining
from controller.run.groups.giving_back import GivingBack
from controller.run.groups.groups import Groups, Look
from controller.run.groups.roster import Roster
from controller.run.held_back import HeldBack
from controller.run.letting_go import LettingGo
from controller.run.set_aside import SetAside
from controller.run.unbound import Unbound
from controller.run.values import Counts, Patience
from controller.run.why import why_waits
from controller.state.cluster_seen import ClusterSeen, Effect, only_node

_NOT_BOUND = "had the devices, and the pod was not bound there"
_TAKEN_BACK = "had their devices given back by kube-scheduler"


class Standing:
    """The standing of every waiting pod.

    Shape: ``notes`` why pods are not in the line; ``since`` when pods began to wait; ``flights`` what is
           being written, all by UID; ``plans`` what is to be written without a decision; ``is_room`` whether
           something changed that may help pods that did not fit. Units: ``now`` seconds.
    """

    def __init__(self, seen: ClusterSeen, allocator: Allocator, patience: Patience, counts: Counts) -> None:
        self.seen = seen
        self.line = WaitingLine()
        self.held_back = HeldBack(allocator)
        roster = Roster(seen, allocator)
        self.groups = Groups(roster, GivingBack(seen, roster))
        self.aside = SetAside()
        self.unbound = Unbound(seen, patience.bind_s)
        self.letting_go = LettingGo(seen.waiting, patience.let_go_s)
        self.distrusted = Distrust()
        self.explaining = Explaining(seen.waiting, self.why, self.same_shape)
        self.notes: dict[str, str] = {}
        self.since: dict[str, float] = {}
        self.flights: dict[str, Placement] = {}
        self.plans: list[Plan] = []
        self.now = 0.0
        self.is_room = False
        self._allocator = allocator
        self._patience = patience
        self._counts = counts

    @property
    def against(self) -> dict[str, dict[str, str]]:
        """Return, by pod, the nodes that will not do for it and why."""
        return self.distrusted.against

    def take(self, effect: Effect) -> None:
        """Take in what a change of ``seen`` may help."""
        self.is_room = self.is_room or effect.is_room
        for uid in effect.pods:
            self.reconsider(uid)

    def reconsider(self, uid: str) -> None:
        """Put a pod into the line, or take it out, by what is known of it now."""
        if uid in self.flights:
            return
        pod = self.seen.waiting.get(uid)
        if pod is None or not pod.is_waiting:
            self.forget(uid)
        elif not self.groups.touch(pod):
            self._serve_alone(pod)

    def tick(self) -> None:
        """Do what is due by time: take back what is not used, and let go pods that waited too long."""
        for uid in self.aside.due(self.now):
            self.reconsider(uid)
        self.explaining.look_again(self.now)
        for pod, releases in self.unbound.due(self.now):
            self.plans += releases
            node = self.seen.rooms.node_of(pod.uid)
            if node is not None and releases:
                self.distrusted.note(pod.uid, node, _NOT_BOUND, self.now)
        for uid in self.distrusted.ended(self.now, self._patience.distrust_s):
            self.reconsider(uid)
        self.plans += self.groups.giving.all_left()
        self.plans += self.letting_go.due(self.now, self.since, self.line, self.flights)

    def look_at_groups(self) -> None:
        """Take in what has changed about groups."""
        for look in self.groups.looks(self.now, self.flights.keys(), self.aside, self.against):
            self._looked(look)

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
            self.explaining.tell(uid, why)

    def start(self, plan: Placement) -> Placement:
        """Put a pod in flight: what it will hold is held from now on."""
        uid = plan.pod.uid
        for held in plan.holds:
            self.seen.devices.hold(held)
        if plan.node:
            self.seen.assume(plan.pod, plan.node)
        self._leave(uid)
        self.flights[uid] = plan
        return plan

    def note(self, uid: str, missing: NotYet) -> None:
        """Note and tell what a pod waits for before it can be in the line."""
        self._leave(uid)
        self.notes[uid] = missing.why
        self.explaining.tell(uid, missing.why)

    def ended(self, uid: str) -> None:
        """Note that a pod is gone or has ended, and that its claims may be given back."""
        self.forget(uid)
        for claim in self.seen.unused_claims(uid):
            gone = frozenset(one.uid for one in claim.consumers)
            self.plans.append(Release(claim.ref, claim.uid, gone))

    def forget(self, uid: str) -> None:
        """Forget a pod that waits no longer."""
        self._leave(uid)
        self.unbound.forget(uid)
        self.aside.forget(uid)
        self.letting_go.forget(uid)
        self.distrusted.forget(uid)
        for known in (self.notes, self.since):
            known.pop(uid, None)

    def distrust(self, old: ClaimSeen) -> None:
        """Note that kube-scheduler took an allocation away: its pods cannot run on that node."""
        node = only_node(old)
        for pod in self.seen.users(old.ref):
            if node is not None and pod.is_waiting and pod.uid not in self.flights:
                self._counts.taken_back += 1
                self.distrusted.note(pod.uid, node, _TAKEN_BACK, self.now)

    def trust(self, node: str) -> None:
        """Let pods use a node again that did not do for them: it has changed."""
        for uid in self.distrusted.trust(node):
            self.reconsider(uid)

    def same_shape(self, uid: str) -> list[str]:
        """Return the UIDs of the pods in the line that ask for the same as one of them."""
        pod = self.seen.waiting[uid]
        question = question_of(pod, self.seen)
        if not isinstance(question, Question):
            return []
        return [one.uid for one in self.line.same_shape(self._entry(pod, question))]

    def why(self, decision: Decision) -> str:
        """Return why a pod waits, empty where its waiting is not our business."""
        return why_waits(decision, self._allocator, self.against, self.held_back)

    def _serve_alone(self, pod: Pod) -> None:
        uid = pod.uid
        if uid in self.aside:
            self._leave(uid)
            return
        question = question_of(pod, self.seen)
        if isinstance(question, NotYet):
            self.note(uid, question)
            return
        if self.notes.pop(uid, None) is not None:
            self.explaining.withdraw(uid)
        if not question.is_empty or pod.is_gated:
            self.since.setdefault(uid, self.now)
            self.unbound.forget(uid)
            entry = self._entry(pod, question)
            if not self.line.holds(entry):  # else only its status has changed, for example by what we told it
                self.line.put(entry)
        else:
            self._leave(uid)
            if pod.claims:
                self.unbound.note(uid, self.now)

    def _entry(self, pod: Pod, question: Question) -> Entry:
        against = tuple(sorted(self.against.get(pod.uid, {}).items()))
        shape = (question.shape, pod.is_gated, against)
        return Entry(Order.of(pod.priority, pod.created, pod.uid), shape)

    def _leave(self, uid: str) -> None:
        self.line.remove(uid)
        self.explaining.forget(uid)
        if self.held_back.let_go(uid):
            self.is_room = True
