"""Kinds: claims compiled, free of their names. Claims that ask for the same thing are one kind.

A kind lists what is wanted, request by request, and every *choice* of alternatives that keeps within the
limit of results, the preferred ones first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Final

from scheduler_core.candidates import selectors_of
from scheduler_core.constraints import applies
from scheduler_core.engine.verdicts import Selectors
from scheduler_core.features import ALL, Features
from scheduler_core.limits import RESULTS
from scheduler_core.model.claim import (
    Claim,
    Constraint,
    DeviceClass,
    DeviceRequest,
    DistinctAttribute,
    MatchAttribute,
    Request,
)

_CHOICES: Final = 64  # combinations of alternatives before a claim counts as irregular


@dataclass(frozen=True, slots=True)
class Want:
    """One alternative of a request.

    Shape: ``selectors`` and ``rules`` are numbers of the kind's; ``claim`` is the claim's number; ``count``
           is None where all matching devices are wanted.
    """

    claim: int
    name: str
    selectors: int
    count: int | None
    rules: tuple[int, ...]
    has_configs: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One alternative for every request.

    Shape: ``options`` their numbers and ``counts`` how many devices they get, per request; ``devices``
           has, per device wanted, the claim's number and the name of the alternative; ``has_configs``
           whether a class brings configuration along.
    """

    options: tuple[int, ...]
    wants: tuple[Want, ...]
    counts: tuple[int, ...]
    devices: tuple[tuple[int, str], ...]
    has_configs: bool


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Claims that want the same.

    Shape: ``selectors`` and ``rules`` are the different ones of all wants; ``slots`` has the alternatives
           of each request; ``choices`` in order of preference, none where no combination keeps within the
           limits; ``is_regular`` tells whether count vectors cover the claims, ``is_covered`` whether the
           engine does at all.
    """

    selectors: tuple[Selectors, ...] = ()
    rules: tuple[Constraint, ...] = ()
    slots: tuple[tuple[Want, ...], ...] = ()
    choices: tuple[Choice, ...] = ()
    is_regular: bool = False
    is_covered: bool = False


def content(claims: Sequence[Claim]) -> tuple[object, ...]:
    """Return what claims want, as a key: equal for claims of one kind."""
    return tuple([(claim.constraints, *map(_content, claim.requests)) for claim in claims])


def _content(request: Request) -> tuple[object, ...]:
    """Return what a request wants. Amounts need not be told apart: the tables do not cover them."""
    options = [
        (
            one.name,
            one.class_name,
            one.selectors,
            one.count,
            one.admin_access or bool(one.capacity) or bool(one.tolerations),
        )
        for one in request.alternatives
    ]
    return (request.name, *options)


def asks_only_for_devices(claims: Sequence[Claim], features: Features) -> bool:
    """Whether every request wants whole devices, and nothing more particular.

    Scopes are compared by the plain search alone.
    """
    tabled = (MatchAttribute, DistinctAttribute)
    if not all(isinstance(one, tabled) for claim in claims for one in claim.constraints):
        return False
    return all(
        not (one.admin_access or one.capacity or one.tolerations)
        and (one.name == request.name or features.DRAPrioritizedList)
        for claim in claims
        for request in claim.requests
        for one in request.alternatives
    )


def kind_of(claims: Sequence[Claim], classes: Mapping[str, DeviceClass], features: Features = ALL) -> Kind:
    """Compile claims that are allocated together.

    Raises: InvalidClaim for an unknown class; SelectorError for a selector that does not compile.
    """
    if not asks_only_for_devices(claims, features):
        return Kind()
    selectors: dict[Selectors, int] = {}
    rules: list[Constraint] = []
    slots: list[tuple[Want, ...]] = []
    for number, claim in enumerate(claims):
        first_rule = len(rules)
        rules += claim.constraints
        for request in claim.requests:
            wants = []
            for option in request.alternatives:
                compiled = selectors_of(option, claim, classes)
                bound = _rules_of(option, claim, first_rule)
                index = selectors.setdefault(compiled, len(selectors))
                has_configs = bool(classes[option.class_name].configs)
                wants.append(Want(number, option.name, index, option.count, bound, has_configs))
            slots.append(tuple(wants))
    is_regular = _are_few(slots) and all(want.count is not None for wants in slots for want in wants)
    return Kind(
        selectors=tuple(selectors),
        rules=tuple(rules),
        slots=tuple(slots),
        choices=tuple(_choices(slots, len(claims))) if is_regular else (),
        is_regular=is_regular,
        is_covered=True,
    )


def without_constraints(claims: Sequence[Claim], dropped: Set[int] | None) -> tuple[Claim, ...]:
    """Return the claims without some of their constraints, numbered through all claims, or without any."""
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


def _are_few(slots: Sequence[Sequence[Want]]) -> bool:
    options = product(*(range(len(wants)) for wants in slots))
    return len(list(islice(options, _CHOICES + 1))) <= _CHOICES


def _choices(slots: Sequence[Sequence[Want]], claims: int) -> list[Choice]:
    choices = []
    for options in product(*(range(len(wants)) for wants in slots)):
        wants = tuple(slot[option] for slot, option in zip(slots, options, strict=True))
        totals = [0] * claims
        for want in wants:
            totals[want.claim] += want.count or 0
        if max(totals, default=0) <= RESULTS:
            choices.append(choice_of(options, wants, [want.count or 0 for want in wants]))
    return choices


def choice_of(options: tuple[int, ...], wants: tuple[Want, ...], counts: Sequence[int]) -> Choice:
    """Return the choice of some alternatives, with the number of devices that each of them gets."""
    devices = tuple(
        (want.claim, want.name) for want, count in zip(wants, counts, strict=True) for _ in range(count)
    )
    return Choice(options, wants, tuple(counts), devices, any(want.has_configs for want in wants))
