"""Skeletons: components alike but for the values of attributes.

A skeleton is the structure of a component, its amounts, and which attributes its devices have: devices
with equal attributes form a *group*. The values of all groups, one after another, are the component's
*values*; a skeleton learns in which of them components differ (serial numbers, addresses, indexes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_, itemgetter

from scheduler_core.engine.shape import Shape
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.quantity import Quantity
from scheduler_core.version import Version

Keys = tuple[QualifiedName, ...]
Values = tuple[AttributeValue, ...]


def identity(value: AttributeValue) -> tuple[object, ...]:
    """Return what tells a value from every other one that an expression could tell it from."""
    if isinstance(value, Version):
        return Version, value.text
    if isinstance(value, tuple):
        return tuple, tuple(map(identity, value))
    return type(value), value


def is_same(one: AttributeValue, two: AttributeValue) -> bool:
    """Whether no expression could tell two values apart."""
    return one is two or (one == two and identity(one) == identity(two))


@dataclass(frozen=True, slots=True)
class Body:
    """What a device is beyond its attributes.

    Shape: ``draws`` name sources by number, ``parents`` positions; equal capacities have one ``number``.
    """

    number: int
    capacity: Mapping[QualifiedName, Quantity]
    draws: tuple[tuple[int, Mapping[str, Quantity]], ...]
    parents: tuple[int, ...]


class Skeleton:
    """What components have in common whatever their attributes say. Equal skeletons are one object.

    Shape: ``groups`` are attribute keys and the positions that have them; ``sources`` what each source
           holds; ``varying`` the indexes of values in which components were seen to differ; ``own`` picks
           those out of all values, ``common`` the others; ``places`` finds, for an attribute, the indexes
           of its values and the positions of each.
    """

    __slots__ = (
        "_odd", "_seen", "bodies", "common", "driver", "groups", "own", "places", "shape",
        "sources", "varying",
    )  # fmt: skip

    def __init__(
        self,
        driver: str,
        shape: Shape,
        bodies: tuple[Body, ...],
        sources: tuple[Mapping[str, Quantity], ...],
        groups: tuple[tuple[Keys, int], ...],
    ) -> None:
        self.driver = driver
        self.shape = shape
        self.bodies = bodies
        self.sources = sources
        self.groups = groups
        self.places: dict[QualifiedName, list[tuple[int, int]]] = {}
        places = [(key, mask) for keys, mask in groups for key in keys]
        for index, (key, mask) in enumerate(places):
            self.places.setdefault(key, []).append((index, mask))
        self._seen: Values = ()
        self._vary(frozenset())

    def note(self, values: Values) -> None:
        """Note in which values another component differs from the first one seen."""
        if not self._seen:
            self._seen = values
            self._vary(frozenset())
        elif not self.agree(self.common(self._seen), self.common(values)):
            pairs = enumerate(zip(self._seen, values, strict=True))
            self._vary(self.varying | {index for index, (one, two) in pairs if not is_same(one, two)})

    def agree(self, one: Values, two: Values) -> bool:
        """Whether no expression could tell the common values of two components apart.

        Most are the same objects, and nearly all others of a type for which ``==`` says it.
        """
        if all(map(is_, one, two)):
            return True
        is_equal = one == two and all(map(is_, map(type, one), map(type, two)))
        return is_equal and all(map(is_same, self._odd(one), self._odd(two)))

    def _vary(self, varying: frozenset[int]) -> None:
        self.varying = varying
        self.own = _picker(sorted(varying))
        common = [index for index in range(len(self._seen)) if index not in varying]
        self.common = _picker(common)
        seen = self.common(self._seen)
        self._odd = _picker([index for index, value in enumerate(seen) if isinstance(value, Version | tuple)])


def _picker(indexes: Sequence[int]) -> Callable[[Values], Values]:
    """Return what picks some values out of all."""
    if len(indexes) > 1:
        return itemgetter(*indexes)
    return lambda values: tuple(values[index] for index in indexes)
