"""Divides the units of a group among nodes: takes how many nodes hold which count vectors, and returns uses.

The search is complete. Taking one of the largest vectors that a node holds never hurts the units that are
left, so only these are tried. What failed is remembered by the nodes and units that were left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduler_core.base.effort import Effort
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.together.frontier import largest
from scheduler_core.engine.together.values import Counts

Use = tuple[int, Counts]
"""The number of a kind of nodes, and what one node of it gets."""
_State = tuple[int, int, Counts]
"""A kind, how many of its nodes are used, and the units that are left."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Nodes that hold the same. Shape: ``vectors`` are the largest that each holds; ``nodes`` how many."""

    vectors: tuple[Counts, ...]
    nodes: int


class KindSearch:
    """A search over kinds of nodes.

    Shape: kinds are used in the order given; ``weights`` has the number of members of a unit of each shape;
           at most ``slack`` members may be left out.
    """

    def __init__(self, kinds: Sequence[Kind], weights: Counts, slack: int, effort: Effort) -> None:
        self._kinds = kinds
        self._weights = weights
        self._slack = slack
        self._effort = effort
        self._tops = [tuple(map(max, zip(*kind.vectors, strict=True))) for kind in kinds]
        self._sizes = [max(map(self._size, kind.vectors)) for kind in kinds]
        self._rest_tops, self._rest_sizes = self._rests()
        self._failed: set[_State] = set()

    def search(self, wanted: Counts) -> tuple[Use, ...] | None:
        """Return which vectors nodes get, None where there is no division. Raises: EffortExceeded."""
        state: _State = (0, 0, wanted)
        if self._is_done(wanted):
            return ()
        if not self._reaches(state):
            return None
        uses: list[Use] = []
        stack = [(state, self._moves(state))]
        while stack:
            state, moves = stack[-1]
            move = next(moves, None)
            if move is None:
                self._failed.add(state)
                stack.pop()
                del uses[max(0, len(stack) - 1) :]
                continue
            self._effort.step()
            use, then = move
            if self._is_done(then[2]):
                return (*uses, use)
            if then not in self._failed and self._reaches(then):
                uses.append(use)
                stack.append((then, self._moves(then)))
        return None

    def _moves(self, state: _State) -> Iterator[tuple[Use, _State]]:
        """Yield the uses of the next node that can hold any of the units that are left."""
        number, used, left = state
        for kind in self._kinds[number:]:
            if used < kind.nodes:
                clipped = {tuple(map(min, zip(vector, left, strict=True))) for vector in kind.vectors}
                useful = largest(vector for vector in clipped if any(vector))
                for vector in useful:
                    then = tuple(have - gone for have, gone in zip(left, vector, strict=True))
                    yield (number, vector), (number, used + 1, then)
                if useful:
                    return
            number, used = number + 1, 0

    def _is_done(self, left: Counts) -> bool:
        return self._size(left) <= self._slack

    def _reaches(self, state: _State) -> bool:
        """Whether the nodes that are left may hold enough, shape by shape and in all."""
        number, used, left = state
        tops, sizes = self._rest_tops[number], self._rest_sizes[number]
        if used:
            tops = tuple(have - used * top for have, top in zip(tops, self._tops[number], strict=True))
            sizes -= used * self._sizes[number]
        lacking = tuple(max(0, count - top) for count, top in zip(left, tops, strict=True))
        return self._is_done(lacking) and self._size(left) - sizes <= self._slack

    def _size(self, counts: Counts) -> int:
        return sum(weight * count for weight, count in zip(self._weights, counts, strict=True))

    def _rests(self) -> tuple[list[Counts], list[int]]:
        """Return, per kind, the most that its nodes and all later ones hold: per shape, and in members."""
        tops, sizes = [(0,) * len(self._weights)], [0]
        for kind, top, size in zip(
            reversed(self._kinds), reversed(self._tops), reversed(self._sizes), strict=True
        ):
            tops.append(tuple(have + kind.nodes * more for have, more in zip(tops[-1], top, strict=True)))
            sizes.append(sizes[-1] + kind.nodes * size)
        return tops[::-1], sizes[::-1]
