"""Counts how many devices of a node are left for a request after each thing that it asks.

Takes claims, a cluster and a node; returns a funnel per alternative of each request. Each request is looked
at by itself; of constraints, what is asked is only what no choice of the other devices could change. Nothing
is searched here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.explain.possible import Possible
from scheduler_core.explain.replay import Replay
from scheduler_core.explain.selector_terms import terms_of
from scheduler_core.explain.values_present import present, values_present
from scheduler_core.model.claim import Claim, DeviceClass, DeviceRequest
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.funnel import Funnel, Stage, StageKind, ValuesPresent
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import KubeletCannotSkip, ScopeReserved, TaintNotTolerated
from scheduler_core.model.sentences import constraint_text
from scheduler_core.rules.selectors import Selector, compile_selector
from scheduler_core.search.candidates import Candidate, Offer, offers, select
from scheduler_core.search.depth_first import SearchAlternative


def funnels(claims: Sequence[Claim], cluster: Cluster, node: Node) -> tuple[Funnel, ...]:
    """Return the stages of every request on a node. Shape: requests in order, an entry per alternative.

    Raises: as ``allocate``.
    """
    seen = offers(cluster.pools_seen_from(node), node, cluster.features)
    replay = Replay(claims, cluster, node)
    possible = Possible(claims, replay.problem, cluster.features)
    matched = _Matched(cluster, seen)
    found = []
    for request in replay.problem.requests:
        claim = claims[request.claim]
        options = {option.name: option for one in claim.requests for option in one.alternatives}
        for alternative in request.alternatives:
            option = options[alternative.name]
            stages = (*matched.stages(option), *_available(alternative, replay, possible))
            found.append(
                Funnel(
                    claim=claim.ref, request=option.name, node=node.name, needed=option.count, stages=stages
                )
            )
    return tuple(found)


def matching_stages(option: DeviceRequest, cluster: Cluster, seen: Sequence[Offer]) -> tuple[Stage, ...]:
    """Return the stages that do not depend on what is in use: from all devices to those that match.

    Shape: ``seen`` is what ``offers`` returns for the node.
    """
    return _Matched(cluster, seen).stages(option)


@dataclass(frozen=True, slots=True)
class _Expression:
    """One thing that is asked of a device by an expression."""

    kind: StageKind
    text: str
    place: str
    selectors: tuple[Selector, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """What one expression leaves of the devices before it, and on how many of these it fails."""

    asked: _Expression
    before: Sequence[Offer]
    left: Sequence[Offer]
    fails: int


def _steps(expressions: Sequence[_Expression], before: Sequence[Offer]) -> list[_Step]:
    steps = []
    for asked in expressions:
        left, fails = _passing(before, asked.selectors)
        steps.append(_Step(asked, before, left, fails))
        before = left
    return steps


class _Matched:
    """The stages up to the devices that match; requests that ask for the same are answered once."""

    def __init__(self, cluster: Cluster, seen: Sequence[Offer]) -> None:
        self._classes = cluster.classes
        self._seen = tuple(seen)
        self._known: dict[object, tuple[Stage, ...]] = {}

    def stages(self, option: DeviceRequest) -> tuple[Stage, ...]:
        """Return the stages of one alternative."""
        key = (option.class_name, option.selectors, option.count, tuple(option.capacity.items()))
        if key not in self._known:
            self._known[key] = self._stages(option)
        return self._known[key]

    def _stages(self, option: DeviceRequest) -> tuple[Stage, ...]:
        chosen = self._classes[option.class_name]
        least = option.count or 1
        inside = tuple(compile_selector(text) for text in chosen.selectors)
        outside = tuple(compile_selector(text) for text in option.selectors)
        whole = [one.offer for one in select((*inside, *outside), replace(option, capacity={}), self._seen)]
        in_class, class_fails = _passing(self._seen, inside)
        steps = _steps(_apart(option), in_class)
        if (steps[-1].left if steps else in_class) != whole:  # taken apart, the selectors mean something else
            steps = _steps(_together(option), in_class)
        found = [Stage(kind=StageKind.KNOWN, left=len(self._seen))]
        found += _class_stages(chosen, self._seen, in_class, class_fails, least)
        found += [_stage(step.asked, step.before, step.left, step.fails, least) for step in steps]
        left = steps[-1].left if steps else in_class
        if option.capacity:
            found.append(_capacity_stage(option, left, least))
        return tuple(found)


def _apart(option: DeviceRequest) -> tuple[_Expression, ...]:
    """Return the terms of the request's selectors, each as a step of its own."""
    return tuple(
        _Expression(StageKind.SELECTOR, term.text, f"selectors[{number}]", (term,))
        for number, text in enumerate(option.selectors)
        for term in terms_of(text)
    )


def _together(option: DeviceRequest) -> tuple[_Expression, ...]:
    return tuple(
        _Expression(StageKind.SELECTOR, text, f"selectors[{number}]", (compile_selector(text),))
        for number, text in enumerate(option.selectors)
    )


def _class_stages(
    chosen: DeviceClass, seen: Sequence[Offer], left: Sequence[Offer], fails: int, least: int
) -> Iterator[Stage]:
    """Yield one stage for a class; of a class that leaves nothing, one for each of its terms."""
    selectors = tuple(compile_selector(text) for text in chosen.selectors)
    whole = _Expression(StageKind.CLASS, chosen.name, "", selectors)
    if left or not selectors:
        yield _stage(whole, seen, left, fails, least)
        return
    terms = [term for text in chosen.selectors for term in terms_of(text)]
    if _passing(seen, terms)[0]:
        terms = list(selectors)
    expressions = [_Expression(StageKind.CLASS, term.text, chosen.name, (term,)) for term in terms]
    for step in _steps(expressions, seen):
        yield _stage(step.asked, step.before, step.left, step.fails, least)
        if not step.left:
            return


def _passing(seen: Sequence[Offer], selectors: Sequence[Selector]) -> tuple[list[Offer], int]:
    """Return the devices for which nothing is false, and on how many of them an expression fails."""
    left, fails = [], 0
    for offer in seen:
        is_failing = False
        for selector in selectors:
            try:
                if not selector.matches(offer.view):
                    break
            except SelectorError:
                is_failing = True
        else:
            left.append(offer)
            fails += is_failing
    return left, fails


def _stage(
    asked: _Expression, before: Sequence[Offer], left: Sequence[Offer], fails: int, least: int
) -> Stage:
    is_short = len(left) < least <= len(before) or fails > 0
    views = [one.view for one in before]
    is_one = len(asked.selectors) == 1
    return Stage(
        kind=asked.kind,
        asked=asked.text,
        place=asked.place,
        left=len(left),
        fails=fails,
        values=values_present(asked.selectors[0], views) if is_short and is_one else (),
    )


def _capacity_stage(option: DeviceRequest, before: Sequence[Offer], least: int) -> Stage:
    left = list(select((), option, before))
    amounts = ", ".join(f"{name} {amount}" for name, amount in option.capacity.items())
    values: tuple[ValuesPresent, ...] = ()
    if len(left) < least <= len(before):
        values = tuple(
            present(name, (one.device.capacity.get(qualified(name, one.view.driver)) for one in before))
            for name in option.capacity
        )
    return Stage(kind=StageKind.CAPACITY, asked=amounts, place="capacity", left=len(left), values=values)


def _available(alternative: SearchAlternative, replay: Replay, possible: Possible) -> Iterator[Stage]:
    """Yield the stages from the devices that match to the free ones."""
    left: Sequence[Candidate] = alternative.candidates
    for kind, obstacle in _OBSTACLES:
        gone = [one.obstacle for one in left if isinstance(one.obstacle, obstacle)]
        if gone:
            left = [one for one in left if not isinstance(one.obstacle, obstacle)]
            asked = ", ".join(sorted({_marked(one) for one in gone}))
            yield Stage(kind=kind, asked=asked, left=len(left))
    for number in alternative.rules:
        if possible.asks(number):
            left = [one for one in left if possible.admits(number, one.offer.device)]
            text = constraint_text(possible.constraints[number])
            place = f"constraints[{possible.place(number)}]"
            yield Stage(kind=StageKind.CONSTRAINT, asked=text, place=place, left=len(left))
    free = sum(replay.obstacle(alternative, one) is None for one in left)
    yield Stage(kind=StageKind.FREE, left=free)


_OBSTACLES: Final = (
    (StageKind.KUBELET, KubeletCannotSkip),
    (StageKind.TAINTS, TaintNotTolerated),
    (StageKind.RESERVED, ScopeReserved),
)


def _marked(obstacle: object) -> str:
    match obstacle:
        case TaintNotTolerated(taint=taint):
            return f"{taint.key}={taint.value}:{taint.effect}"
        case ScopeReserved(scope=scope, value=value):
            return f"{scope} {value}"
        case KubeletCannotSkip(why=why):
            return why
        case _:
            raise AssertionError(obstacle)
