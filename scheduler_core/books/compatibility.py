"""Which devices may be in use side by side: compatibility groups, and expressions of one about the other.

Groups are counted per source: a device fits when some group is declared by it and by every consumer that
declares any. Expressions are symmetric: each device in use must meet the other's; one that fails to compile
or to evaluate is met by nobody. Rules S10 and S11 of docs/semantics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import Groups
from scheduler_core.model.device import Device, Draw, SourceName


class GroupBook:
    """The groups of everything that uses the sources of one pool."""

    def __init__(self, meaning: Groups) -> None:
        self._meaning = meaning
        self._users: Counter[SourceName] = Counter()
        self._declaring: Counter[SourceName] = Counter()
        self._groups: Counter[tuple[SourceName, str]] = Counter()

    def __copy__(self) -> GroupBook:
        """Return a book that goes its own way from here."""
        twin = GroupBook(self._meaning)
        twin._users, twin._declaring = self._users.copy(), self._declaring.copy()
        twin._groups = self._groups.copy()
        return twin

    def enter(self, draws: Iterable[Draw], sign: int) -> None:
        """Count the consumers in (``sign`` 1) or out (-1)."""
        for draw in draws:
            self._users[draw.source] += sign
            if draw.groups:
                self._declaring[draw.source] += sign
                for group in draw.groups:
                    self._groups[draw.source, group] += sign

    def conflict(self, draws: Iterable[Draw]) -> SourceName | None:
        """Return the source on which the draws, entered together, would meet others; None where none."""
        joined: dict[SourceName, list[Draw]] = {}
        for draw in draws:
            joined.setdefault(draw.source, []).append(draw)
        return next((source for source, several in joined.items() if not self._fits(source, several)), None)

    def _fits(self, source: SourceName, draws: list[Draw]) -> bool:
        declared = [draw.groups for draw in draws if draw.groups]
        undeclared = len(draws) - len(declared) + self._users[source] - self._declaring[source]
        if self._meaning == "kep-5963" and undeclared and (declared or self._declaring[source]):
            return False
        if not declared:
            return True
        common = frozenset.intersection(*declared)
        return any(self._groups[source, group] == self._declaring[source] for group in common)


def is_at_odds(driver: str, one: Device, other: Device) -> bool:
    """Whether two devices of a pool may not be in use together by their expressions."""
    return not (_meets(driver, one, other) and _meets(driver, other, one))


def _meets(driver: str, judge: Device, judged: Device) -> bool:
    if judge.only_with is None:
        return True
    # Only pools with such expressions need the CEL engine: a node's plugin counts without its 26 MiB.
    from scheduler_core.rules.selectors import compile_selector, view  # noqa: PLC0415

    try:
        return compile_selector(judge.only_with).matches(view(driver, judged))
    except SelectorError:
        return False
