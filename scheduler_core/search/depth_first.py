"""The plain search: a complete depth-first search, one device after the other, in order of preference.

It follows the rules of docs/semantics.md word by word on ledgers. It is the oracle of the property tests, and
it answers for nodes whose pools are not in tables. Requests are served in claim order. The devices of one
request are tried as combinations. Requests of one claim that ask for the same take devices in ascending
order, since an exchange changes nothing. The first full assignment is the answer: that is the policy
``first-fit``. Steps are counted and bounded. The fast search is ``engine/search/backtracking.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import product
from typing import Final

from scheduler_core.base.effort import DECISION, Effort, EffortExceeded
from scheduler_core.base.limits import RESULTS
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.ledger import Ledger
from scheduler_core.model.device import DeviceName
from scheduler_core.rules.constraints import Rule
from scheduler_core.rules.scopes import Preferred, SameSets
from scheduler_core.search.candidates import Candidate, Offer

_DEEPEST: Final = 300
"""The most devices that one search may assign: it calls itself for each of them."""


@dataclass(frozen=True, slots=True)
class SearchAlternative:
    """One alternative of a request, ready to be searched.

    Shape: ``count`` is None where all candidates must be taken; ``rules`` index the problem's rules;
           ``kind`` is equal for interchangeable alternatives; with ``admin_access`` it takes
           nothing from other claims, and never gets an exclusive device that its claim already has.
    """

    name: str
    count: int | None
    candidates: tuple[Candidate, ...]
    rules: tuple[int, ...]
    kind: object
    admin_access: bool = False


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One request: its alternatives, and which claim it belongs to."""

    claim: int
    alternatives: tuple[SearchAlternative, ...]

    @property
    def most(self) -> int:
        """Return how many devices the request needs at most."""
        sizes = (len(one.candidates) if one.count is None else one.count for one in self.alternatives)
        return min(RESULTS, max(sizes))

    @property
    def least(self) -> int:
        """Return how many devices the request needs at least."""
        return min(
            len(alternative.candidates) if alternative.count is None else alternative.count
            for alternative in self.alternatives
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """What is searched: the requests in order, the rules of all claims, the ledgers of all pools.

    Shape: ``seen`` are all devices that the node may use, whether a request matches them or not.
    """

    requests: tuple[SearchRequest, ...]
    rules: tuple[Rule, ...]
    ledgers: Sequence[Ledger]
    seen: Sequence[Offer] = ()


@dataclass(slots=True)
class Search:
    """One run over a problem. It leaves ledgers and rules unchanged.

    Shape: ``chosen`` has, per request, the alternative and its candidates; ``effort`` counts devices tried.
    """

    problem: Problem
    effort: Effort = field(default_factory=lambda: Effort(most=DECISION))
    chosen: list[tuple[SearchAlternative, list[Candidate]]] = field(default_factory=list)
    _counts: dict[int, int] = field(default_factory=dict)
    _joined: Counter[tuple[int, int, DeviceName]] = field(default_factory=Counter)
    _watched: Counter[tuple[int, int, DeviceName]] = field(default_factory=Counter)
    _last: dict[object, int] = field(default_factory=dict)

    def run(self) -> bool:
        """Search; True where ``chosen`` is a full answer.

        Raises: SelectorError on a failing candidate; EffortExceeded.
        """
        preferred = [rule for rule in self.problem.rules if isinstance(rule, Preferred)]
        if sum(request.most for request in self.problem.requests) > _DEEPEST:
            raise EffortExceeded(_DEEPEST)
        try:
            return any(self._at(levels, preferred) for levels in _levels(preferred))
        finally:
            for request, (alternative, candidates) in reversed(
                list(zip(self.problem.requests, self.chosen, strict=False))
            ):
                for candidate in reversed(candidates):
                    self._leave(request.claim, alternative, candidate)

    def _at(self, levels: Sequence[int], preferred: Sequence[Preferred]) -> bool:
        """Search with one level of each rule that prefers scopes."""
        self.effort.step()
        for rule, level in zip(preferred, levels, strict=True):
            rule.level = level
        return self._request(0)

    def _request(self, index: int) -> bool:
        if index == len(self.problem.requests):
            return all(rule.is_met() for rule in self.problem.rules if isinstance(rule, SameSets))
        return any(
            self._alternative(index, alternative) for alternative in self.problem.requests[index].alternatives
        )

    def _alternative(self, index: int, alternative: SearchAlternative) -> bool:
        claim = self.problem.requests[index].claim
        count = len(alternative.candidates) if alternative.count is None else alternative.count
        if count == 0 or self._counts.get(claim, 0) + count + self._least_after(index) > RESULTS:
            return False
        self._counts[claim] = self._counts.get(claim, 0) + count
        self.chosen.append((alternative, []))
        start = self._last.get(alternative.kind, 0) if alternative.count == 1 else 0
        if self._fill(index, alternative, count, start):
            return True
        self.chosen.pop()
        self._counts[claim] -= count
        return False

    def _least_after(self, index: int) -> int:
        """Return how many devices the later requests of the same claim need at least."""
        claim = self.problem.requests[index].claim
        later = (request for request in self.problem.requests[index + 1 :] if request.claim == claim)
        return sum(request.least for request in later)

    def _fill(self, index: int, alternative: SearchAlternative, needed: int, start: int) -> bool:
        if needed == 0:
            return self._request(index + 1)
        claim, mine = self.problem.requests[index].claim, self.chosen[index][1]
        for position in range(start, len(alternative.candidates) - needed + 1):
            candidate = alternative.candidates[position]
            if self._join(claim, alternative, candidate):
                mine.append(candidate)
                before = self._last.get(alternative.kind)
                self._last[alternative.kind] = position
                if self._fill(index, alternative, needed - 1, position + 1):
                    return True
                self._restore(alternative.kind, before)
                self._leave(claim, alternative, mine.pop())
            if alternative.count is None:
                return False
        return False

    def _restore(self, kind: object, before: int | None) -> None:
        if before is None:
            del self._last[kind]
        else:
            self._last[kind] = before

    def _join(self, claim: int, alternative: SearchAlternative, candidate: Candidate) -> bool:
        device, pool = candidate.offer.device, candidate.offer.pool
        is_in_use = self._is_in_use(claim, alternative, candidate)
        # As upstream, a device in use is skipped before its selectors are evaluated, unless all are wanted.
        if candidate.error is not None and not (is_in_use and alternative.count is not None):
            raise candidate.error
        self.effort.step()
        if is_in_use or candidate.obstacle is not None:
            return False
        rules = [self._seat(rule, alternative) for rule in alternative.rules]
        if not all(rule.admits(device) for rule in rules):
            return False
        if not alternative.admin_access:
            ledger = self.problem.ledgers[pool]
            if not ledger.admits(device.name, candidate.share):
                return False
            ledger.take(device.name, alternative.name, candidate.share)
        self._joined[claim, pool, device.name] += 1
        self._watched[claim, pool, device.name] += alternative.admin_access
        for rule in rules:
            rule.add(device)
        return True

    def _is_in_use(self, claim: int, alternative: SearchAlternative, candidate: Candidate) -> bool:
        """Whether the device is taken as a whole, so that the alternative cannot get it whatever it is.

        A claim has an exclusive device once, with admin access or without. A share and admin access to the
        same device do not exclude each other.
        """
        device, pool = candidate.offer.device, candidate.offer.pool
        seen = (claim, pool, device.name)
        if not device.is_shareable and (
            self._watched[seen] or (alternative.admin_access and self._joined[seen])
        ):
            return True
        return not alternative.admin_access and self.problem.ledgers[pool].is_whole_taken(device.name)

    def _leave(self, claim: int, alternative: SearchAlternative, candidate: Candidate) -> None:
        device, pool = candidate.offer.device, candidate.offer.pool
        self._joined[claim, pool, device.name] -= 1
        self._watched[claim, pool, device.name] -= alternative.admin_access
        if not alternative.admin_access:
            self.problem.ledgers[pool].release(device.name, alternative.name, candidate.share)
        for rule in alternative.rules:
            self._seat(rule, alternative).remove(device)

    def _seat(self, number: int, alternative: SearchAlternative) -> Rule:
        rule = self.problem.rules[number]
        return rule.seat(alternative.name) if isinstance(rule, SameSets) else rule


def plain_search(problem: Problem, most: float | None = None) -> Search:
    """Return a search that may take ``most`` steps, ``DECISION`` where it is None."""
    return Search(problem, Effort(most=DECISION if most is None else most))


def _levels(preferred: Sequence[Preferred]) -> Iterator[tuple[int, ...]]:
    """Yield every combination of levels, the most preferred of the first rule first."""
    yield from product(*(range(rule.levels + 1) for rule in preferred))
