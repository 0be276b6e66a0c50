"""Keeps the devices of one member out of the scopes that another member's claim has for itself.

For claims that are held the rules of ``rules/scopes.py`` do this. Here both members are still being served.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import Claim, ExclusiveScope
from scheduler_core.model.device import Device, QualifiedName
from scheduler_core.model.pool import Pool
from scheduler_core.rules.constraints import applies
from scheduler_core.rules.scopes import compared, is_rival


@dataclass(frozen=True, slots=True, eq=False)
class User:
    """A claim and the members that use it. Claims with a common member do not exclude each other."""

    claim: Claim
    members: frozenset[str]


@dataclass(slots=True, eq=False)
class Served:
    """The devices that a search has chosen, with the user and the request that each is for."""

    chosen: list[tuple[User, str, Device]] = field(default_factory=list)


class OtherMembers:
    """The rule of one request alternative: no conflict with devices of other members.

    Shape: ``scopes`` has the attribute that each exclusive constraint compares.
    """

    def __init__(
        self, user: User, request: str, served: Served, scopes: dict[ExclusiveScope, QualifiedName]
    ) -> None:
        self._user = user
        self._request = request
        self._served = served
        self._scopes = scopes

    def admits(self, device: Device) -> bool:
        """Whether no chosen device of another member excludes the device, or is excluded by it."""
        return not any(
            self._excludes(self._user, self._request, device, other)
            or self._excludes(user, request, other, device)
            for user, request, other in self._served.chosen
            if not user.members & self._user.members
        )

    def add(self, device: Device) -> None:
        """Add the device."""
        self._served.chosen.append((self._user, self._request, device))

    def remove(self, device: Device) -> None:  # noqa: ARG002 - devices are removed in reverse order
        """Remove the device that was added last."""
        self._served.chosen.pop()

    def _excludes(self, user: User, request: str, mine: Device, other: Device) -> bool:
        for one in user.claim.constraints:
            if isinstance(one, ExclusiveScope) and applies(one, request) and is_rival(one, other):
                scope = mine.attributes.get(self._scopes[one])
                if scope is not None and scope == other.attributes.get(self._scopes[one]):
                    return True
        return False


def compared_scopes(claims: Iterable[Claim], pools: Sequence[Pool]) -> dict[ExclusiveScope, QualifiedName]:
    """Return the attribute that each exclusive constraint compares, as for claims that are held."""
    devices = [device for pool in pools for device in pool.devices]
    return {
        one: compared(one.scopes, (device for device in devices if is_rival(one, device)))
        for claim in claims
        for one in claim.constraints
        if isinstance(one, ExclusiveScope)
    }
