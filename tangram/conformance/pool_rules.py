"""Checks the set of devices in use of one pool against every rule.

Takes a state; returns a sentence for each rule that is broken now and was not before. It is written from the
rules alone and shares no code with the search, the ledger or the engine. Rules S2 to S11 of
docs/semantics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import Groups
from scheduler_core.model.device import Device, Draw
from scheduler_core.model.names import qualified
from scheduler_core.rules.selectors import compile_selector, view
from tangram.conformance.state import State, Use


def broken_rules(state: State, groups: Groups) -> Iterator[str]:
    """Yield a sentence for each rule that the new devices break."""
    yield from _served_once(state)
    yield from _apart_from_sources(state)
    yield from _overdrawn(state)
    yield from _oversubscribed(state)
    yield from _without_common_group(state, groups)
    yield from _at_odds(state)


def _pairs(state: State) -> Iterator[tuple[Use, Use]]:
    for one, other in combinations(state.uses, 2):
        if one.is_new or other.is_new:
            yield one, other


def _served_once(state: State) -> Iterator[str]:
    """A device serves one claim, unless it is shared out."""
    for one, other in _pairs(state):
        if one.device.name == other.device.name and not one.device.is_shareable:
            yield f"{one.device.name} is used twice: {one} and {other}"


def _apart_from_sources(state: State) -> Iterator[str]:
    """A device and what is cut from it exclude each other."""
    for one, other in _pairs(state):
        for whole, part in ((one, other), (other, one)):
            if whole.device.name in state.ancestors(part.device.name):
                yield f"{part} is cut from {whole}"


def _overdrawn(state: State) -> Iterator[str]:
    """Nothing gives more than it has; what was overdrawn before is not ours as long as we do not draw."""
    before = _drawn(state.active(without_new=True))
    for (source, dimension), drawn in _drawn(state.active()).items():
        has = state.pool.sources[source][dimension].nano  # type: ignore[index]
        if drawn > has and drawn > before[source, dimension]:
            yield f"{dimension} of {source}: {drawn} billionths are drawn, it has {has}"


def _drawn(devices: Iterable[Device]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for device in devices:
        for draw in device.draws:
            for dimension, amount in draw.amounts.items():
                found[draw.source, dimension] += amount.nano
    return found


def _oversubscribed(state: State) -> Iterator[str]:
    """The shares of a device take no more than its capacity."""
    taken: Counter[tuple[str, str]] = Counter()
    for use in state.uses:
        for key, amount in use.result.consumed.items():
            taken[use.device.name, qualified(key, state.pool.id.driver)] += amount.nano
    for use in state.uses:
        for capacity, has in use.device.capacity.items():
            if use.is_new and use.device.is_shareable and taken[use.device.name, capacity] > has.nano:
                yield f"{capacity} of {use.device.name} is consumed beyond {has}"


def _without_common_group(state: State, meaning: Groups) -> Iterator[str]:
    """All that draw from a source share a group; see ``Groups`` for those that declare none."""
    drawing: dict[str, list[Draw]] = {}
    for device in state.active():
        for draw in device.draws:
            drawing.setdefault(draw.source, []).append(draw)
    before = {device.name for device in state.active(without_new=True)}
    ours = {draw.source for one in state.active() if one.name not in before for draw in one.draws}
    for source, draws in drawing.items():
        declared = [draw.groups for draw in draws if draw.groups]
        is_mixed = meaning == "kep-5963" and len(declared) < len(draws)
        if source in ours and declared and (is_mixed or not frozenset.intersection(*declared)):
            yield f"what is in use of {source} has no common compatibility group"


def _at_odds(state: State) -> Iterator[str]:
    """Two devices in use meet each other's expressions."""
    for one, other in _pairs(state):
        for judge, judged in ((one, other), (other, one)):
            if judge.device.name != judged.device.name and not _accepts(state, judge.device, judged.device):
                yield f"{judge} does not accept {judged} beside it"


def _accepts(state: State, judge: Device, judged: Device) -> bool:
    if judge.only_with is None:
        return True
    try:
        return compile_selector(judge.only_with).matches(view(state.pool.id.driver, judged))
    except SelectorError:
        return False
