"""The reasons why claims do not fit: the decisive cause first, with a sentence per request concerned.

``Cause`` has the order of precedence. Some causes are visible in the problem itself. The others are found by
leaving something out: if the claims fit without their constraints, the constraints are the cause; if they
fit without groups and expressions, those are; otherwise too little is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from copy import copy
from dataclasses import replace

from scheduler_core.books.ledger import Ledger
from scheduler_core.books.ledgers import ledgers_of
from scheduler_core.explain.funnel import matching_stages
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import Device
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Cause, Reason
from scheduler_core.model.sentences import obstacle_text, stages_text, too_many_devices
from scheduler_core.search.candidates import Candidate, Offer, rejected_offers, select, selectors_of
from scheduler_core.search.depth_first import Problem, SearchAlternative, SearchRequest

_SHOWN = 3  # items that a sentence names before it says "and N more"

FitsRelaxed = Callable[[Problem, Sequence[Claim], Cluster], bool | None]
"""Whether a relaxed problem has an answer; claims and cluster say the same in another form.

None if a selector fails or the search reaches its bound: then nothing is claimed about the relaxed problem.
"""


def explain(
    claims: Sequence[Claim],
    cluster: Cluster,
    node: Node,
    problem: Problem,
    fits: FitsRelaxed,
) -> tuple[Reason, ...]:
    """Return the reasons, the decisive one first; never empty."""
    reasons = _decisive(claims, cluster, node, problem, fits)
    return (*reasons, *_unused_pools(reasons, cluster, node))


def _decisive(  # noqa: C901 - the order of causes is one story
    claims: Sequence[Claim], cluster: Cluster, node: Node, problem: Problem, fits: FitsRelaxed
) -> tuple[Reason, ...]:
    def fits_without(dropped: Set[int] | None) -> bool:
        relaxed = _without_constraints(claims, dropped)
        return fits(_without_rules(problem, dropped), relaxed, cluster) is True

    def never_fits(request: SearchRequest) -> bool:
        if len(problem.requests) == 1 and not problem.rules:
            return True
        claim = claims[request.claim]
        mine = next(one for one in claim.requests if one.alternatives[0].name == request.alternatives[0].name)
        alone = replace(problem, requests=(replace(request, claim=0),))
        part = replace(claim, requests=(mine,), constraints=())
        return fits(_without_rules(alone, None), (part,), cluster) is False

    plain = sorted(_plain(claims, cluster, node, problem), key=lambda reason: list(Cause).index(reason.cause))
    if plain:
        return tuple(plain)
    is_restricted = any(map(_restricts, cluster.pools))
    relaxed, compatible = cluster, problem
    if is_restricted:
        relaxed = _without_compatibility(cluster)
        compatible = replace(problem, ledgers=ledgers_of(relaxed.pools, cluster.allocated, cluster.features))
    if problem.rules or is_restricted:
        # What does not fit without any of them does not fit without some: one search for most refusals, and
        # none if too few devices are free for one request.
        is_short = any(_shortage(one.alternatives, compatible.ledgers) for one in problem.requests)
        fits_bare = not is_short and fits(
            _without_rules(compatible, None), _without_constraints(claims, None), relaxed
        )
        if fits_bare is False:
            return tuple(_shortages(claims, problem, never_fits))
        if problem.rules and (fits_without(None) if is_restricted else fits_bare):
            return tuple(_constraint_reasons(claims, problem, fits_without))
        if is_restricted and (fits(compatible, claims, relaxed) if problem.rules else fits_bare):
            return tuple(_shortages(claims, problem, never_fits, Cause.INCOMPATIBLE))
        if fits_bare:
            return tuple(_constraint_reasons(claims, problem, fits_without))
    return tuple(_shortages(claims, problem, never_fits))


def _unused_pools(reasons: Sequence[Reason], cluster: Cluster, node: Node) -> Iterator[Reason]:
    """Add a reason for an invalid pool: its devices might have fitted."""
    if any(reason.cause is Cause.POOL_INVALID for reason in reasons):
        return
    for pool in cluster.pools:
        if pool.problem is not None and pool.is_seen_from(node):
            detail = f"pool {pool.id} is not used, because it is invalid: {pool.problem}"
            yield Reason(reasons[0].claim, reasons[0].request, Cause.POOL_INVALID, detail)


def _restricts(pool: Pool) -> bool:
    """Whether devices of the pool have compatibility groups or expressions."""
    return any(
        device.only_with is not None or any(draw.groups for draw in device.draws) for device in pool.devices
    )


def _without_compatibility(cluster: Cluster) -> Cluster:
    return replace(cluster, pools=tuple(replace(pool, devices=_free(pool)) for pool in cluster.pools))


def _free(pool: Pool) -> tuple[Device, ...]:
    return tuple(
        replace(device, only_with=None, draws=tuple(replace(draw, groups=None) for draw in device.draws))
        for device in pool.devices
    )


def _plain(claims: Sequence[Claim], cluster: Cluster, node: Node, problem: Problem) -> Iterator[Reason]:
    for number, claim in enumerate(claims):
        least = sum(request.least for request in problem.requests if request.claim == number)
        if detail := too_many_devices(least):
            yield Reason(claim.ref, claim.requests[0].name, Cause.TOO_MANY_DEVICES, detail)
    for request in problem.requests:
        claim = claims[request.claim]
        incomplete = [pool for pool in cluster.pools if not pool.is_complete and pool.is_seen_from(node)]
        if incomplete and all(alternative.count is None for alternative in request.alternatives):
            detail = f"needs all matching devices, but pool {incomplete[0].id} is incomplete"
            yield Reason(claim.ref, request.alternatives[0].name, Cause.POOL_INCOMPLETE, detail)
        if not any(alternative.candidates for alternative in request.alternatives):
            yield _no_match(request, claim, cluster, node, problem.seen)


def _no_match(
    request: SearchRequest, claim: Claim, cluster: Cluster, node: Node, seen: Sequence[Offer]
) -> Reason:
    name = request.alternatives[0].name
    for pool in cluster.pools:
        if not pool.is_seen_from(node):
            obsolete = pool.obsolete_on(node)
            if obsolete is None:
                continue
            detail = (
                f"pool {pool.id} is changing: generation {pool.generation} has no slice for node "
                f"{node.name}, and that of generation {obsolete.generation} is obsolete"
            )
            return Reason(claim.ref, name, Cause.POOL_INCOMPLETE, detail)
        if pool.problem is not None:
            return Reason(claim.ref, name, Cause.POOL_INVALID, f"pool {pool.id} is invalid: {pool.problem}")
        if not pool.is_complete:
            detail = f"pool {pool.id} is incomplete: slices of generation {pool.generation} are missing"
            return Reason(claim.ref, name, Cause.POOL_INCOMPLETE, detail)
    invalid = _invalid_match(request, claim, cluster, node)
    if invalid is not None:
        return invalid
    # Which of the things that the first alternative asks leaves no device?
    option = next(option for one in claim.requests for option in one.alternatives if option.name == name)
    stages = matching_stages(option, cluster, seen)
    detail = f"no device of node {node.name} matches its class and selectors: {stages_text(stages)}"
    return Reason(claim.ref, name, Cause.NO_MATCHING_DEVICE, detail)


def _invalid_match(request: SearchRequest, claim: Claim, cluster: Cluster, node: Node) -> Reason | None:
    seen = rejected_offers(cluster.pools, node)
    options = {option.name: option for request in claim.requests for option in request.alternatives}
    for alternative in request.alternatives:
        selectors = selectors_of(options[alternative.name], claim, cluster.classes)
        matched = [
            candidate.offer
            for candidate in select(selectors, options[alternative.name], seen)
            if candidate.error is None
        ]
        if matched:
            pool, device = cluster.pools[matched[0].pool], matched[0].device
            reason = pool.rejected[device.name].reason
            detail = f"every device that matches is invalid: {device.name}: {reason}"
            return Reason(claim.ref, alternative.name, Cause.DEVICE_INVALID, detail)
    return None


def _without_rules(problem: Problem, dropped: Set[int] | None) -> Problem:
    """Return the problem without the rules of some constraints; without any if None."""

    def relaxed(alternative: SearchAlternative) -> SearchAlternative:
        kept = () if dropped is None else tuple(rule for rule in alternative.rules if rule not in dropped)
        return replace(alternative, rules=kept)

    requests = tuple(
        SearchRequest(request.claim, tuple(map(relaxed, request.alternatives)))
        for request in problem.requests
    )
    return replace(problem, requests=requests)


def _without_constraints(claims: Sequence[Claim], dropped: Set[int] | None) -> tuple[Claim, ...]:
    """Return the claims without some constraints, numbered through all claims; without any if None."""
    number = 0
    relaxed = []
    for claim in claims:
        kept = []
        for constraint in claim.constraints:
            if dropped is not None and number not in dropped:
                kept.append(constraint)
            number += 1
        relaxed.append(replace(claim, constraints=tuple(kept)))
    return tuple(relaxed)


def _constraint_reasons(
    claims: Sequence[Claim], problem: Problem, fits_without: Callable[[Set[int] | None], bool]
) -> Iterator[Reason]:
    """Name each constraint without which all would fit; all constraints where there is no such one."""
    owned = [(claim, constraint) for claim in claims for constraint in claim.constraints]
    bound = {
        rule
        for request in problem.requests
        for alternative in request.alternatives
        for rule in alternative.rules
    }
    # Without all of them the claims fit, so a single one needs no question of its own.
    alone = [rule for rule in sorted(bound) if fits_without({rule})] if len(bound) > 1 else ()
    for rule in alone or sorted(bound):
        claim, constraint = owned[rule]
        named = constraint.requests or tuple(request.name for request in claim.requests)
        what = type(constraint).__name__.replace("Attribute", "").lower()
        over = f"{what}Attribute {constraint.attribute} over {_list(named)}"
        detail = f"the devices fit, but not with {over}"
        yield Reason(claim.ref, named[0], Cause.CONSTRAINT_UNSATISFIED, detail, constraint)


def _shortages(
    claims: Sequence[Claim],
    problem: Problem,
    never_fits: Callable[[SearchRequest], bool],
    cause: Cause = Cause.INSUFFICIENT,
) -> Iterator[Reason]:
    """Yield why too few devices are free for a request, or which requests do not fit, alone or together."""
    ledgers = problem.ledgers
    known: dict[object, str | None] = {}
    reasons = []
    for request in problem.requests:
        alike = tuple(
            (alternative.count, alternative.admin_access, *map(id, alternative.candidates))
            for alternative in request.alternatives
        )
        if alike not in known:  # requests with equal candidates have equal reasons
            known[alike] = _shortage(request.alternatives, ledgers)
        detail = known[alike]
        if detail is not None:
            reasons.append(Reason(claims[request.claim].ref, request.alternatives[0].name, cause, detail))
    if reasons:
        yield from reasons
        return
    for request in problem.requests:
        # One device alone is free, so only a request for several can fail by itself.
        if max(_needed(one) for one in request.alternatives) > 1 and never_fits(request):
            first = request.alternatives[0]
            detail = f"{_crowded(first)}{_first_clash(claims, [request], ledgers)}"
            yield Reason(claims[request.claim].ref, first.name, cause, detail)
            return
    names = tuple(request.alternatives[0].name for request in problem.requests)
    claim = claims[problem.requests[0].claim]
    if len(claims) > 1:
        owners = (claims[request.claim].ref for request in problem.requests)
        named = tuple(f"{name} of {owner}" for name, owner in zip(names, owners, strict=True))
    else:
        named = names
    clash = _first_clash(claims, problem.requests, ledgers)
    detail = f"each of {_list(named)} fits alone, but they do not fit together{clash}"
    yield Reason(claim.ref, names[0], cause, detail)


def _needed(alternative: SearchAlternative) -> int:
    return len(alternative.candidates) if alternative.count is None else alternative.count


def _crowded(alternative: SearchAlternative) -> str:
    """Return the reason of a request whose matching devices are free and exclude each other."""
    matching = len(alternative.candidates)
    if alternative.count is None:
        return f"needs all {matching} devices that match, and they do not fit together"
    count = alternative.count
    return f"needs {count} devices, and no {count} of the {matching} that match fit together"


def _first_clash(
    claims: Sequence[Claim], requests: Sequence[SearchRequest], ledgers: Sequence[Ledger]
) -> str:
    """Return the first device that the devices before it leave no room for, with what is too little.

    Shape: begins with a semicolon; empty if devices taken in listed order do not clash.
    """
    now = [copy(one) for one in ledgers]
    for request in requests:
        alternative, taken = request.alternatives[0], 0
        clash: Candidate | None = None
        for candidate in alternative.candidates:
            if taken == alternative.count or alternative.admin_access:
                break
            name, ledger = candidate.offer.device.name, now[candidate.offer.pool]
            if candidate.obstacle is None and ledger.admits(name, candidate.share):
                ledger.take(name, f"{claims[request.claim].ref} request {alternative.name}", candidate.share)
                taken += 1
            elif clash is None and name not in ledger.taken and _is_free(alternative, candidate, ledgers):
                clash = candidate
        if taken < _needed(alternative):
            nothing_left = f"after the requests before it nothing is left for {alternative.name}"
            return f"; {nothing_left if clash is None else _obstacle(clash, now)}"
    return ""


def _shortage(alternatives: Sequence[SearchAlternative], ledgers: Sequence[Ledger]) -> str | None:
    """Return why too few candidates are free for every alternative; None where enough are for one."""
    sentences = []
    for alternative in alternatives:
        blocked = [one for one in alternative.candidates if not _is_free(alternative, one, ledgers)]
        free = len(alternative.candidates) - len(blocked)
        if free >= _needed(alternative):
            return None
        found = _found(alternative.count, len(alternative.candidates), free)
        shown = [_obstacle(one, ledgers) for one in blocked[:_SHOWN]]
        sentences.append(f"{found}; {_list(shown, '; ', len(blocked))}" if blocked else found)
    return " or ".join(sentences)


def _found(count: int | None, matching: int, free: int) -> str:
    """Return how many devices are needed and found, as a sentence without a full stop or a semicolon."""
    if count is None:
        are = f"only {free} of them {'is' if free == 1 else 'are'} free" if free else "none of them is free"
        return f"needs all {matching} devices that match, and {are}"
    needs = f"needs {count} device{'s' if count > 1 else ''}, and"
    if matching < count:
        held = f", {free or 'none'} of them free" if free < matching else ""
        return f"{needs} only {matching} match{'es' if matching == 1 else ''}{held}"
    if matching == 1:
        return f"{needs} the only one that matches is not free"
    if not free:
        return f"{needs} none of the {matching} that match is free"
    return f"{needs} only {free} of the {matching} that match {'is' if free == 1 else 'are'} free"


def _is_free(alternative: SearchAlternative, candidate: Candidate, ledgers: Sequence[Ledger]) -> bool:
    if candidate.obstacle is not None or alternative.admin_access:
        return candidate.obstacle is None
    return ledgers[candidate.offer.pool].admits(candidate.offer.device.name, candidate.share)


def _obstacle(candidate: Candidate, ledgers: Sequence[Ledger]) -> str:
    """Return the name of a candidate that is not free, and its obstacle as a sentence."""
    name = candidate.offer.device.name
    found = candidate.obstacle or ledgers[candidate.offer.pool].obstacle(name, candidate.share)
    assert found is not None, "a candidate that is not free has an obstacle"
    return f"{name}: {obstacle_text(found)}"


def _list(items: Sequence[str], separator: str = ", ", total: int | None = None) -> str:
    rest = (len(items) if total is None else total) - _SHOWN
    text = separator.join(items[:_SHOWN])
    return f"{text} and {rest} more" if rest > 0 else text
