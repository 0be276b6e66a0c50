"""Claim signatures: what claims ask for, without their names. Claims that ask for the same share a signature.

A signature has the alternatives of every request. A request with ``firstAvailable`` has several
alternatives, any other request has one. A *choice* takes one alternative of every request. A signature
lists all choices that stay within the limit of devices per claim, the preferred ones first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.limits import RESULTS
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.claims.selector_cache import Selectors
from scheduler_core.model.claim import (
    Claim,
    Constraint,
    DeviceClass,
    DistinctAttribute,
    MatchAttribute,
    Request,
)
from scheduler_core.model.taints import Toleration
from scheduler_core.rules.constraints import applies
from scheduler_core.search.candidates import check_features, selectors_of

_CHOICES: Final = 64
"""How many combinations of alternatives are listed."""


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
           configurations; ``capacity`` is what it asks of each device, keys as the claim writes them. With
           ``admin_access`` it takes no device away from others.
    """

    claim: int
    name: str
    filter: int
    count: int | None
    rules: tuple[int, ...]
    has_configs: bool
    admin_access: bool
    tolerations: tuple[Toleration, ...]
    capacity: tuple[tuple[str, Quantity], ...]


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

    Shape: ``filters`` and ``rules`` are those of all alternatives, each filter once; ``requests`` has the
           alternatives of each request; ``gap`` says why count vectors cannot express the claims, None
           where they can; only then ``choices`` lists the combinations of alternatives; ``derives`` whether
           constraints compare derived attributes, which only the plain search evaluates.
    """

    filters: tuple[Filter, ...]
    rules: tuple[Constraint, ...]
    requests: tuple[tuple[Alternative, ...], ...]
    choices: tuple[ChosenAlternatives, ...]
    gap: str | None
    derives: bool = False


def content(claims: Sequence[Claim]) -> tuple[object, ...]:
    """Return what claims ask for, as a key: equal for claims with one signature."""
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
            one.derived,
        )
        for one in request.alternatives
    ]
    return (request.name, *options)


def signature_of(
    claims: Sequence[Claim], classes: Mapping[str, DeviceClass], features: Features = ALL
) -> ClaimSignature:
    """Return the signature of claims that are allocated together.

    Raises: InvalidClaim for an unknown class or a feature that is off; SelectorError for a selector that
            does not compile.
    """
    filters: dict[Filter, int] = {}
    rules: list[Constraint] = []
    requests: list[tuple[Alternative, ...]] = []
    for number, claim in enumerate(claims):
        numbered = _NumberedClaim(number, claim, len(rules))
        for request in claim.requests:
            check_features(request, claim, features)
            requests.append(tuple(_alternatives_of(request, numbered, filters, classes, features)))
        rules += claim.constraints
    gap = _gap(requests, rules)
    return ClaimSignature(
        filters=tuple(filters),
        rules=tuple(rules),
        requests=tuple(requests),
        choices=tuple(choices_of(requests, len(claims))) if gap is None else (),
        gap=gap,
        derives=any(
            option.derived for claim in claims for one in claim.requests for option in one.alternatives
        ),
    )


def _gap(requests: Sequence[Sequence[Alternative]], rules: Sequence[Constraint]) -> str | None:
    """Return why count vectors cannot express the requests, None where they can."""
    for one in (one for options in requests for one in options):
        if one.admin_access:
            return f"request {one.name} has admin access"
        if one.count is None:
            return f"request {one.name} asks for all matching devices"
    for rule in rules:
        if not isinstance(rule, MatchAttribute | DistinctAttribute):
            return f"a constraint compares scopes: {type(rule).__name__}"
    if prod(map(len, requests)) > _CHOICES:
        return f"the requests have more than {_CHOICES} combinations of alternatives"
    return None


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
            rules=tuple(
                numbered.first_rule + index
                for index, constraint in enumerate(numbered.claim.constraints)
                if applies(constraint, option.name)
            ),
            has_configs=bool(classes[option.class_name].configs),
            admin_access=option.admin_access,
            tolerations=option.tolerations,
            capacity=wanted.capacity,
        )


def choices_of(requests: Sequence[Sequence[Alternative]], claims: int) -> Iterator[ChosenAlternatives]:
    """Yield every combination of alternatives within the limit of results, the preferred ones first."""
    for options in product(*(range(len(alternatives)) for alternatives in requests)):
        chosen = tuple(request[option] for request, option in zip(requests, options, strict=True))
        totals = [0] * claims
        for one in chosen:
            totals[one.claim] += one.count or 0
        if max(totals, default=0) <= RESULTS:
            yield chosen_of(options, chosen, [one.count or 0 for one in chosen])


def chosen_of(
    options: tuple[int, ...], alternatives: tuple[Alternative, ...], counts: Sequence[int]
) -> ChosenAlternatives:
    """Return the choice of some alternatives, each with the number of devices that it gets."""
    devices = tuple(one for one, count in zip(alternatives, counts, strict=True) for _ in range(count))
    has_configs = any(one.has_configs for one in alternatives)
    return ChosenAlternatives(options, alternatives, tuple(counts), devices, has_configs)
