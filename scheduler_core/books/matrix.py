"""Which pairs of devices may be in use together, and which declarations of a pool contradict each other.

Driver authors use this before they publish a pool. The matrix asks the ledger about every pair, so it shows
the combined effect of counters, compatibility groups and expressions. ``contradictions`` finds declarations
that are certainly mistakes: a device that breaks a rule, an expression that fails on another device of the
pool, an expression that only one device of a pair meets, and a pair with a common group that an expression
refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.ledger import Ledger
from scheduler_core.books.usage import Share
from scheduler_core.model.consumption import consumed
from scheduler_core.model.device import Device, DeviceName
from scheduler_core.model.pool import Pool
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.rules.selectors import compile_selector, view


@dataclass(frozen=True, slots=True)
class Matrix:
    """Which pairs of devices may be in use together.

    Shape: ``devices`` in published order; ``obstacles`` has an entry (earlier, later) for each pair that
           may not be in use together, with the reason as text.
    """

    devices: tuple[DeviceName, ...]
    obstacles: Mapping[tuple[DeviceName, DeviceName], str]

    def allows(self, one: DeviceName, other: DeviceName) -> bool:
        """Whether two different devices may be in use together."""
        return (one, other) not in self.obstacles and (other, one) not in self.obstacles


def matrix(pool: Pool, features: Features = ALL) -> Matrix:
    """Ask the ledger about every pair of devices of a pool.

    Units: of a shareable device, a share as large as a request without amounts gets.
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
        return f"{held.name} can never be allocated"
    ledger.take(held.name, held.name, _share(held))
    obstacle = ledger.obstacle(wanted.name, _share(wanted))
    return None if obstacle is None else obstacle_text(obstacle, wanted.name)


def _share(device: Device) -> Share | None:
    """Return what a request without amounts consumes of a shareable device."""
    if not device.is_shareable:
        return None
    amounts = {
        name: consumed(None, value, device.policies.get(name)) for name, value in device.capacity.items()
    }
    return {name: amount for name, amount in amounts.items() if amount is not None}


def contradictions(pool: Pool) -> tuple[str, ...]:
    """Return the contradictions in a pool's declarations, one sentence each.

    Shape: first devices that break a rule and are in no matrix, then expressions that fail, then expressions
           that only one device of a pair meets, then pairs with a common group that an expression refuses;
           each in published order.
    Source: KEP-5963, which leaves it to driver authors to declare both sides.
    """
    judged = {
        device.name: _judgement(pool, device) for device in pool.devices if device.only_with is not None
    }
    return (
        *(f"{name} is left out: {rejected.reason}" for name, rejected in pool.rejected.items()),
        *(sentence for judgement in judged.values() for sentence in judgement.failures),
        *_asymmetries(pool, judged),
        *_disagreements(pool, judged),
    )


@dataclass(frozen=True, slots=True)
class _Judgement:
    accepted: frozenset[DeviceName]
    failures: tuple[str, ...]


def _judgement(pool: Pool, device: Device) -> _Judgement:
    assert device.only_with is not None
    accepted, failures = set(), []
    for other in pool.devices:
        if other.name == device.name:
            continue
        try:
            if compile_selector(device.only_with).matches(view(pool.id.driver, other)):
                accepted.add(other.name)
        except SelectorError as error:
            failures.append(f"{device.name} refuses {other.name}, because its expression fails: {error}")
    return _Judgement(frozenset(accepted), tuple(failures))


def _asymmetries(pool: Pool, judged: Mapping[DeviceName, _Judgement]) -> Iterator[str]:
    for one, other in combinations(pool.devices, 2):
        if one.name in judged and other.name in judged:
            accepts_other = other.name in judged[one.name].accepted
            if accepts_other != (one.name in judged[other.name].accepted):
                accepts, refuses = (one, other) if accepts_other else (other, one)
                yield f"{accepts.name} accepts {refuses.name}, which refuses {accepts.name}"


def _disagreements(pool: Pool, judged: Mapping[DeviceName, _Judgement]) -> Iterator[str]:
    """Find pairs that have a common group on a source although an expression refuses the pair."""
    for one, other in combinations(pool.devices, 2):
        refused = (one.name in judged and other.name not in judged[one.name].accepted) or (
            other.name in judged and one.name not in judged[other.name].accepted
        )
        common = _common_groups(one, other)
        if refused and common:
            yield f"{one.name} and {other.name} share group {min(common)}, but an expression refuses the pair"


def _common_groups(one: Device, other: Device) -> frozenset[str]:
    groups = {draw.source: draw.groups or frozenset() for draw in one.draws}
    found = (groups.get(draw.source, frozenset()) & (draw.groups or frozenset()) for draw in other.draws)
    return frozenset().union(*found)
