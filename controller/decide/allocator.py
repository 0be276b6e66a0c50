"""Decides about pods one by one: devices for all claims of a pod at once, on one node.

A decision holds nothing: the caller enters it. Pure; for one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from controller.decide.amounts import AmountsDecider, Found
from controller.decide.candidates import Candidates
from controller.decide.decisions import Decision, NotOurs, Placed, Refused, Served, Wrong
from controller.decide.question import AmountsWanted, Question, Wanted
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.base.errors import CoreError, InvalidClaim
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, Policy
from scheduler_core.frontends.configuration.check import (
    allocated_problems,
    daemon_uses,
    has_conditions,
    unprepared_devices,
)
from scheduler_core.frontends.configuration.device_rules import several_in_container
from scheduler_core.frontends.placement.decide import NoNode
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.search.answer import with_share_ids
from scheduler_core.state.node_class import NodeView
from scheduler_core.state.node_views import restored

_NOTHING: Mapping[str, str] = {}


class Allocator:
    """Answers for one cluster. Shape: ``share_ids`` returns a new id at each call."""

    def __init__(self, seen: ClusterSeen, share_ids: Callable[[], str], policy: Policy = BEST_FIT) -> None:
        self.seen = seen
        self.candidates = Candidates(seen)
        self.engine = Engine(seen.devices, policy)
        self._share_ids = share_ids
        self._amounts = AmountsDecider(self.engine, share_ids, seen.unserved_classes)
        self._matching: dict[str, bool] = {}
        self._known_as: tuple[object, ...] = ()

    def decide(
        self, question: Question, against: Mapping[str, str] = _NOTHING, reserved: Set[str] = frozenset()
    ) -> Decision:
        """Return what the pod gets. Shape: as ``Candidates.admitting``."""
        if question.is_empty:
            return Served(question)
        try:
            ours = self.ours(question)
            if not ours and question.amounts is None:
                return NotOurs(question, "no device of a node that the controller owns matches the claims")
            admits = self.candidates.admitting(question, against, reserved)
            if question.amounts is not None:
                return self._by_amounts(question, question.amounts, ours, admits)
            found = self._somewhere([one.asked for one in ours], admits)
            solver = str(self.engine.answered_by.solver)
            match found:
                case None:
                    return Refused(question)
                case Undecided():
                    return Wrong(question, str(found))
                case Allocation():
                    answer = self.written(found)
                    self._refuse_several_daemons(question, answer)
                    return Placed(question, found.node, answer, ours, solver)
        except CoreError as error:
            return Wrong(question, str(error))

    def _by_amounts(
        self,
        question: Question,
        amounts: AmountsWanted,
        ours: tuple[Wanted, ...],
        admits: Callable[[Node], bool],
    ) -> Decision:
        claims = [one.asked for one in ours]
        found = self._amounts.decide(amounts, claims, admits, self.seen.tables, self._somewhere)
        match found:
            case None | NoNode() if unserved := self._unserved(amounts):
                return Wrong(question, unserved)
            case None:
                return Refused(question)
            case Undecided():
                return Wrong(question, str(found))
            case NoNode():
                if found.undecided:
                    return Wrong(question, str(found.undecided[0]))
                return Refused(question, found.refused)
            case Found():
                beside = None if found.beside is None else self.written(found.beside)
                return Placed(
                    question, found.node, beside, ours, "amounts", found.made, self.seen.devices.classes
                )

    def _unserved(self, amounts: AmountsWanted) -> str:
        """Return which of the classes no pod can get, and why."""
        reasons = self.seen.unserved_classes
        return "; ".join(reasons[name] for name in amounts.asked.classes if name in reasons)

    def ours(self, question: Question) -> tuple[Wanted, ...]:
        """Return the claims that match devices of ours. Raises: CoreError for a claim that is wrong."""
        ours = tuple(one for one in question.wanted if self._is_ours(one))
        for one in ours:
            one.refuse_mark()
        return ours

    def written(self, answer: Allocation) -> Allocation:
        """Return the answer as the claims get it. Raises: InvalidClaim for what no plugin would prepare."""
        for ref, results in answer.results.items():
            claim = AllocatedClaim(ref=ref, results=results, configs=answer.configs.get(ref, ()))
            if not has_conditions(claim):
                continue
            views, driver = self.seen.devices.views, self.seen.driver
            pools = [*map(restored, views.concerned(views.node(answer.node)))]
            for problem in allocated_problems(claim, driver, pools):
                raise InvalidClaim(f"claim {ref}", "", None, str(problem))
            for one, reason in unprepared_devices(claim, driver, pools):
                raise InvalidClaim(f"claim {ref}", "", None, f"device {one.device}: {reason}")
        return self._with_ids(answer)

    def _refuse_several_daemons(self, question: Question, answer: Allocation) -> None:
        """Raise: InvalidClaim if a container would get devices that need several MPS daemons."""
        pod, driver = question.pod, self.seen.driver
        claims: dict[str, AllocatedClaim] = {}
        for one in pod.claims:
            ref = ClaimRef(pod.ref.namespace, one.claim or "")
            seen = self.seen.claims.get(ref)
            if ref in answer.results:
                configs = answer.configs.get(ref, ())
                claims[one.name] = AllocatedClaim(ref=ref, results=answer.results[ref], configs=configs)
            elif seen is not None and seen.held is not None:
                claims[one.name] = seen.held
        if not any(one.configs or any(each.consumed for each in one.results) for one in claims.values()):
            return  # no device is under MPS
        views = self.seen.devices.views
        pools = [*map(restored, views.concerned(views.node(answer.node)))]
        daemons = {name: [*daemon_uses(one, driver, pools)] for name, one in claims.items()}
        for container, used in pod.uses:
            text, is_certain = several_in_container(container, used, lambda name: daemons.get(name, ()))
            if is_certain:
                raise InvalidClaim(f"pod {pod.ref}", "", None, text)

    def _with_ids(self, answer: Allocation) -> Allocation:
        """Return the answer with ids of shares; most nodes have no device that can be shared."""
        views = self.seen.devices.views
        node = views.node(answer.node)
        parts = views.node_view(node).components
        is_shared = any(part.template.structure_class.shareable for part in parts)
        if not is_shared and views.node_view(node).is_compiled:
            return answer
        return with_share_ids(answer, map(restored, views.concerned(node)), self._share_ids)

    def _somewhere(
        self, claims: Sequence[Claim], admits: Callable[[Node], bool]
    ) -> Allocation | Undecided | None:
        return self.engine.decide_somewhere(claims, admits=admits)

    def _is_ours(self, wanted: Wanted) -> bool:
        """Whether every request of a claim matches a device of ours on one kind of node, free or not.

        Raises: CoreError.
        """
        self._forget_where_changed()
        known = self._matching.get(wanted.shape)
        if known is None:
            known = any(self._matches(wanted.asked, view.node) for view in self._kinds_of_nodes())
            self._matching[wanted.shape] = known
        return known

    def _matches(self, claim: Claim, node: Node) -> bool:
        found = self.engine.request_devices([claim], node)
        return bool(found) and all(one.devices or not one.is_plain for one in found)

    def _kinds_of_nodes(self) -> Iterator[NodeView]:
        """Yield a node of every class of nodes that the controller owns."""
        views = self.seen.devices.views
        met = set()
        for name in views.names:
            if name not in self.seen.owned:
                continue
            view = views.node_view(views.node(name))
            if view.node_class not in met:
                met.add(view.node_class)
                yield view

    def _forget_where_changed(self) -> None:
        state = self.seen.devices
        known_as = (state.classes, self.seen.hardware)
        if known_as != self._known_as:
            self._matching.clear()
            self._known_as = known_as
