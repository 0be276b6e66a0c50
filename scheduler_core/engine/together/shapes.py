"""Sorts the members of a group into shapes: equal members are interchangeable and are counted.

Members that use a claim together form one unit, because devices of a node can be used only there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.claim_signature import content
from scheduler_core.engine.together.values import Counts, GroupMember
from scheduler_core.model.claim import Claim, ClaimRef, ExclusiveScope


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Members that must be on one node. Shape: ``claims`` of all of them, each once."""

    members: tuple[GroupMember, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Units that ask for the same. Shape: ``units`` in the order of the members; at least one."""

    units: tuple[Unit, ...]

    @property
    def weight(self) -> int:
        """Return how many members a unit has."""
        return len(self.units[0].members)


def unit_of(members: Sequence[GroupMember]) -> Unit:
    """Return a unit of some members."""
    return Unit(tuple(members), distinct(members))


def distinct(members: Iterable[GroupMember]) -> tuple[Claim, ...]:
    """Return the claims of some members, each once, in the order of the members."""
    claims = {claim.ref: claim for member in members for claim in member.claims}
    return tuple(claims.values())


def sharing(members: Sequence[GroupMember]) -> tuple[tuple[GroupMember, ...], ...]:
    """Return the members in sets, those together that use a claim together, directly or over others."""
    sets: list[list[GroupMember]] = []
    by_claim: dict[ClaimRef, list[GroupMember]] = {}
    for member in members:
        mine = [member]
        for known in {id(by_claim[ref]): by_claim[ref] for ref in _refs(member) if ref in by_claim}.values():
            mine = [*known, *mine]
            sets.remove(known)
        sets.append(mine)
        for ref in (ref for one in mine for ref in _refs(one)):
            by_claim[ref] = mine
    order = {id(member): number for number, member in enumerate(members)}
    ordered = [tuple(sorted(one, key=lambda member: order[id(member)])) for one in sets]
    return tuple(sorted(ordered, key=lambda one: order[id(one[0])]))


def shapes_of(members: Sequence[GroupMember]) -> tuple[Shape, ...]:
    """Return the shapes of a group, in the order of their first members."""
    found: dict[Hashable, list[Unit]] = {}
    for one in map(unit_of, sharing(members)):
        found.setdefault(_key(one), []).append(one)
    return tuple(Shape(tuple(units)) for units in found.values())


def claims_of(shapes: Sequence[Shape], counts: Counts) -> tuple[Claim, ...]:
    """Return the claims of the first units of each shape."""
    pairs = zip(shapes, counts, strict=True)
    return tuple(claim for shape, count in pairs for unit in shape.units[:count] for claim in unit.claims)


def excludes(claims: Iterable[Claim]) -> bool:
    """Whether some claim wants scopes for itself."""
    return any(isinstance(one, ExclusiveScope) for claim in claims for one in claim.constraints)


def _refs(member: GroupMember) -> Iterable[ClaimRef]:
    return (claim.ref for claim in member.claims)


def _key(unit: Unit) -> Hashable:
    """Return what a unit asks for: its claims, and per member its needs and which of the claims it uses."""
    numbers = {claim.ref: number for number, claim in enumerate(unit.claims)}
    uses = tuple(
        (member.needs, tuple(numbers[claim.ref] for claim in member.claims)) for member in unit.members
    )
    return content(unit.claims), uses
