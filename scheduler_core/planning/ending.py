"""Which claims to end on a node so that others fit: the fewest, and the allocator is asked about each answer.

Devices exclude each other within a component only, so the claims to end hold devices of at most as many
components as the wanted claims get devices. Such sets of components are tried, small ones first. Within the
claims of a set those that must end whatever else ends are found first; then the fewest others are searched.
Every question to the allocator counts, and their number is bounded. At the bound an answer still frees
enough, and none of its claims could stay; but another set with fewer claims may do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from itertools import chain, combinations, islice
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import AllocatedClaim, Claim, ExclusiveScope
from scheduler_core.model.nodes import Node
from scheduler_core.planning.trial_changes import TrialChanges
from scheduler_core.state.cluster_state import ClusterState

QUESTIONS: Final = 20_000
"""Questions to the allocator that one search may ask."""
_SETS: Final = 20_000  # sets of components that are tried
Ended = frozenset[int]
"""Claims by their number among those that hold devices of the node."""


@dataclass(slots=True)
class Questions:
    """Counts questions to the allocator. Shape: ``left`` how many may still be asked."""

    left: int = QUESTIONS

    @property
    def are_used_up(self) -> bool:
        """Whether no further question may be asked."""
        return self.left <= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Claims of a node whose end lets the wanted claims fit.

    Shape: ``is_fewest`` False where the bound of questions kept fewer claims from being looked for.
    """

    node: str
    ended: tuple[AllocatedClaim, ...]
    is_fewest: bool


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to fit on a node.

    Shape: ``fits`` answers for the state as it is when it is asked; ``devices`` is how many devices are
           wanted at most; ``excludes`` where other holders of devices matter besides those of the same parts
           of the hardware.
    """

    fits: Callable[[], bool]
    devices: int
    excludes: bool = False


def wish_for(engine: Engine, claims: Sequence[Claim], node: Node, holders: int) -> Wish:
    """Return what claims wish. Shape: ``holders`` on the node, as a bound for requests for all devices."""
    devices = sum(
        max(one.count or holders for one in request.alternatives)
        for claim in claims
        for request in claim.requests
    )
    excludes = any(isinstance(one, ExclusiveScope) for claim in claims for one in claim.constraints)
    return Wish(lambda: engine.fits(claims, node) is True, devices, excludes)


@dataclass(slots=True)
class EndingSearch:
    """The search on one node.

    Shape: ``wish`` is what is to fit; ``holders`` the claims that may end; ``limit`` how many may end at
           most.
    """

    state: ClusterState
    wish: Wish
    node: Node
    holders: Sequence[AllocatedClaim]
    questions: Questions
    limit: int
    _known: dict[Ended, bool] = field(default_factory=dict)
    _is_cut: bool = False

    def run(self) -> Ending | None:
        """Return the fewest claims to end, None where no set of claims within the limit does.

        Raises: as ``Engine.allocate``.
        """
        if self._fits(()):
            return Ending(node=self.node.name, ended=(), is_fewest=True)
        if not self._fits(range(len(self.holders))):
            return None
        best: Ended | None = None
        for group in self._groups():
            if self.questions.are_used_up:
                break
            found = self._smallest(group) if self._fits(group) else None
            if found is not None and len(found) <= self.limit and (best is None or len(found) < len(best)):
                best, self.limit = found, len(found) - 1
        if best is None:
            return None
        ended = tuple(self.holders[number] for number in sorted(best))
        return Ending(node=self.node.name, ended=ended, is_fewest=self.is_complete)

    @property
    def is_complete(self) -> bool:
        """Whether the search has looked at everything that could be fewer."""
        return not (self.questions.are_used_up or self._is_cut)

    def _groups(self) -> list[Ended]:
        """Return the claims of each set of components that the wanted claims could use, the fewest first."""
        components = self._holders_by_component()
        sizes = range(1, min(self.wish.devices, len(components), self.limit) + 1)
        sets = chain.from_iterable(combinations(components, size) for size in sizes)
        chosen = list(islice(sets, _SETS + 1))
        self._is_cut = len(chosen) > _SETS
        groups = dict.fromkeys(frozenset[int]().union(*one) for one in chosen)
        return sorted(groups, key=len)

    def _holders_by_component(self) -> list[Ended]:
        """Return the claims that hold devices of each component; all together where components interact."""
        view = self.state.views.node_view(self.node)
        everyone = frozenset(range(len(self.holders)))
        if self.wish.excludes or view.is_sealed or view.judges or not view.is_compiled:
            return [everyone]
        found: dict[int, set[int]] = {}
        for number, holder in enumerate(self.holders):
            for device in holder.results:
                pool = self.state.views.compiled((device.device.driver, device.device.pool))
                place = None if pool is None else pool.find(device.device.device)
                if place is not None and not device.admin_access:
                    found.setdefault(id(place[0]), set()).add(number)
        return [frozenset(one) for one in found.values()]

    def _smallest(self, group: Ended) -> Ended | None:
        """Return the fewest claims of a group to end, None where they are more than the limit."""
        needed: Ended = frozenset()
        for one in sorted(group):
            if not self._fits(group - {one}):
                needed |= {one}
            if len(needed) > self.limit:
                return None
        others = sorted(group - needed)
        for more in range(len(others) + 1):
            if len(needed) + more > self.limit:
                return None
            for chosen in combinations(others, more):
                if self.questions.are_used_up:
                    return self._shrunk(group)
                if self._fits(needed | set(chosen)):
                    return needed | set(chosen)
        return None

    def _shrunk(self, group: Ended) -> Ended:
        """Return claims of which each must end. Shape: at most one further question for each claim."""
        for one in sorted(group):
            if self._fits(group - {one}):
                group -= {one}
        return group

    def _fits(self, ended: Iterable[int]) -> bool:
        """Whether the wanted claims fit on the node once some claims have ended."""
        key = frozenset(ended)
        if key not in self._known:
            self.questions.left -= 1
            with TrialChanges(self.state) as trial:
                for number in sorted(key):
                    trial.end(self.holders[number])
                self._known[key] = self.wish.fits()
        return self._known[key]
