"""Finds what would give devices to a pod that asks by amounts, and tries each change before it is told.

Takes a pod's ask, a state, and what says whether an ask fits on a node. Returns remedies. The state is
changed for single questions and is as before afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from scheduler_core.advice.remedies import Change, EndClaims, PodRemedy, PodTogether, RelabelHint, UseNode
from scheduler_core.base.errors import CoreError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.pod_reasons.changes import Changed, dropped, relabelled, smaller, whole
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.nodes import Node
from scheduler_core.planning.ending import Ending, EndingSearch, Questions, Wish
from scheduler_core.planning.freeing import holders_that_may_end

Fits = Callable[[PodAsk, Node], bool]
"""Answers whether a pod fits on a node now. Raises: CoreError if the question is invalid for the node."""
_NODES: Final = 4  # nodes on which changes are tried
_ENDING: Final = 16  # nodes on which claims to end are looked for
_ELSEWHERE: Final = 64
_QUESTIONS: Final = 400  # for all single changes, and again for claims to end
_OF_PAIRS: Final = 800
_OFFERED: Final = 3  # pairs that are told


def advise_pod(
    ask: PodAsk, placer: PodPlacer, fits: Fits, nodes: Sequence[Node], elsewhere: Sequence[Node] = ()
) -> tuple[PodRemedy, ...]:
    """Return what would help: another node, a correction, claims to end, other values, smaller amounts.

    Shape: of each kind the first that was found; pairs of changes where no single one was found to help;
           empty where no pair was either. The pod fits on none of ``nodes``.
    """
    search = _PodSearch(placer, fits, Questions(_QUESTIONS))
    found = search.single(ask, nodes, elsewhere)
    if found:
        return found
    search = _PodSearch(placer, fits, Questions(_OF_PAIRS))
    pairs: dict[frozenset[type], PodTogether] = {}
    for pair in chain.from_iterable(search.pairs(ask, node) for node in nodes[:_NODES]):
        key = frozenset(map(type, pair.steps))
        best = pairs.setdefault(key, pair)
        if _ended(pair) < _ended(best):
            pairs[key] = pair
    return tuple(sorted(pairs.values(), key=_ended)[:_OFFERED])


def _ended(pair: PodTogether) -> int:
    last = pair.steps[1]
    return len(last.held) if isinstance(last, EndClaims) else 0


@dataclass(frozen=True, slots=True)
class _PodSearch:
    """The search, within the bound of its questions."""

    placer: PodPlacer
    asked: Fits
    questions: Questions

    def single(self, ask: PodAsk, nodes: Sequence[Node], elsewhere: Sequence[Node]) -> tuple[PodRemedy, ...]:
        """Return the changes that help by themselves."""
        there = (node.name for node in elsewhere[:_ELSEWHERE] if self.fits(ask, node))
        found: list[PodRemedy] = [UseNode(node=name) for name in islice(there, 1)]
        changes = next((one for node in nodes[:_NODES] if (one := list(self._changes(ask, node)))), [])
        corrections = [one.change for one in changes if _is_correction(one)]
        found += corrections
        found += self.ended(ask, nodes[:_ENDING])
        found += [one.change for one in changes if one.change not in corrections]
        return tuple(found)

    def pairs(self, ask: PodAsk, node: Node) -> Iterator[PodTogether]:
        """Yield two changes on one node that only together help."""
        firsts = chain(relabelled(ask, self.placer, node), whole(ask, self.placer, node), dropped(ask, node))
        # only what keeps most of each amount begins a pair: the second change may take more of it
        fewer = (one[-1] for one in smaller(ask, node) if one)
        for first in chain(firsts, fewer):
            for ending in self.ended(first.ask, [node]):
                yield PodTogether(node=node.name, steps=(first.change, ending))
            for second in self._changes(first.ask, node):
                if type(second.change) is not type(first.change):
                    yield PodTogether(node=node.name, steps=(first.change, second.change))

    def ended(self, ask: PodAsk, nodes: Sequence[Node]) -> tuple[EndClaims, ...]:
        """Return the smallest set of claims whose end would give the pod its devices, if there is one."""
        questions, best = Questions(min(self.questions.left, _QUESTIONS)), None
        before, is_complete = questions.left, True
        for node in nodes:
            holders = holders_that_may_end(self.placer.state.concerning(node), ())
            limit = len(holders) if best is None else len(best.ended) - 1
            search = EndingSearch(self.placer.state, self._wish(ask, node), node, holders, questions, limit)
            ending = None if questions.are_used_up else search.run()
            is_complete = is_complete and search.is_complete
            best = best if ending is None or not ending.ended else ending
        self.questions.left -= before - questions.left
        return () if best is None else (_told(best, is_complete=is_complete),)

    def fits(self, ask: PodAsk, node: Node) -> bool:
        """Whether the pod gets devices on a node. A question past the bound counts as answered by no."""
        if self.questions.are_used_up:
            return False
        self.questions.left -= 1
        return self._answered(ask, node)

    def _answered(self, ask: PodAsk, node: Node) -> bool:
        try:
            return self.asked(ask, node)
        except CoreError:
            return False

    def _wish(self, ask: PodAsk, node: Node) -> Wish:
        counts = [one.count for one in ask.asks.values()]
        devices = 64 if None in counts else sum(one or 0 for one in counts)
        excludes = any(hint.exclusive is not None for hint in ask.hints.values())
        return Wish(lambda: self._answered(ask, node), devices, excludes)

    def _changes(self, ask: PodAsk, node: Node) -> Iterator[Changed]:
        """Yield the changes of the pod that help on a node: of each kind and thing the first."""
        labels = (one for one in relabelled(ask, self.placer, node) if self.fits(one.ask, node))
        yield from islice(labels, 1)
        yield from (one for one in whole(ask, self.placer, node) if self.fits(one.ask, node))
        for several in smaller(ask, node):
            yield from self._largest(several, node)
        yield from (one for one in dropped(ask, node) if self.fits(one.ask, node))

    def _largest(self, several: Sequence[Changed], node: Node) -> Iterator[Changed]:
        """Yield the last of the asks that fits. Shape: those before one that fits do as well."""
        least, most = 0, len(several)  # the first ``least`` fit, those from ``most`` on do not
        while least < most:
            middle = (least + most) // 2
            if self.fits(several[middle].ask, node):
                least = middle + 1
            else:
                most = middle
        if least:
            yield several[least - 1]


def _is_correction(one: Changed) -> bool:
    return isinstance(one.change, RelabelHint) and one.change.change is Change.CORRECTION


def _told(ending: Ending, *, is_complete: bool) -> EndClaims:
    return EndClaims(node=ending.node, held=ending.ended, is_fewest=ending.is_fewest and is_complete)
