"""Resource classes and the devices that they select, as values."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.classes.values import Value


class ValueOperator(StrEnum):
    """The operators of a requirement."""

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
    """One requirement on a device. Shape: ``values`` as written, as many as the operator takes."""

    key: str
    operator: ValueOperator
    values: tuple[str, ...] = ()


Selector = tuple[ValueRequirement, ...]
"""Requirements that must all be met. An empty selector selects nothing."""


@dataclass(frozen=True, slots=True)
class ResourceClass:
    """A name for the devices that any of the selectors selects. Its spec is immutable."""

    name: str
    selectors: tuple[Selector, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassDevice:
    """A device of a node. Shape: ``quantity`` is at least 0; ``properties`` by key."""

    name: str
    quantity: int
    properties: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Use:
    """The amount of one device that a pod was given for one class. Shape: ``quantity`` is at least 1."""

    class_name: str
    device: str
    quantity: int


@dataclass(frozen=True, slots=True)
class Grant:
    """The node of a pod and its devices. Shape: one use per class and device, in order of choice."""

    node: str
    uses: tuple[Use, ...]
