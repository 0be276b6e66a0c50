"""The fallback for annotated claims where no choice of the front end meets the claims' other constraints.

Joint allocation becomes a constraint of the claims, so an answer is found whenever there is one. It need not
be the closest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.frontends.claims.claim_demands import Marks, SlotDemand, switches_of
from scheduler_core.frontends.claims.pinned_choices import PinnedChoices
from scheduler_core.frontends.joint.choose import answers
from scheduler_core.model.claim import Claim, ClaimRef, SameScope
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.result import Allocation
from scheduler_core.search.pinned import Pins


def searched_with_constraints(
    claims: Sequence[Claim],
    marks: Mapping[ClaimRef, Marks],
    choices: PinnedChoices,
    demands: Sequence[SlotDemand],
) -> Allocation | None:
    """Return the first allocation that meets everything, None where there is none.

    Every useful number of cards per request is tried, the smallest first. Partitions are chosen here.
    Raises: EffortExceeded at the bound of steps.
    """
    bound = [
        one for one in demands if one.demand.partitioned is not None and one.demand.partitioned.is_binding
    ]
    scopes = switches_of(choices.requests)
    most = max((one.demand.first.count or 1 for one in demands if one.demand.first is not None), default=1)
    for number in range(1, most + 1):
        asked = tuple(_with_cards(claim, marks.get(claim.ref, Marks()), number, scopes) for claim in claims)
        for pins in _partition_pins(choices, bound):
            found = choices.decide(asked, pins)
            if found is not None:
                return found
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


def _partition_pins(choices: PinnedChoices, bound: Sequence[SlotDemand]) -> Iterator[Pins]:
    """Yield every choice of partitions, as pins of the requests that need one."""
    if not bound:
        yield {}
        return
    first, *rest = bound
    request = first.requests[0]
    for node_devices, _ in answers(replace(first.demand, together=(), is_same_pcie=False), choices.effort):
        for pins in _partition_pins(choices, rest):
            yield {request: choices.devices(request, node_devices), **pins}
