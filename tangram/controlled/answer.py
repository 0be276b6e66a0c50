"""The controller's answer for one pod: its devices and why this node, or why no node will do.

Takes a coordinator that has read a cluster; returns a value. Pods before this one in the line are decided
first, as the controller does, so they may take what this pod could have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from controller.decide.decisions import NotOurs, NotTogether, Placed, Refused, Served, Wrong
from controller.decide.question import NotYet, Question, question_of
from controller.decide.reasons import NodesAlike, groups_of, unusable
from controller.model.pods import Pod, PodRef
from controller.queue.waiting_line import Order
from controller.run.coordinator import Coordinator
from controller.run.ports import Why
from controller.run.values import Decided
from controller.run.writer import Outcome
from scheduler_core.advice.advise import advise
from scheduler_core.advice.refused_nodes import refused_nodes
from scheduler_core.advice.remedies import Remedy
from scheduler_core.base.errors import CoreError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.comparison.elsewhere import NOWHERE, Elsewhere, compare_elsewhere
from scheduler_core.engine.decider import Solver
from scheduler_core.frontends.pod_reasons.refused import RefusedPod, refused_pod, short_reasons
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Unallocatable
from tangram.controlled.asked import asked_by
from tangram.controlled.waiting import devices_of


class State(StrEnum):
    """What becomes of a pod."""

    PLACED = "gets devices"
    HAS_DEVICES = "has its devices"
    REFUSED = "gets no devices"
    LEFT = "is left to kube-scheduler"
    NOT_YET = "is not served yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAnswer:
    """What a pod gets now, and why.

    Shape: ``node`` is where it gets or has devices; ``devices`` by claim; ``reason`` is one sentence, that of
           the pod's condition where it has to wait; ``unusable`` are the nodes that will not do, those
           with the same reason together; ``others`` compares other nodes with the chosen one;
           ``chosen_by`` ends the sentence "chosen by ..."; ``told`` is what the pod's condition says;
           ``refusal`` is the answer of the node that comes closest, and ``remedies`` what would help on
           the nodes that could run the pod; ``amounts`` says both of a pod that asks by amounts.
    """

    pod: PodRef
    state: State
    node: str | None = None
    devices: Mapping[str, tuple[str, ...]]
    reason: str = ""
    unusable: tuple[NodesAlike, ...] = ()
    others: Elsewhere = NOWHERE
    chosen_by: str = ""
    told: str | None = None
    refusal: Unallocatable | None = None
    remedies: tuple[Remedy, ...] = ()
    amounts: RefusedPod | None = None


def answer_for(coordinator: Coordinator, pod: Pod) -> PodAnswer:
    """Return what a pod without a node gets. Shape: ``pod`` is one that the coordinator knows."""
    return replace(_answer(coordinator, pod), told=pod.told)


def at_its_turn(coordinator: Coordinator, pod: Pod) -> Placed | Refused | PodAnswer:
    """Return what is decided about a pod once those before it were, as if nothing could be written.

    Shape: an answer where no devices are searched for the pod.
    """
    question = question_of(pod, coordinator.seen)
    if isinstance(question, NotYet) or question.is_empty:
        return answer_for(coordinator, pod)
    decided = _decided(coordinator, pod.uid)
    if decided is None:
        return replace(_no_turn(coordinator, pod), told=pod.told)
    mine = (one for one in decided.decisions if one.question.pod.uid == pod.uid)
    match next(mine, decided.decisions[0]):
        case Placed() as placed:
            assert decided.plan is not None, "what is placed has a plan"
            coordinator.done(decided.plan, Outcome(Why.OUTDATED))
            return placed
        case Refused() as refused:  # of a pod that asks for the same, maybe
            return replace(refused, question=question)
        case _:
            return replace(_as_decided(coordinator, pod, decided), told=pod.told)


def has_devices(coordinator: Coordinator, pod: Pod, node: str) -> PodAnswer:
    """Return the answer for a pod whose claims are allocated."""
    devices: dict[str, tuple[str, ...]] = {}
    for claim in coordinator.seen.claims.values():
        if claim.held is not None and any(one.uid == pod.uid for one in claim.consumers):
            devices[str(claim.ref)] = tuple(str(one.device) for one in claim.held.results)
    bound = f"it is bound to node {node}" if pod.node else "kube-scheduler has not bound it to a node yet"
    return PodAnswer(pod=pod.ref, state=State.HAS_DEVICES, node=node or None, devices=devices, reason=bound)


def _answer(coordinator: Coordinator, pod: Pod) -> PodAnswer:
    question = question_of(pod, coordinator.seen)
    if isinstance(question, NotYet):
        return _not_yet(pod, question)
    if question.is_empty and not pod.is_gated:
        if not pod.claims:
            return PodAnswer(pod=pod.ref, state=State.LEFT, devices={}, reason="it asks for no devices")
        return has_devices(coordinator, pod, coordinator.seen.rooms.node_of(pod.uid) or "")
    decided = _decided(coordinator, pod.uid)
    return _no_turn(coordinator, pod) if decided is None else _as_decided(coordinator, pod, decided)


def _no_turn(coordinator: Coordinator, pod: Pod) -> PodAnswer:
    """Return the answer for a pod in a group that cannot be asked about yet."""
    why = coordinator.standing.notes.get(pod.uid) or "its group has fewer members than its minimum"
    return PodAnswer(pod=pod.ref, state=State.NOT_YET, devices={}, reason=why)


def _as_decided(coordinator: Coordinator, pod: Pod, decided: Decided) -> PodAnswer:
    mine = (one for one in decided.decisions if one.question.pod.uid == pod.uid)
    match next(mine, decided.decisions[0]):
        case Placed() as placed:
            return _placed(coordinator, placed, decided)
        case Served():
            return has_devices(coordinator, pod, coordinator.seen.rooms.node_of(pod.uid) or "")
        case NotOurs(why=why):
            return PodAnswer(pod=pod.ref, state=State.LEFT, devices={}, reason=why)
        case Wrong(why=why):
            return PodAnswer(pod=pod.ref, state=State.REFUSED, devices={}, reason=why)
        case NotTogether() as alone:
            why = coordinator.standing.why(alone)
            return PodAnswer(pod=pod.ref, state=State.REFUSED, devices={}, reason=why)
        case Refused() as refused:
            return _refused(coordinator, pod, refused)


def _not_yet(pod: Pod, missing: NotYet) -> PodAnswer:
    why = missing.why
    if pod.is_held_by_others:
        why = f"the gates of others come first: {', '.join(pod.gates)}"
    why = why or "a claim of it does not exist yet: kube-controller-manager makes it from its template"
    return PodAnswer(pod=pod.ref, state=State.NOT_YET, devices={}, reason=why)


def _decided(coordinator: Coordinator, uid: str) -> Decided | None:
    """Decide until a pod has its turn; pods that ask for the same are refused together."""
    coordinator.wake()
    while (one := coordinator.decide()) is not None:
        decided = [each.question.pod.uid for each in one.decisions]
        if uid in decided or (one.plan is None and uid in coordinator.standing.same_shape(decided[0])):
            return one
    return None


def _refused(coordinator: Coordinator, pod: Pod, refused: Refused) -> PodAnswer:
    """Return why no node will do, once all pods behind this one were decided too, as the controller does."""
    while coordinator.decide() is not None:
        pass
    question = refused.question
    answer = PodAnswer(pod=pod.ref, state=State.REFUSED, devices={}, reason=coordinator.standing.why(refused))
    try:
        groups = groups_of(question, coordinator.allocator, *limits(coordinator, question), refused.nodes)
        return _with_remedies(replace(answer, unusable=groups), coordinator, refused)
    except CoreError:  # it is the reason then
        return answer


def _with_remedies(answer: PodAnswer, coordinator: Coordinator, refused: Refused) -> PodAnswer:
    """Return the answer with what a user can do on the nodes that could run the pod."""
    question, views = refused.question, coordinator.seen.devices.views
    able, _ = unusable(question, coordinator.allocator, *limits(coordinator, question))
    asked = asked_by(question, coordinator)
    nodes = [views.node(name) for name in able]
    if not nodes:
        return answer
    if asked.ask is not None:
        found = refused_pod(asked.ask, asked.fits(coordinator), nodes, short_reasons(refused.nodes))
        return replace(answer, amounts=found)
    if not asked.claims:
        return answer
    engine = coordinator.allocator.engine
    groups = refused_nodes(asked.claims, engine, nodes)
    closest = next((one.refusal for one in groups if one.refusal is not None), None)
    if closest is None:
        return answer
    nodes.sort(key=lambda node: node.name != closest.node)
    return replace(answer, refusal=closest, remedies=advise(asked.claims, engine, nodes))


def _placed(coordinator: Coordinator, placed: Placed, decided: Decided) -> PodAnswer:
    """Return the devices, compared with other nodes in the state before they were given."""
    assert decided.plan is not None, "what is placed has a plan"
    coordinator.done(decided.plan, Outcome(Why.OUTDATED))  # as if nothing could be written
    question = placed.question
    able, others = unusable(question, coordinator.allocator, *limits(coordinator, question))
    is_by_claims = placed.made is None
    by = "what is left for later claims" if is_by_claims else "the pod's amounts and hints"
    return PodAnswer(
        pod=question.pod.ref,
        state=State.PLACED,
        node=placed.node,
        devices=devices_of(placed),
        unusable=others,
        others=_compared(coordinator, placed, able) if is_by_claims else NOWHERE,
        chosen_by=by,
    )


def _compared(coordinator: Coordinator, placed: Placed, able: Sequence[str]) -> Elsewhere:
    """Compare the chosen node with all others that could run the pod."""
    allocation, state = placed.answer, coordinator.seen.devices
    if not isinstance(allocation, Allocation) or placed.solver != Solver.TABLES:
        return NOWHERE
    claims = [one.asked for one in placed.claims]
    nodes = [state.views.node(name) for name in able]

    def seen(some: Sequence[Node]) -> Cluster:
        return _together(list(map(state.seen_from, some)))

    return compare_elsewhere(allocation, claims, coordinator.allocator.engine, nodes, seen)


def _together(seen: Sequence[Cluster]) -> Cluster:
    """Return what several nodes see, as one cluster."""
    pools = {pool.id: pool for one in seen for pool in one.pools}
    held = {(one.ref, one.uid): one for each in seen for one in each.allocated}
    return replace(seen[0], pools=tuple(pools.values()), allocated=tuple(held.values()))


def limits(coordinator: Coordinator, question: Question) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return the nodes that will not do for this pod, and those held back for others."""
    pod = question.pod
    reserved = coordinator.standing.held_back.nodes(Order.of(pod.priority, pod.created, pod.uid))
    return coordinator.standing.against.get(pod.uid, {}), reserved
