"""Claim signatures: what claims ask for, without their names. Claims that ask for the same share a signature.

A signature has the alternatives of every request. A request with ``firstAvailable`` has several
alternatives, any other request has one. A *choice* takes one alternative of every request. A signature
lists all choices that stay within the limit of devices per claim, the preferred ones first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Final

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.limits import RESULTS
from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.claims.selector_cache import Selectors
from scheduler_core.model.claim import (
    Claim,
    Constraint,
    DeviceClass,
    DeviceRequest,
    DistinctAttribute,
    MatchAttribute,
    Request,
)
from scheduler_core.model.taints import Toleration
from scheduler_core.rules.constraints import applies
from scheduler_core.search.candidates import selectors_of

KnownRule = MatchAttribute | DistinctAttribute
_CHOICES: Final = 64  # choices that a plan goes through; a claim with more is left to a search


@dataclass(frozen=True, slots=True)
class Filter:
    """Which devices suit an alternative.

    Shape: all ``selectors`` must choose a device; it must have at least ``capacity`` (keys as the claim
           writes them); ``tolerations`` say which taints it may have, None where taints are ignored.
    """

    selectors: Selectors
    capacity: tuple[tuple[str, Quantity], ...]
    tolerations: tuple[Toleration, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """One alternative of a request.

    Shape: ``claim`` is the number of the claim; ``filter`` and ``rules`` are indexes into the signature's;
           ``count`` is None for ``allocationMode: All``; ``has_configs`` whether its class has
           configurations. With ``admin_access`` it takes no device away from others.
    """

    claim: int
    name: str
    filter: int
    count: int | None
    rules: tuple[int, ...]
    has_configs: bool
    admin_access: bool
    tolerations: tuple[Toleration, ...]


@dataclass(frozen=True, slots=True)
class ChosenAlternatives:
    """A choice: one alternative of every request.

    Shape: ``options``, ``alternatives`` and ``counts`` have an entry per request: the index of the
           alternative, the alternative, and how many devices it gets; ``devices`` has, per device, the
           alternative that it is for; ``has_configs`` whether a class of them has configurations.
    """

    options: tuple[int, ...]
    alternatives: tuple[Alternative, ...]
    counts: tuple[int, ...]
    devices: tuple[Alternative, ...]
    has_configs: bool


@dataclass(frozen=True, slots=True, eq=False)
class ClaimSignature:
    """What claims ask for.

    Shape: ``filters`` and ``rules`` are those of all alternatives, each filter once; ``slots`` has the
           alternatives of each request; ``choices`` are in order of preference, none where every choice
           exceeds the limit of devices; ``is_regular`` says whether plans cover the claims, ``is_covered``
           whether the engine covers them at all.
    """

    filters: tuple[Filter, ...] = ()
    rules: tuple[KnownRule, ...] = ()
    slots: tuple[tuple[Alternative, ...], ...] = ()
    choices: tuple[ChosenAlternatives, ...] = ()
    is_regular: bool = False
    is_covered: bool = False


def content(claims: Sequence[Claim]) -> tuple[object, ...]:
    """Return what claims ask for, as a key: equal keys mean equal signatures."""
    return tuple([(claim.constraints, *map(_content, claim.requests)) for claim in claims])


def _content(request: Request) -> tuple[object, ...]:
    options = [
        (
            one.name,
            one.class_name,
            one.selectors,
            one.count,
            one.admin_access,
            one.tolerations,
            tuple(one.capacity.items()) if one.capacity else (),
        )
        for one in request.alternatives
    ]
    return (request.name, *options)


def is_covered(claims: Sequence[Claim], features: Features) -> bool:
    """Whether the engine covers the claims. The plain search answers all others.

    It covers ``matchAttribute`` and ``distinctAttribute``, and nothing that needs a feature that is off.
    """
    return all(
        _is_allowed(one, request, features)
        for claim in claims
        for request in claim.requests
        for one in request.alternatives
    ) and all(
        isinstance(constraint, MatchAttribute | DistinctAttribute)
        for claim in claims
        for constraint in claim.constraints
    )


def _is_allowed(option: DeviceRequest, request: Request, features: Features) -> bool:
    return (
        (features.DRAPrioritizedList or option.name == request.name)
        and (features.DRAAdminAccess or not option.admin_access)
        and (features.DRAConsumableCapacity or not option.capacity)
    )


def signature_of(
    claims: Sequence[Claim], classes: Mapping[str, DeviceClass], features: Features = ALL
) -> ClaimSignature:
    """Return the signature of claims that are allocated together.

    Raises: InvalidClaim for an unknown class; SelectorError for a selector that does not compile.
    """
    if not is_covered(claims, features):
        return ClaimSignature()
    filters: dict[Filter, int] = {}
    rules: list[KnownRule] = []
    slots: list[tuple[Alternative, ...]] = []
    for number, claim in enumerate(claims):
        numbered = _NumberedClaim(number, claim, len(rules))
        rules += _known(claim.constraints)
        for request in claim.requests:
            slots.append(tuple(_alternatives_of(request, numbered, filters, classes, features)))
    alternatives = [alternative for slot in slots for alternative in slot]
    is_regular = _are_few(slots) and all(map(_is_counted, alternatives))
    return ClaimSignature(
        filters=tuple(filters),
        rules=tuple(rules),
        slots=tuple(slots),
        choices=tuple(_choices(slots, len(claims))) if is_regular else (),
        is_regular=is_regular,
        is_covered=True,
    )


@dataclass(frozen=True, slots=True)
class _NumberedClaim:
    """A claim with its number and the number of its first constraint among those of all claims."""

    number: int
    claim: Claim
    first_rule: int


def _alternatives_of(
    request: Request,
    numbered: _NumberedClaim,
    filters: dict[Filter, int],
    classes: Mapping[str, DeviceClass],
    features: Features,
) -> Iterator[Alternative]:
    for option in request.alternatives:
        wanted = Filter(
            selectors=selectors_of(option, numbered.claim, classes),
            capacity=tuple(option.capacity.items()),
            tolerations=option.tolerations if features.DRADeviceTaints else None,
        )
        yield Alternative(
            claim=numbered.number,
            name=option.name,
            filter=filters.setdefault(wanted, len(filters)),
            count=option.count,
            rules=_rules_of(option, numbered.claim, numbered.first_rule),
            has_configs=bool(classes[option.class_name].configs),
            admin_access=option.admin_access,
            tolerations=option.tolerations,
        )


def _known(constraints: Sequence[Constraint]) -> list[KnownRule]:
    return [one for one in constraints if isinstance(one, MatchAttribute | DistinctAttribute)]


def relaxed(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the requests that plans cover. Where these do not fit, the claims do not fit either."""
    found = []
    for claim in claims:
        kept = tuple(request for request in claim.requests if all(map(_is_counted, request.alternatives)))
        if kept:
            found.append(replace(claim, requests=kept))
    return tuple(found)


def _is_counted(option: DeviceRequest | Alternative) -> bool:
    return option.count is not None and not option.admin_access


def without_constraints(claims: Sequence[Claim], dropped: Set[int] | None) -> tuple[Claim, ...]:
    """Return the claims without some constraints, or without any where ``dropped`` is None.

    Shape: constraints are numbered through all claims.
    """
    number = 0
    found = []
    for claim in claims:
        kept = []
        for constraint in claim.constraints:
            if dropped is not None and number not in dropped:
                kept.append(constraint)
            number += 1
        found.append(replace(claim, constraints=tuple(kept)))
    return tuple(found)


def _rules_of(option: DeviceRequest, claim: Claim, first_rule: int) -> tuple[int, ...]:
    return tuple(
        first_rule + index
        for index, constraint in enumerate(claim.constraints)
        if applies(constraint, option.name)
    )


def _are_few(slots: Sequence[Sequence[Alternative]]) -> bool:
    options = product(*(range(len(alternatives)) for alternatives in slots))
    return len(list(islice(options, _CHOICES + 1))) <= _CHOICES


def _choices(slots: Sequence[Sequence[Alternative]], claims: int) -> list[ChosenAlternatives]:
    choices = []
    for options in product(*(range(len(alternatives)) for alternatives in slots)):
        alternatives = tuple(slot[option] for slot, option in zip(slots, options, strict=True))
        totals = [0] * claims
        for alternative in alternatives:
            totals[alternative.claim] += alternative.count or 0
        if max(totals, default=0) <= RESULTS:
            choices.append(
                chosen_of(options, alternatives, [alternative.count or 0 for alternative in alternatives])
            )
    return choices


def chosen_of(
    options: tuple[int, ...], alternatives: tuple[Alternative, ...], counts: Sequence[int]
) -> ChosenAlternatives:
    """Return the choice of some alternatives, each with the number of devices that it gets."""
    devices = tuple(
        alternative for alternative, count in zip(alternatives, counts, strict=True) for _ in range(count)
    )
    return ChosenAlternatives(
        options,
        alternatives,
        tuple(counts),
        devices,
        any(alternative.has_configs for alternative in alternatives),
    )
