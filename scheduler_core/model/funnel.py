"""How many devices of a node are left for a request after each thing that it asks, as values.

``scheduler_core.explain.funnel`` computes them. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import ClaimRef


class StageKind(StrEnum):
    """What is asked at a stage, in order."""

    KNOWN = "known"
    CLASS = "class"
    SELECTOR = "selector"
    CAPACITY = "capacity"
    KUBELET = "kubelet"
    TAINTS = "taints"
    RESERVED = "reserved"
    CONSTRAINT = "constraint"
    FREE = "free"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesPresent:
    """What the devices before a stage have of one attribute or capacity that the stage reads.

    Shape: ``name`` is qualified; ``found`` counts devices by value, as text, in order of the values;
           ``without`` counts devices that do not have it; ``wanted`` are the values asked for, as text;
           ``nearest`` is the value, or the name of another attribute, that was probably meant.
    """

    name: str
    found: Mapping[str, int]
    without: int = 0
    wanted: tuple[str, ...] = ()
    nearest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One thing that a request asks, and how many devices are left after it.

    Shape: ``asked`` is the name of the class, a term of a selector, an amount, a taint or a constraint;
           empty for ``known`` and ``free``. ``place`` is the field that asks it, such as
           ``selectors[0]``. ``fails`` counts the devices left on which the expression ends in an error.
           ``values`` are there only where too few devices are left.
    """

    kind: StageKind
    asked: str = ""
    place: str = ""
    left: int
    fails: int = 0
    values: tuple[ValuesPresent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """The stages of one alternative of a request on one node, from all devices to the free ones.

    Shape: ``needed`` is None where the request wants all matching devices; ``stages`` begin with ``known``
           and end with ``free``; stages about the kubelet, taints, reserved scopes and constraints are left
           out where they ask nothing.
    """

    claim: ClaimRef
    request: str
    node: str
    needed: int | None
    stages: tuple[Stage, ...]

    @property
    def decisive(self) -> int | None:
        """Return the index of the first stage that leaves too few devices, None where enough are free."""
        least = self.needed or 1
        return next((place for place, one in enumerate(self.stages) if one.left < least), None)
