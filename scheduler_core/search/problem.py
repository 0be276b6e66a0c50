"""Makes the problem for a search from claims and a cluster: what each request may get, under which rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import Features
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.ledgers import ledgers_of
from scheduler_core.model.claim import (
    Claim,
    Constraint,
    DeviceRequest,
    DistinctAttribute,
    ExclusiveScope,
    MatchAttribute,
    PreferScope,
    SameScope,
)
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import KubeletCannotSkip, TaintNotTolerated
from scheduler_core.model.taints import intolerable
from scheduler_core.rules.constraints import Rule, applies, rule_of
from scheduler_core.rules.scopes import (
    Preferred,
    Reserved,
    SameSets,
    alone,
    compared,
    reservation,
    reserved,
)
from scheduler_core.rules.selectors import Selector, compile_derived
from scheduler_core.search.candidates import Candidate, Offer, check_features, offers, select, selectors_of
from scheduler_core.search.depth_first import Problem, SearchAlternative, SearchRequest


def problem_of(
    claims: Sequence[Claim], cluster: Cluster, node: Node, seen: Sequence[Offer] | None = None
) -> Problem:
    """Return the problem. ``cluster.pools`` are in order; ``seen`` is what ``offers`` returns for them.

    Raises: InvalidClaim for an unknown class or a feature that is off; SelectorError for a selector that
            does not compile.
    """
    if seen is None:
        seen = offers(cluster.pools, node, cluster.features)
    is_complete = all(pool.is_complete for pool in cluster.pools if pool.is_seen_from(node))
    concerned = tuple(pool for pool in cluster.pools if pool.concerns(node))
    view = _Seen(seen, is_complete, cluster, reserved(concerned, cluster.allocated), node, {})
    requests: list[SearchRequest] = []
    rules: list[Rule] = []
    for number, claim in enumerate(claims):
        first_rule, first_slot = len(rules), len(requests)
        for request in claim.requests:
            check_features(request, claim, cluster.features)
            alternatives = (
                _alternative(option, claim, number, first_rule, view) for option in request.alternatives
            )
            requests.append(SearchRequest(number, tuple(alternatives)))
        rules += [
            _rule(constraint, requests[first_slot:], replace(cluster, pools=concerned))
            for constraint in claim.constraints
        ]
    return Problem(
        tuple(requests), tuple(rules), ledgers_of(cluster.pools, cluster.allocated, cluster.features), seen
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    offers: Sequence[Offer]
    is_complete: bool
    cluster: Cluster
    reserved: Reserved
    node: Node
    selected: dict[object, tuple[Candidate, ...]]

    def select(self, selectors: tuple[Selector, ...], option: DeviceRequest) -> tuple[Candidate, ...]:
        """Return the candidates of a request; requests that ask for the same are answered once."""
        key = (selectors, tuple(option.capacity.items()))
        found = self.selected.get(key)
        if found is None:
            found = self.selected[key] = tuple(select(selectors, option, self.offers, self.cluster.features))
        return found


def _rule(constraint: Constraint, requests: Sequence[SearchRequest], cluster: Cluster) -> Rule:
    """Return a new rule. A rule that compares scopes reads the candidates of the claim."""
    match constraint:
        case SameScope():
            return _same_sets(constraint, requests)
        case PreferScope():
            return Preferred(constraint)
        case ExclusiveScope():
            return alone(constraint, cluster.pools, cluster.allocated)
        case MatchAttribute() | DistinctAttribute():
            return rule_of(constraint, cluster.features)


def _same_sets(constraint: SameScope, requests: Sequence[SearchRequest]) -> SameSets:
    alternatives = [
        [
            alternative
            for request in requests
            for alternative in request.alternatives
            if _is_of(alternative, group)
        ]
        for group in constraint.groups
    ]
    devices = [
        [one.offer.device for alternative in group for one in alternative.candidates]
        for group in alternatives
    ]
    scope = compared(constraint.scopes, (device for group in devices for device in group))
    scopes = (
        frozenset(one.attributes[scope] for one in group if scope in one.attributes) for group in devices
    )
    firm = [
        all(len(request.alternatives) == 1 for request in requests if _is_of(request.alternatives[0], group))
        for group in constraint.groups
    ]
    sizes = [
        sum(
            len(alternative.candidates) if alternative.count is None else alternative.count
            for alternative in group
        )
        if is_firm
        else None
        for group, is_firm in zip(alternatives, firm, strict=True)
    ]
    return SameSets(constraint, scope, sizes, frozenset.intersection(*scopes) if devices else frozenset())


def _is_of(alternative: SearchAlternative, group: Sequence[str]) -> bool:
    return alternative.name in group or alternative.name.partition("/")[0] in group


def _alternative(
    option: DeviceRequest, claim: Claim, number: int, first_rule: int, seen: _Seen
) -> SearchAlternative:
    selectors = selectors_of(option, claim, seen.cluster.classes)
    bound = tuple(
        first_rule + index
        for index, constraint in enumerate(claim.constraints)
        if applies(constraint, option.name)
    )
    chosen = seen.select(selectors, option) if option.count is not None or seen.is_complete else ()
    features = seen.cluster.features
    derived = _derived(option, [claim.constraints[rule - first_rule] for rule in bound], chosen)
    able = _skipping(_tolerated(option, derived, features), seen.node, features)
    return SearchAlternative(
        name=option.name,
        count=option.count,
        candidates=tuple(_unreserved(able, seen.reserved)),
        rules=bound,
        kind=_kind(number, option, _seats(claim, option, bound, first_rule)),
        admin_access=option.admin_access,
    )


def _seats(
    claim: Claim, option: DeviceRequest, bound: tuple[int, ...], first_rule: int
) -> tuple[tuple[int, int], ...]:
    """Return the rules that bind an alternative, each with the group of requests in it."""
    found = []
    for rule in bound:
        one = claim.constraints[rule - first_rule]
        found.append((rule, one.group_of(option.name) if isinstance(one, SameScope) else 0))
    return tuple(found)


def _kind(claim: int, option: DeviceRequest, seats: tuple[tuple[int, int], ...]) -> object:
    """Return a key that is equal for interchangeable alternatives."""
    what = (option.class_name, option.selectors, option.count, option.admin_access, option.tolerations)
    return (claim, *what, option.derived, tuple(sorted(option.capacity.items())), seats)


def _derived(
    option: DeviceRequest, constraints: Sequence[Constraint], candidates: Sequence[Candidate]
) -> Iterator[Candidate]:
    """Give the candidates the derived attributes that the constraints compare, in place of their own.

    Selectors have seen the device as it is published. Source: upstream v0.37.2, ``lookupAttribute``.
    """
    compared = {one.attribute for one in constraints if isinstance(one, MatchAttribute | DistinctAttribute)}
    derived = [(name, text) for name, text in option.derived if name in compared]
    for candidate in candidates:
        if not derived or candidate.error is not None:
            yield candidate
            continue
        device = candidate.offer.device
        attributes = dict(device.attributes)
        try:
            for name, text in derived:
                value = compile_derived(text).of(candidate.offer.view)
                attributes.pop(name, None)
                attributes |= {} if value is None else {name: value}
        except SelectorError as error:
            yield replace(candidate, error=error)
        else:
            changed = replace(device, attributes=attributes)
            yield replace(candidate, offer=replace(candidate.offer, device=changed))


def _skipping(candidates: Iterator[Candidate], node: Node, features: Features) -> Iterator[Candidate]:
    """Mark the candidates that do without calls which the node's kubelet makes anyway."""
    gate = "DRAOptionalNodeOperations"
    why = ""
    if not features.DRAOptionalNodeOperations:
        why = f"it skips operations of the node: the feature {gate} is off"
    elif gate not in node.declared_features:
        why = f"it skips operations of the node: {node.name} does not declare the feature {gate}"
    for candidate in candidates:
        is_able = not why or not candidate.offer.device.skipped_operations
        yield candidate if is_able else replace(candidate, obstacle=KubeletCannotSkip(why))


def _tolerated(
    option: DeviceRequest, candidates: Sequence[Candidate] | Iterator[Candidate], features: Features
) -> Iterator[Candidate]:
    """Mark the candidates that have a taint which the request does not tolerate."""
    for candidate in candidates:
        taint = intolerable(candidate.offer.device.taints, option.tolerations)
        if taint is None or not features.DRADeviceTaints:
            yield candidate
        else:
            yield replace(candidate, obstacle=TaintNotTolerated(taint))


def _unreserved(candidates: Iterator[Candidate], reserved_scopes: Reserved) -> Iterator[Candidate]:
    """Mark the candidates in scopes that other claims reserve."""
    if not reserved_scopes:
        yield from candidates
        return
    for candidate in candidates:
        found = reservation(candidate.offer.device, reserved_scopes)
        yield candidate if found is None else replace(candidate, obstacle=candidate.obstacle or found)
