"""Which devices may be in use at the same time: compatibility groups and ``compatibleOnlyWith`` expressions.

Groups are counted per source. A device may use a source if it and every user of the source that declares
groups have a group in common. Expressions are symmetric: two devices in use must each meet the expression of
the other. An expression that fails on a device refuses it; one that does not compile makes its own device
unusable when the slice is read. Rules S10 and S11 of docs/semantics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import Groups
from scheduler_core.model.device import Device, DeviceName, Draw, SourceName


class GroupCounts:
    """Counts the users of each source of a pool, by compatibility group."""

    def __init__(self, meaning: Groups) -> None:
        self._meaning = meaning
        self._users: Counter[SourceName] = Counter()
        self._declaring: Counter[SourceName] = Counter()
        self._groups: Counter[tuple[SourceName, str]] = Counter()

    def __copy__(self) -> GroupCounts:
        """Return an independent copy."""
        twin = GroupCounts(self._meaning)
        twin._users, twin._declaring = self._users.copy(), self._declaring.copy()
        twin._groups = self._groups.copy()
        return twin

    def enter(self, draws: Iterable[Draw], sign: int) -> None:
        """Add these users (``sign`` 1) or remove them (-1)."""
        for draw in draws:
            self._users[draw.source] += sign
            if draw.groups:
                self._declaring[draw.source] += sign
                for group in draw.groups:
                    self._groups[draw.source, group] += sign

    def conflict(self, draws: Iterable[Draw]) -> SourceName | None:
        """Return the source that these draws cannot use with its present users; None where they can."""
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


def refusals(driver: str, devices: Sequence[Device]) -> Iterator[tuple[Device, Device]]:
    """Yield the pairs of which the first one's expression refuses the second one, or the other way round.

    A pair of which both have expressions comes twice. Each expression is asked once about each device.
    """
    meeting: dict[str, frozenset[DeviceName]] = {}
    for judge in devices:
        if judge.only_with is not None and judge.only_with not in meeting:
            meeting[judge.only_with] = frozenset(one.name for one in devices if _meets(driver, judge, one))
    for one in devices:
        if one.only_with is None:
            continue
        for other in devices:
            if other is one:
                continue
            its = other.only_with
            if other.name not in meeting[one.only_with] or (its is not None and one.name not in meeting[its]):
                yield one, other


def are_incompatible(driver: str, one: Device, other: Device) -> bool:
    """Whether the expression of one of two devices refuses the other."""
    return not (_meets(driver, one, other) and _meets(driver, other, one))


def _meets(driver: str, judge: Device, judged: Device) -> bool:
    if judge.only_with is None:
        return True
    # Only pools with such expressions need the CEL engine: a plugin without them saves its 26 MiB.
    from scheduler_core.rules.selectors import compile_selector, view  # noqa: PLC0415

    try:
        return compile_selector(judge.only_with).matches(view(driver, judged))
    except SelectorError:
        return False
