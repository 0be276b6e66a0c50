"""Templates: everything that the components of equal hardware share, kept once for the whole cluster.

A *skeleton* is the structure of a component, its amounts, and which attributes its devices have: devices
with equal attributes form a *group*. The values of all groups, one after another, are the component's
*values*; those in which components of one skeleton differ (serial numbers, addresses, indexes) are kept in
the component, the others in the template. Names and places in the listing are a ``Layout``, shared by all
nodes that number their hardware alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import is_

from scheduler_core.engine.shape import Shape
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName, SourceName
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
    """Components alike but for the values of attributes. Equal skeletons are one object.

    Shape: ``groups`` are attribute keys and the positions that have them; ``sources`` what each source
           holds; ``varying`` the indexes of values in which components were seen to differ, ``seen``
           those of the first one; ``places`` finds, for an attribute, the indexes of its values and the
           positions of each.
    """

    __slots__ = (
        "bodies",
        "driver",
        "groups",
        "places",
        "seen",
        "shape",
        "sources",
        "varying",
    )

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
        self.varying: frozenset[int] = frozenset()
        self.seen: Values | None = None
        self.places: dict[QualifiedName, list[tuple[int, int]]] = {}
        index = 0
        for keys, mask in groups:
            for key in keys:
                self.places.setdefault(key, []).append((index, mask))
                index += 1

    def note(self, values: Values) -> None:
        """Note in which values another component differs from the first one seen."""
        if self.seen is None:
            self.seen = values
        elif not all(map(is_, self.seen, values)):
            pairs = enumerate(zip(self.seen, values, strict=True))
            self.varying |= {index for index, (one, two) in pairs if not is_same(one, two)}


class Template:
    """What equal components share. Equal templates are one object.

    Shape: ``values`` as long as the skeleton's, with None where components differ; ``open`` the indexes
           of those, ascending.
    """

    __slots__ = ("open", "shape", "skeleton", "slots", "values")

    def __init__(self, skeleton: Skeleton, values: Values) -> None:
        self.skeleton = skeleton
        self.shape = skeleton.shape
        self.open = tuple(sorted(skeleton.varying))
        self.values = tuple(
            None if index in skeleton.varying else value for index, value in enumerate(values)
        )
        self.slots = {index: slot for slot, index in enumerate(self.open)}

    def blocks(self, key: QualifiedName, own: Values) -> Iterator[tuple[AttributeValue, int]]:
        """Yield the values of an attribute with the positions that have each; a value may come again."""
        for index, mask in self.skeleton.places.get(key, ()):
            slot = self.slots.get(index)
            value = self.values[index] if slot is None else own[slot]
            assert value is not None
            yield value, mask

    def completed(self, own: Values) -> Values:
        """Return all values of a component of this template."""
        values = list(self.values)
        for index, value in zip(self.open, own, strict=True):
            values[index] = value
        return tuple(value for value in values if value is not None)


@dataclass(frozen=True)
class Layout:
    """What the devices and sources of a component are called, and where the pool lists the devices."""

    names: tuple[DeviceName, ...]
    sources: tuple[SourceName, ...]
    listed: tuple[int, ...]

    @cached_property
    def index(self) -> dict[DeviceName, int]:
        """Return the position of each device."""
        return {name: position for position, name in enumerate(self.names)}
