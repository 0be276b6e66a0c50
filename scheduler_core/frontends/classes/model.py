"""Resource classes and the devices that they select, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scheduler_core.frontends.classes.values import Value


class ValueOperator(StrEnum):
    """How a key relates to values."""

    IN = "In"
    EQ = "Eq"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    GT_EQ = "GtEq"
    LT = "Lt"
    LT_EQ = "LtEq"


ORDERED: Final = (ValueOperator.GT, ValueOperator.GT_EQ, ValueOperator.LT, ValueOperator.LT_EQ)
WITHOUT_VALUES: Final = (ValueOperator.EXISTS, ValueOperator.DOES_NOT_EXIST)


@dataclass(frozen=True, slots=True)
class ValueRequirement:
    """One condition on a device. Shape: ``values`` as written; as many as the operator takes."""

    key: str
    operator: ValueOperator
    values: tuple[str, ...] = ()


Selector = tuple[ValueRequirement, ...]
"""Requirements that must all hold. An empty one selects nothing."""


@dataclass(frozen=True, slots=True)
class ResourceClass:
    """A name for the devices that one of the selectors selects. What it selects never changes."""

    name: str
    selectors: tuple[Selector, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassDevice:
    """A device of a node as classes see it. Shape: ``quantity`` at least 0; ``properties`` by key."""

    name: str
    quantity: int
    properties: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Use:
    """Units of one device that a pod was given for one class. Shape: ``quantity`` at least 1."""

    class_name: str
    device: str
    quantity: int


@dataclass(frozen=True, slots=True)
class Grant:
    """Where a pod runs and what it was given. Shape: a use per class and device, in order of choosing."""

    node: str
    uses: tuple[Use, ...]
