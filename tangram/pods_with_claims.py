"""``tangram allocate`` with pods in its files: each pod gets devices for its claims, one after another."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.allocations import claim_status
from scheduler_core.codec.documents import InvalidDocument
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.admission.asked_pod import asked_in_containers
from scheduler_core.frontends.configuration.check import daemon_uses
from scheduler_core.frontends.validation.pods_with_claims import PodWithClaims, pods_with_claims
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, Unallocatable
from scheduler_core.planning.trial_changes import TrialChanges
from scheduler_core.search.answer import with_share_ids
from tangram.allocation_answer import answered, share_ids
from tangram.allocation_input import AllocationInput, warn_of_kube_scheduler
from tangram.errors import BadInput
from tangram.face import DOES_NOT_FIT, DONE, UNDECIDED, Face
from tangram.pictures.allocation import allocation_picture, refusal_picture
from tangram.preparable import driver_of, refuse_unpreparable
from tangram.program.streams import complain
from tangram.refusals import refusal_value, undecided_value


@dataclass(frozen=True, slots=True)
class _Answered:
    """What became of a pod, or of the claims that no pod names. Shape: None where nothing was to allocate."""

    subject: str
    answer: Answer | None


def read_pods(asked: AllocationInput) -> list[PodWithClaims]:
    """Return the pods of the files that name claims; the others that ask for devices are named.

    Raises: BadInput.
    """
    pods = asked.objects.pods
    for one in pods:
        if not (one.content.get("spec") or {}).get("resourceClaims") and asked_in_containers(one.content):
            complain(f"{one.place}: the pod asks by amounts and is passed over: give it with --pod")
    for one in asked.others:
        if one.content["kind"] == "DaemonSet":
            complain(f"{one.place}: DaemonSet: one of its pods is judged; it has one on each node")
    try:
        return pods_with_claims((*asked.documents, *asked.others))
    except InvalidDocument as error:
        raise BadInput(str(error)) from error


def allocate_pods(
    pods: Sequence[PodWithClaims], asked: AllocationInput, engine: Engine, options: Namespace, face: Face
) -> int:
    """Allocate the claims of pods, then the claims that none of them names, and print what became of each.

    Each holds its devices before the next one. Of copies of a pod, those after one that does not fit are not
    tried: they ask for the same.
    """
    found: list[_Answered] = []
    with TrialChanges(asked.state) as trial:
        for one in _InTurn(asked, engine, trial, options).answers(pods):
            found.append(one)
            if not options.json:
                face.out.show(*_pictures(one, asked, face))
    if options.json:
        face.out.json({"allocated": all(map(_is_served, found)), "pods": list(map(_value, found))})
    if all(map(_is_served, found)):
        return DONE
    return DOES_NOT_FIT if any(isinstance(one.answer, Unallocatable) for one in found) else UNDECIDED


class _InTurn:
    """Pods that get their devices one after another. Shape: ``held`` are the claims that have theirs."""

    def __init__(
        self, asked: AllocationInput, engine: Engine, trial: TrialChanges, options: Namespace
    ) -> None:
        self._asked, self._engine, self._trial = asked, engine, trial
        self._driver = driver_of(options)
        self._waiting = {claim.ref: claim for claim in asked.objects.claims}
        self._held = {claim.ref: claim for claim in asked.objects.allocated}

    def answers(self, pods: Sequence[PodWithClaims]) -> Iterator[_Answered]:
        """Yield what becomes of each pod, then of the claims that none of them names. Raises: BadInput."""
        named: set[ClaimRef] = set()
        for pod in pods:
            named |= {one if isinstance(one, ClaimRef) else one.ref for one in pod.claims.values()}
            for number in range(1, pod.copies + 1):
                subject = pod.subject if pod.copies == 1 else f"{pod.subject}: pod {number} of {pod.copies}"
                answer = self._answer_to(pod, number)
                yield _Answered(subject, answer)
                if not isinstance(answer, Allocation):  # other copies ask for the same, or share the claims
                    break
        rest = [claim for ref, claim in self._waiting.items() if ref not in named]
        if rest:
            yield _Answered("claims that no pod names", self._allocate(rest, self._asked.nodes))

    def _answer_to(self, pod: PodWithClaims, number: int) -> Answer | None:
        claims = pod.claims_of(number)
        refs = {name: one if isinstance(one, ClaimRef) else one.ref for name, one in claims.items()}
        wanted: dict[ClaimRef, Claim] = {}
        for one in claims.values():
            if isinstance(one, Claim):
                wanted[one.ref] = one
            elif one not in self._held:
                if one not in self._waiting:
                    raise BadInput(f"{pod.subject}: resourceClaims: no file has claim {one}")
                wanted[one] = self._waiting[one]
        answer = None
        if wanted:
            pools = {
                result.device.pool
                for ref in refs.values()
                if ref in self._held
                for result in self._held[ref].results
            }
            here = tuple(node for node in self._asked.nodes if node.name in pools)
            answer = self._allocate([*wanted.values()], here or self._asked.nodes)
            if not isinstance(answer, Allocation):
                return answer
        pools_known = self._asked.cluster.pools
        problem = pod.problem(lambda name: daemon_uses(self._held[refs[name]], self._driver, pools_known))
        if problem:
            raise BadInput(problem)
        return answer

    def _allocate(self, claims: Sequence[Claim], nodes: Sequence[Node]) -> Answer:
        """Return devices for claims, which hold them. Raises: BadInput for what no plugin would prepare."""
        asked, pools = self._asked, self._asked.cluster.pools
        question = replace(asked, objects=replace(asked.objects, claims=tuple(claims)), nodes=tuple(nodes))
        answer = answered(question, self._engine)
        if not isinstance(answer, Allocation):
            return answer
        answer = with_share_ids(answer, pools, partial(next, share_ids(claims)))
        refuse_unpreparable(answer, pools, self._driver)
        warn_of_kube_scheduler(question, answer)
        for claim in claims:
            self._trial.hold(claim, answer)
            results, configs = answer.results[claim.ref], answer.configs.get(claim.ref, ())
            self._held[claim.ref] = AllocatedClaim(ref=claim.ref, results=results, configs=configs)
        return answer


def _is_served(one: _Answered) -> bool:
    return one.answer is None or isinstance(one.answer, Allocation)


def _pictures(one: _Answered, asked: AllocationInput, face: Face) -> Iterator[Any]:
    match one.answer:
        case None:
            yield f"{one.subject}: its claims have their devices"
        case Allocation() as allocation:
            yield f"{one.subject}: on {allocation.node}"
            pools, held = asked.cluster.pools, asked.objects.allocated
            yield allocation_picture(allocation, pools, held, face.out.width)
        case Unallocatable() as refusal:
            yield f"{one.subject}:"
            yield refusal_picture(refusal)
        case undecided:
            yield f"{one.subject}: {undecided}"


def _value(one: _Answered) -> dict[str, Any]:
    match one.answer:
        case None:
            return {"pod": one.subject, "allocated": True, "claims": []}
        case Allocation() as allocation:
            claims = [
                {"claim": str(ref), "status": claim_status(allocation, ref)} for ref in allocation.results
            ]
            return {"pod": one.subject, "allocated": True, "node": allocation.node, "claims": claims}
        case Unallocatable() as refusal:
            return {"pod": one.subject, **refusal_value(refusal)}
        case undecided:
            return {"pod": one.subject, **undecided_value(undecided)}
