"""Where claims would fit if others ended: the nodes on which the fewest must, and where these could go."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.planning.ending import QUESTIONS, Ending, EndingSearch, Questions, wish_for
from scheduler_core.planning.trial_changes import TrialChanges
from scheduler_core.state.assignments import Holder, holder_of

EACH: Final = 500
"""Questions that a search on one node may ask at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeing:
    """A node on which the wanted claims fit once others have ended.

    Shape: ``moves`` says, by claim, on which node an ended claim fits afterwards; one that is not in it fits
           nowhere, or what it asks for is not known. ``alike`` names further nodes where as many claims of
           equal devices hold them.
    """

    ending: Ending
    moves: Mapping[ClaimRef, str] = field(default_factory=dict)
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeings:
    """What can be done so that claims fit.

    Shape: ``options`` the fewest claims first, of equally many those that move first, one for each node;
           ``is_complete`` False where the bound of questions was reached: then fewer claims may do, or
           another node.
    """

    options: tuple[Freeing, ...]
    is_complete: bool
    questions: int


def freeings(
    engine: Engine,
    claims: Sequence[Claim],
    nodes: Sequence[Node],
    *,
    kept: Collection[Holder] = (),
    specs: Mapping[ClaimRef, Claim] | None = None,
    most: int = 5,
    questions: int = QUESTIONS,
) -> Freeings:
    """Return which claims to end so that the wanted claims fit together on a node.

    Shape: ``nodes`` where the wanted claims may go, and those that move; ``kept`` are claims that must stay;
           ``specs`` what claims that hold devices ask for; at most ``most`` options; ``questions`` to the
           allocator at most, a few more where the bound is reached.
    Raises: as ``Engine.allocate``.
    """
    search = _Search(engine, claims, kept, most, questions, max(EACH, questions // max(1, len(nodes))))
    for node in nodes:
        search.ask(node)
    by_name = {node.name: node for node in nodes}
    options = [
        Freeing(ending=one, alike=tuple(names), moves=_moves(engine, claims, one, by_name, specs or {}))
        for one, names in search.found
    ]
    options.sort(key=lambda one: (len(one.ending.ended), len(one.ending.ended) - len(one.moves)))
    return Freeings(
        options=tuple(options),
        is_complete=search.is_complete,
        questions=questions - search.left,
    )


_Holding = tuple[str, str, bool, bool, tuple[tuple[str, Quantity], ...]]
_Found = tuple[Ending, list[str]]
"""What to end on a node, and the nodes that are like it."""


@dataclass(slots=True)
class _Search:
    """The search on node after node. Shape: ``left`` questions, of which one node may ask ``each``."""

    engine: Engine
    claims: Sequence[Claim]
    kept: Collection[Holder]
    most: int
    left: int
    each: int
    is_complete: bool = True
    found: list[_Found] = field(default_factory=list)
    known: dict[Hashable, _Found | None] = field(default_factory=dict)

    def ask(self, node: Node) -> None:
        """Search on a node, unless a node like it was searched or no question is left."""
        holders = holders_that_may_end(self.engine.state.concerning(node), self.kept)
        key = (self.engine.likeness(self.claims, node), pattern_of(holders))
        if key in self.known:
            alike = self.known[key]
            if alike is not None:
                alike[1].append(node.name)
            return
        if self.left <= 0:
            self.is_complete = False
            return
        found = self._searched(node, holders)
        self.known[key] = found
        if found is not None:
            self.found.append(found)
            self.found.sort(key=lambda one: len(one[0].ended))
            del self.found[self.most :]

    def _searched(self, node: Node, holders: Sequence[AllocatedClaim]) -> _Found | None:
        limit = len(self.found[-1][0].ended) - 1 if len(self.found) >= self.most else len(holders)
        questions = Questions(min(self.left, self.each))
        asked = questions.left
        wish = wish_for(self.engine, self.claims, node, len(holders))
        search = EndingSearch(self.engine.state, wish, node, holders, questions, limit)
        ending = search.run()
        self.left -= asked - questions.left
        self.is_complete = self.is_complete and search.is_complete
        return None if ending is None else (ending, [])


def holders_that_may_end(claims: Iterable[AllocatedClaim], kept: Collection[Holder]) -> list[AllocatedClaim]:
    """Return the claims that need not stay and whose end would give something back."""
    return [
        one
        for one in claims
        if holder_of(one) not in kept and any(not result.admin_access for result in one.results)
    ]


def pattern_of(holders: Sequence[AllocatedClaim]) -> tuple[tuple[_Holding, ...], ...]:
    """Return what is held together. Nodes of equal devices and patterns have equal answers."""
    return tuple(sorted(tuple(sorted(map(_holding, held.results))) for held in holders))


def _holding(one: AllocatedDevice) -> _Holding:
    """Return a device and how much of it is held: how claims share one decides which of them must end."""
    consumed = tuple(sorted(one.consumed.items()))
    device = one.device
    return device.driver, device.device, one.admin_access, one.share_id is None, consumed


def _moves(
    engine: Engine,
    claims: Sequence[Claim],
    ending: Ending,
    nodes: Mapping[str, Node],
    specs: Mapping[ClaimRef, Claim],
) -> dict[ClaimRef, str]:
    """Return where the ended claims fit, one after another, once the wanted claims have their devices."""
    node = nodes[ending.node]  # the state may not know its labels
    with TrialChanges(engine.state) as trial:
        for held in ending.ended:
            trial.end(held)
        answer = engine.decide(claims, node)
        if isinstance(answer, Undecided):
            return {}  # choosing among the answers took too long: where the ended claims fit is not known
        if answer is None:
            raise AssertionError(f"the claims were found to fit on {ending.node}, and are refused there")
        for claim in claims:
            trial.hold(claim, answer)
        known = [specs[one.ref] for one in ending.ended if one.ref in specs]
        return dict(moved(engine, trial, known, tuple(nodes.values())))


def moved(
    engine: Engine, trial: TrialChanges, claims: Sequence[Claim], nodes: Sequence[Node]
) -> Iterator[tuple[ClaimRef, str]]:
    """Yield on which node each claim fits, one after another. Shape: they hold devices on trial."""
    for claim in claims:
        answer = engine.decide_somewhere([claim], nodes)
        if isinstance(answer, Allocation):
            trial.hold(claim, answer)
            yield claim.ref, answer.node
