"""Templates: everything that the components of equal hardware share, kept once for the whole cluster.

A template is a skeleton with the values in which its components agree; the others are kept in the
component. Names and places in the listing are a ``Layout``, shared by all nodes that number their hardware
alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from scheduler_core.engine.skeleton import Skeleton, Values
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName, SourceName


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
