"""PCIe: what a sysfs path and a configuration space say about where a function hangs.

Pure: the parts of a resolved path and bytes enter, a ``PciePath`` leaves. It never opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agent.hardware.types import Bdf, PciePath

CONFIG_BYTES: Final = 256
"""How much of a configuration space the capability list can lie in."""

_ADDRESS: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ROOT_COMPLEX: Final = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")

_STATUS, _HAS_CAPABILITIES = 0x06, 0x10
_FIRST_CAPABILITY = 0x34
_PCI_EXPRESS = 0x10
_MOST_CAPABILITIES = 48  # the space has no room for more: a longer list is a loop
_UPSTREAM_PORT = 5


def is_address(name: str) -> bool:
    """Whether ``name`` is spelt like a PCI address of sysfs."""
    return _ADDRESS.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Chain:
    """The way from a root complex down to a function.

    Shape: ``bridges`` from the root port to the one just above the function; empty for a function on
           the root complex itself; ``root_complex`` None where the path names none.
    """

    root_complex: str | None
    bridges: tuple[Bdf, ...]

    @classmethod
    def of(cls, parts: Sequence[str]) -> Chain:
        """Read the parts of a function's resolved sysfs path.

        The last ``pci<domain>:<bus>`` counts: behind a VMD controller the path names two, and the outer
        one belongs to the controller. The domain there has five digits.
        """
        roots = [at for at, part in enumerate(parts) if _ROOT_COMPLEX.fullmatch(part)]
        below = parts[roots[-1] + 1 :] if roots else parts
        addresses = tuple(Bdf(part) for part in below if is_address(part))
        return cls(parts[roots[-1]] if roots else None, addresses[:-1])


def pcie_path(chain: Chain, upstream_port: Callable[[Bdf], bool | None]) -> PciePath:
    """Return the root port and the nearest switch upstream port of a chain.

    ``upstream_port`` says whether a bridge is one, None where it cannot tell.
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
    """Guess by position: a chain is a root port, then pairs of upstream and downstream ports."""
    pairs = (len(bridges) - 1) // 2
    return bridges[2 * pairs - 1] if pairs else None


def is_upstream_port(config: bytes) -> bool | None:
    """Whether the function with this configuration space is a switch upstream port.

    Shape: None where the bytes end before the PCI Express capability could be found; a reader without
           privileges gets the first 64 only.
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
