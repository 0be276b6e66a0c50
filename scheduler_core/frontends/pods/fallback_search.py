"""The fallback for annotated claims where no choice of the front end meets the claims' other constraints.

Joint allocation becomes a constraint of the core's search, so an answer is found whenever there is one. It
need not be the closest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.base.effort import Effort
from scheduler_core.frontends.joint.choose import answers
from scheduler_core.frontends.pods.claim_demands import Marks, Pins, SlotDemand, pinned, switches_of
from scheduler_core.model.claim import Claim, ClaimRef, SameScope
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.search.depth_first import Problem, Search
from scheduler_core.search.problem import problem_of


def searched_with_constraints(
    claims: Sequence[Claim],
    marks: Mapping[ClaimRef, Marks],
    cluster: Cluster,
    node: Node,
    demands: Sequence[SlotDemand],
    *,
    effort: Effort,
) -> Search | None:
    """Return the first successful search, None where there is none.

    Every useful number of cards per request is tried, the smallest first. Partitions are chosen here.
    Raises: EffortExceeded at the bound of steps.
    """
    bound = [
        one for one in demands if one.demand.partitioned is not None and one.demand.partitioned.is_binding
    ]
    requests = problem_of(claims, cluster, node).requests
    scopes = switches_of([alternative for request in requests for alternative in request.alternatives])
    most = max((one.demand.first.count or 1 for one in demands if one.demand.first is not None), default=1)
    for number in range(1, most + 1):
        asked = tuple(_with_cards(claim, marks.get(claim.ref, Marks()), number, scopes) for claim in claims)
        problem = problem_of(asked, cluster, node)
        for pins in _partition_pins(problem, bound, effort):
            effort.step()
            search = Search(pinned(problem, pins), effort)
            if search.run():
                return search
    return None


def _with_cards(claim: Claim, marks: Marks, number: int, scopes: tuple[QualifiedName, ...]) -> Claim:
    """Return the claim with ``number`` devices or more per card request, constrained to stay close."""
    if marks.joint is None or not marks.joint.is_same_pcie:
        return claim
    card_requests = marks.joint.types[1:]
    requests = []
    for request in claim.requests:
        (option, *others) = request.alternatives
        if request.name in card_requests and option.count is not None and not others:
            option = replace(option, count=max(option.count, number))
        requests.append(replace(request, alternatives=(option, *others)))
    groups = tuple((name,) for name in marks.joint.types)
    constraint = SameScope(scopes, groups)
    return replace(claim, requests=tuple(requests), constraints=(*claim.constraints, constraint))


def _partition_pins(problem: Problem, bound: Sequence[SlotDemand], effort: Effort) -> Iterator[Pins]:
    """Yield every choice of partitions, as pins of the requests that need one."""
    if not bound:
        yield {}
        return
    first, *rest = bound
    for node_devices, _ in answers(replace(first.demand, together=(), is_same_pcie=False), effort):
        candidates = problem.requests[first.requests[0]].alternatives[0].candidates
        for pins in _partition_pins(problem, rest, effort):
            yield {first.requests[0]: [candidates[node_device.index] for node_device in node_devices], **pins}
