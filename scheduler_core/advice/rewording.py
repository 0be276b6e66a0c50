"""Finds other values and attribute names that a selector could ask for, so that the claims fit.

Takes claims that do not fit, a node, and a function that judges a change. An expression is changed wherever
the claims have it. Each term of a selector is changed by itself, and only a value that some device has is
tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from scheduler_core.advice.remedies import Change, Reword, reworded
from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.explain.selector_terms import terms_of
from scheduler_core.explain.values_present import values_present
from scheduler_core.model.claim import Claim, DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import Device
from scheduler_core.model.funnel import ValuesPresent
from scheduler_core.model.nodes import Node
from scheduler_core.rules.selectors import Selector, compile_selector
from scheduler_core.search.candidates import Offer, offers

Helps = Callable[[Sequence[Claim], Node], bool]
"""Whether changed claims shall be offered on a node."""
_AMOUNT: Final = re.compile(r"""quantity\(["']([^"']*)["']\)""")
_TRIED: Final = 12  # values of one term
_OFFERED: Final = 2  # remedies for one term


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of an expression of the claims, and the devices that everything else of the request selects."""

    text: str
    selector: Selector
    others: tuple[Offer, ...]


def rewordings(claims: Sequence[Claim], cluster: Cluster, node: Node, helps: Helps) -> Iterator[Reword]:
    """Yield changes of one term that help, the nearest values first."""
    seen = offers(cluster.pools_seen_from(node), node, cluster.features)
    for text in _expressions(claims):
        for term in _terms(text, claims, cluster, seen):
            yield from _changes(term, claims, node, helps)


def _expressions(claims: Sequence[Claim]) -> tuple[str, ...]:
    """Return every expression of the requests' own selectors once."""
    options = (option for claim in claims for request in claim.requests for option in request.alternatives)
    return tuple(dict.fromkeys(text for option in options for text in option.selectors))


def _terms(text: str, claims: Sequence[Claim], cluster: Cluster, seen: Sequence[Offer]) -> Iterator[_Term]:
    options = (option for claim in claims for request in claim.requests for option in request.alternatives)
    first = next(option for option in options if text in option.selectors)
    inside = _compiled(cluster.classes[first.class_name])
    beside = tuple(compile_selector(one) for one in first.selectors if one != text)
    terms = terms_of(text)
    for place, term in enumerate(terms):
        rest = (*inside, *beside, *terms[:place], *terms[place + 1 :])
        yield _Term(text, term, tuple(offer for offer in seen if _selects(rest, offer)))


def _compiled(chosen: DeviceClass) -> tuple[Selector, ...]:
    return tuple(map(compile_selector, chosen.selectors))


def _selects(selectors: Sequence[Selector], offer: Offer) -> bool:
    try:
        return all(one.matches(offer.view) for one in selectors)
    except SelectorError:
        return False


def _changes(term: _Term, claims: Sequence[Claim], node: Node, helps: Helps) -> Iterator[Reword]:
    """Yield the changes of one term that were found to help."""
    found = 0
    for values in values_present(term.selector, [one.view for one in term.others]):
        for change, old, new in _wordings(values, term):
            after = _replaced(term, values, old, new)
            if after is None or not helps(reworded(claims, term.text, after), node):
                continue
            concerned = [
                (claim.ref, option.name)
                for claim in claims
                for request in claim.requests
                for option in request.alternatives
                if term.text in option.selectors
            ]
            yield Reword(
                node=node.name,
                change=change,
                claims=tuple(dict.fromkeys(ref for ref, _ in concerned)),
                requests=tuple(name for _, name in concerned),
                before=term.text,
                after=after,
                old=old,
                new=new,
            )
            found += 1
            if change is Change.CORRECTION or found == _OFFERED:
                return


def _wordings(values: ValuesPresent, term: _Term) -> Iterator[tuple[Change, str, str]]:
    """Yield what could stand in a term in the place of what does: first what was probably meant."""
    if not values.found:
        if values.nearest is not None:
            yield Change.CORRECTION, values.name, values.nearest
        return
    if not values.wanted:
        yield from _amounts(values, term)
        return
    wanted = values.wanted[0]
    if values.nearest is not None:
        yield Change.CORRECTION, wanted, values.nearest
    if len(values.wanted) > 1 and set(values.wanted) & values.found.keys():  # an alternative is there
        return
    sizes = _sizes(values.name, term.others)
    others = [one for one in reversed(list(values.found)) if one not in (wanted, values.nearest)]
    middle = sizes.get(wanted)
    if middle is not None:  # of profiles with as much memory the one with more compute slices comes first
        others.sort(key=lambda one: abs(sizes.get(one, 0) - middle))
    for other in others[:_TRIED]:
        yield Change.OTHER_VALUE, wanted, other


def _amounts(values: ValuesPresent, term: _Term) -> Iterator[tuple[Change, str, str]]:
    """Yield the amounts that devices have, the largest first, for a term that compares with one amount."""
    amounts = _AMOUNT.findall(term.selector.text)
    if len(amounts) == 1 and "capacity" in term.selector.text:
        others = sorted(values.found, key=Quantity.parse, reverse=True)[:_TRIED]
        yield from ((Change.OTHER_VALUE, amounts[0], other) for other in others if other != amounts[0])


def _sizes(name: str, seen: Sequence[Offer]) -> dict[str, int]:
    """Return the memory of the devices that have each value of an attribute. Units: billionths of a byte."""
    found: dict[str, int] = {}
    for offer in seen:
        value = offer.device.attributes.get(name)  # type: ignore[call-overload]
        memory = _memory(offer.device)
        if value is not None and memory is not None:
            found.setdefault(str(value), memory)
    return found


def _memory(device: Device) -> int | None:
    named = (amount.nano for name, amount in device.capacity.items() if name.endswith("/memory"))
    return next(named, None)


def _replaced(term: _Term, values: ValuesPresent, old: str, new: str) -> str | None:
    """Return the whole expression with another value or name in the term; None where it cannot be written."""
    part = term.selector.text
    changed = _with_value(part, old, new) if values.found else _with_name(part, old, new)
    if changed is None or term.text.count(part) != 1:
        return None
    return term.text.replace(part, changed)


def _with_value(part: str, old: str, new: str) -> str | None:
    for quote in ('"', "'"):
        if part.count(f"{quote}{old}{quote}") == 1 and not {'"', "'", "\\"} & set(new):
            return part.replace(f"{quote}{old}{quote}", f"{quote}{new}{quote}")
    head, found, tail = part.rpartition(old)
    is_number = found and new.isdigit() and not head[-1:].isalnum() and not tail[:1].isalnum()
    return f"{head}{new}{tail}" if is_number else None


def _with_name(part: str, old: str, new: str) -> str | None:
    """Replace the name of an attribute or capacity; both names are qualified."""
    (domain, _, name), (domain_meant, _, name_meant) = old.rpartition("/"), new.rpartition("/")
    for quote in ('"', "'"):
        before = f"[{quote}{domain}{quote}].{name}"
        if before in part:
            return part.replace(before, f"[{quote}{domain_meant}{quote}].{name_meant}")
    return None
