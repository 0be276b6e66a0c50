"""The place of a function in the PCIe tree, from its sysfs path and its bridges' configuration spaces.

Pure: takes the parts of a resolved path and bytes; returns a ``PciePath``. It never opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agent.hardware.types import Bdf, PciePath

CONFIG_BYTES: Final = 256
"""Bytes of a configuration space that can hold the capability list."""

ADDRESS: Final = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
"""The form of a PCI address in sysfs, as a regular expression."""

_ADDRESS: Final = re.compile(ADDRESS)
_ROOT_COMPLEX: Final = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")

_STATUS, _HAS_CAPABILITIES = 0x06, 0x10
_FIRST_CAPABILITY = 0x34
_PCI_EXPRESS = 0x10
_MOST_CAPABILITIES = 48  # there is no room for more, so a longer list is a loop
_UPSTREAM_PORT = 5


def is_address(name: str) -> bool:
    """Whether ``name`` has the form of a PCI address in sysfs."""
    return _ADDRESS.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Chain:
    """The way from a root complex down to a function.

    Shape: ``bridges`` from the root port to the one directly above the function; empty for a function on
           the root complex itself; ``root_complex`` is None if the path has none.
    """

    root_complex: str | None
    bridges: tuple[Bdf, ...]

    @classmethod
    def of(cls, parts: Sequence[str]) -> Chain:
        """Read the parts of a function's resolved sysfs path.

        The last ``pci<domain>:<bus>`` counts. Behind a VMD controller the path has two of them; the first
        is the controller's own, and the second has a domain of five digits.
        """
        roots = [at for at, part in enumerate(parts) if _ROOT_COMPLEX.fullmatch(part)]
        below = parts[roots[-1] + 1 :] if roots else parts
        addresses = tuple(Bdf(part) for part in below if is_address(part))
        return cls(parts[roots[-1]] if roots else None, addresses[:-1])


def pcie_path(chain: Chain, upstream_port: Callable[[Bdf], bool | None]) -> PciePath:
    """Return the root port and the nearest switch upstream port of a chain.

    ``upstream_port`` says whether a bridge is an upstream port, None if that is unknown.
    """
    if not chain.bridges:
        return PciePath(chain.root_complex)
    return PciePath(chain.root_complex, chain.bridges[0], _nearest_switch(chain.bridges, upstream_port))


def _nearest_switch(bridges: tuple[Bdf, ...], upstream_port: Callable[[Bdf], bool | None]) -> Bdf | None:
    for bridge in reversed(bridges):
        is_upstream = upstream_port(bridge)
        if is_upstream is None:
            return _counted_switch(bridges)
        if is_upstream:
            return bridge
    return None


def _counted_switch(bridges: tuple[Bdf, ...]) -> Bdf | None:
    """Infer from the position: a chain is a root port, then pairs of upstream and downstream ports."""
    pairs = (len(bridges) - 1) // 2
    return bridges[2 * pairs - 1] if pairs else None


def is_upstream_port(config: bytes) -> bool | None:
    """Whether the function with this configuration space is a switch upstream port.

    Shape: None if the bytes end before the PCI Express capability; a reader without privileges gets only
           the first 64.
    Source: PCI Express Base Specification, PCI Express Capabilities Register, Device/Port Type.
    """
    if len(config) <= _FIRST_CAPABILITY:
        return None
    if not config[_STATUS] & _HAS_CAPABILITIES:
        return False
    at = config[_FIRST_CAPABILITY] & 0xFC
    for _ in range(_MOST_CAPABILITIES):
        if at == 0:
            return False
        if at + 3 >= len(config):
            return None
        if config[at] == _PCI_EXPRESS:
            return config[at + 2] >> 4 == _UPSTREAM_PORT
        at = config[at + 1] & 0xFC
    return False
