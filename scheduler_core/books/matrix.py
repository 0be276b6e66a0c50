"""Who may be in use beside whom, and what is wrong with how a pool says so.

For driver authors, before a pool is published. The matrix asks the ledger about every pair, so it shows
what counting, compatibility groups and expressions add up to. The check finds declarations that cannot be
meant: expressions that do not compile or fail on a neighbour, that judge one way only, and pairs that one
declaration joins and the other parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import ALL, Features
from scheduler_core.books.ledger import Ledger
from scheduler_core.books.usage import Share
from scheduler_core.model.device import Device, DeviceName
from scheduler_core.model.policy import consumed
from scheduler_core.model.pool import Pool
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.rules.selectors import compile_selector, view


@dataclass(frozen=True, slots=True)
class Matrix:
    """The verdict on every pair of devices.

    Shape: ``devices`` in published order; ``obstacles`` has an entry (earlier, later) for each pair that
           may not be in use together, with the reason.
    """

    devices: tuple[DeviceName, ...]
    obstacles: Mapping[tuple[DeviceName, DeviceName], str]

    def allows(self, one: DeviceName, other: DeviceName) -> bool:
        """Whether two different devices may be in use together."""
        return (one, other) not in self.obstacles and (other, one) not in self.obstacles


def matrix(pool: Pool, features: Features = ALL) -> Matrix:
    """Judge every pair of devices of a pool by what the ledger would say.

    Units: a shareable device is judged by a share of the size that a request without amounts gets.
    Source: rules S2 to S11 of docs/semantics.md; KEP-5963 for groups and ``compatibleOnlyWith``.
    """
    found = {}
    for one, other in combinations(pool.devices, 2):
        obstacle = _pair(pool, one, other, features) or _pair(pool, other, one, features)
        if obstacle is not None:
            found[one.name, other.name] = obstacle
    return Matrix(tuple(device.name for device in pool.devices), found)


def _pair(pool: Pool, held: Device, wanted: Device, features: Features) -> str | None:
    ledger = Ledger(pool, features)
    if not ledger.admits(held.name, _share(held)):
        return f"{held.name} can never be taken"
    ledger.take(held.name, held.name, _share(held))
    obstacle = ledger.obstacle(wanted.name, _share(wanted))
    return None if obstacle is None else obstacle_text(obstacle, wanted.name)


def _share(device: Device) -> Share | None:
    """Return what a request that names no amounts would consume of a shareable device."""
    if not device.is_shareable:
        return None
    amounts = {
        name: consumed(None, value, device.policies.get(name)) for name, value in device.capacity.items()
    }
    return {name: amount for name, amount in amounts.items() if amount is not None}


def contradictions(pool: Pool) -> tuple[str, ...]:
    """Return what is wrong with the pool's declarations, one sentence each; empty where all is well.

    Shape: expressions that fail first, then those that judge one way only, then pairs that one declaration
           joins and another parts; each in published order, naming both devices.
    Source: KEP-5963, which leaves it to driver authors to declare both sides.
    """
    judged = {device.name: _verdicts(pool, device) for device in pool.devices if device.only_with is not None}
    return (
        *(sentence for verdicts in judged.values() for sentence in verdicts.failures),
        *_asymmetries(pool, judged),
        *_disagreements(pool, judged),
    )


@dataclass(frozen=True, slots=True)
class _Verdicts:
    accepted: frozenset[DeviceName]
    failures: tuple[str, ...]


def _verdicts(pool: Pool, judge: Device) -> _Verdicts:
    assert judge.only_with is not None
    accepted, failures = set(), []
    for other in pool.devices:
        if other.name == judge.name:
            continue
        try:
            if compile_selector(judge.only_with).matches(view(pool.id.driver, other)):
                accepted.add(other.name)
        except SelectorError as error:
            failures.append(f"{judge.name} is compatible with nobody it cannot judge: {error}")
            if error.device is None:
                break
    return _Verdicts(frozenset(accepted), tuple(failures))


def _asymmetries(pool: Pool, judged: Mapping[DeviceName, _Verdicts]) -> Iterator[str]:
    for one, other in combinations(pool.devices, 2):
        if one.name in judged and other.name in judged:
            there, back = other.name in judged[one.name].accepted, one.name in judged[other.name].accepted
            if there != back:
                accepts, refuses = (one, other) if there else (other, one)
                yield f"{accepts.name} accepts {refuses.name}, which refuses {accepts.name}"


def _disagreements(pool: Pool, judged: Mapping[DeviceName, _Verdicts]) -> Iterator[str]:
    """Find pairs whose groups on a source join them while an expression parts them."""
    for one, other in combinations(pool.devices, 2):
        refused = (one.name in judged and other.name not in judged[one.name].accepted) or (
            other.name in judged and one.name not in judged[other.name].accepted
        )
        common = _common_groups(one, other)
        if refused and common:
            yield f"{one.name} and {other.name} share group {min(common)}, but an expression parts them"


def _common_groups(one: Device, other: Device) -> frozenset[str]:
    groups = {draw.source: draw.groups or frozenset() for draw in one.draws}
    found = (groups.get(draw.source, frozenset()) & (draw.groups or frozenset()) for draw in other.draws)
    return frozenset().union(*found)
