"""The device as an expression sees it."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.values import TYPE_NAMES, Domains


@dataclass(frozen=True, slots=True, eq=False)
class DeviceView:
    """A device, prepared once for any number of evaluations. A view equals itself only.

    Shape: ``attributes`` and ``capacity`` are maps of domain to identifier to value; ``name`` and
           ``pool`` are for messages only, no expression sees them.
    """

    driver: str
    attributes: Domains = field(default_factory=Domains)
    capacity: Domains = field(default_factory=Domains)
    allow_multiple_allocations: bool = False
    name: str = ""
    pool: str = ""

    def field(self, name: str) -> Any:
        """Return the value of ``device.<name>``; the checker refuses any other name."""
        return getattr(self, FIELDS[name])


FIELDS = {
    "driver": "driver",
    "attributes": "attributes",
    "capacity": "capacity",
    "allowMultipleAllocations": "allow_multiple_allocations",
}
TYPE_NAMES[DeviceView] = "kubernetes.DRADevice"
