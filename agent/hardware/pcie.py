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
           the root complex itself; ``root_complex`` is None if the path has none; ``under`` is what the path
           has before it, below ``devices``.
    """

    root_complex: str | None
    bridges: tuple[Bdf, ...]
    under: str = ""

    @classmethod
    def of(cls, parts: Sequence[str]) -> Chain:
        """Read the parts of a function's resolved sysfs path.

        The last ``pci<domain>:<bus>`` counts. Behind a VMD controller the path has two of them; the first
        is the controller's own, and the second has a domain of five digits.
        """
        roots = [at for at, part in enumerate(parts) if _ROOT_COMPLEX.fullmatch(part)]
        below = parts[roots[-1] + 1 :] if roots else parts
        addresses = tuple(Bdf(part) for part in below if is_address(part))
        if not roots:
            return cls(None, addresses[:-1])
        folders = [at for at, part in enumerate(parts[: roots[-1]]) if part == "devices"]
        above = parts[folders[-1] + 1 : roots[-1]] if folders else ()
        return cls(parts[roots[-1]], addresses[:-1], "/".join(above))


def pcie_path(chain: Chain, upstream_port: Callable[[Bdf], bool | None]) -> PciePath:
    """Return the root port and the switches of a chain.

    ``upstream_port`` says whether a bridge is an upstream port, None if that is unknown. If no bridge is
    known to be one, the position decides: below the root port come pairs of an upstream and a downstream
    port.
    """
    if not chain.bridges:
        return PciePath(chain.root_complex)
    known = {bridge: upstream_port(bridge) for bridge in chain.bridges}
    if None in known.values() and True not in known.values():
        pairs = (len(chain.bridges) - 1) // 2
        switches = chain.bridges[1 : 2 * pairs : 2]
    else:
        switches = tuple(bridge for bridge in chain.bridges if known[bridge])
    return PciePath(chain.root_complex, chain.bridges[0], switches)


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
