"""PURE: reads what a policy says of the place of devices in the PCIe and NUMA topology."""

from __future__ import annotations

import re
from typing import Final

from agent.hardware.types import Bdf, normal_bdf
from agent.inventory.topology import StatedPlace, is_root_complex
from agent.policy.entries.common import is_address, listed, refuse_silent
from agent.policy.model import PlaceRule
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration.fields import optional_integer

_SAYS: Final = ("numaNode", "pcieRoot", "pcieRootPort", "pcieSwitch")
_LAST_NUMA_NODE: Final = 1023
"""Source: Linux, NODES_SHIFT is at most 10."""
_PATTERN: Final = re.compile(r"[0-9a-f:.*]*\*[0-9a-f:.*]*", re.ASCII | re.IGNORECASE)
_PATTERN_RULE: Final = "must be a PCI address such as 0000:3b:00.0, or a pattern with * such as 0000:3b:*"
_ROOT_RULE: Final = "must be a root complex such as pci0000:3a"
_ADDRESS_RULE: Final = "must be a PCI address such as 0000:3b:00.0"


def read_place_rule(fields: Fields) -> PlaceRule:
    """Return one entry of ``topology``. Raises: InvalidPolicy."""
    fields.only("pciAddresses", *_SAYS)
    refuse_silent(fields, _SAYS)
    found = listed(fields, "pciAddresses", _is_pattern, _PATTERN_RULE)
    if found is None:
        raise fields.refuse("pciAddresses", "is required; an override is about devices that it names")
    return PlaceRule(
        path=fields.path,
        addresses=frozenset(normal_bdf(one) for one in found if "*" not in one),
        patterns=tuple(one.lower() for one in found if "*" in one),
        place=StatedPlace(
            numa_node=optional_integer(fields, "numaNode", least=0, most=_LAST_NUMA_NODE),
            pcie_root=_root(fields),
            pcie_root_port=_address(fields, "pcieRootPort"),
            pcie_switch=_address(fields, "pcieSwitch"),
        ),
    )


def _is_pattern(text: str) -> bool:
    return _PATTERN.fullmatch(text) is not None if "*" in text else is_address(text)


def _root(fields: Fields) -> str | None:
    if not fields.has("pcieRoot"):
        return None
    return fields.text("pcieRoot", rule=lambda text: None if is_root_complex(text) else _ROOT_RULE)


def _address(fields: Fields, key: str) -> Bdf | None:
    if not fields.has(key):
        return None
    return normal_bdf(fields.text(key, rule=lambda text: None if is_address(text) else _ADDRESS_RULE))
