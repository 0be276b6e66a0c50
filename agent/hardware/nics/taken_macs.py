"""Finds who has a MAC address already: a VF as its PF set it, or an interface of the node.

Takes what the kernel says of links and VFs; changes nothing. Not every driver refuses a MAC that another VF
has, and then both lose packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from agent.hardware.errors import AlreadyTaken
from agent.hardware.nics.kernel import NetworkKernel
from agent.hardware.nics.links import Link
from agent.hardware.nics.refusals import translated
from agent.hardware.nics.types import VfCount, VfSettings
from agent.hardware.types import Bdf

_NO_MAC: Final = "00:00:00:00:00:00"


class VfReader(Protocol):
    """Reads which VFs there are."""

    def vf_count(self, pf: Bdf) -> VfCount:
        """Return the number of VFs that a PF has, and the most that it can have."""
        ...

    def virtual_function(self, pf: Bdf, index: int) -> Bdf | None:
        """Return the address of a VF, None if it does not exist."""
        ...


@dataclass(frozen=True, slots=True)
class TakenMacs:
    """Who has a MAC on this node, as far as the host's namespace tells it.

    An interface that is in a pod is seen by what its PF set for it; what a pod gave it by itself is not.
    """

    reader: VfReader
    kernel: NetworkKernel

    def refuse(self, pf: Bdf, index: int, mac: str | None, present: Mapping[int, VfSettings]) -> None:
        """Check that a VF can have a MAC; ``present`` are the settings of its PF's VFs.

        A MAC that the VF has already is its own. Raises: AlreadyTaken; HardwareError.
        """
        wanted = mac.lower() if mac else _NO_MAC
        if wanted == _NO_MAC:
            return
        own = present.get(index)
        if (other := _holder(present, wanted, index)) is not None:
            raise _taken(pf, index, f"VF {other} of the same PF has {wanted} already")
        if own is not None and own.mac == wanted:
            return
        if (holder := self._elsewhere(pf, index, wanted)) is not None:
            raise _taken(pf, index, f"{holder} has {wanted} already")

    def _elsewhere(self, pf: Bdf, index: int, mac: str) -> str | None:
        with translated("list the network links", "the host's namespace"):
            links = self.kernel.links(None)
        vf = self.reader.virtual_function(pf, index)
        alike = [link for link in links if link.mac == mac]
        if any(link.bdf == vf is not None for link in alike):
            return None
        if alike:
            return _shown(alike[0], pf)
        others = (link for link in links if link.bdf not in (None, pf))
        return next((found for link in others if (found := self._vf_below(link, mac)) is not None), None)

    def _vf_below(self, link: Link, mac: str) -> str | None:
        """Return the VF of another PF that has the MAC."""
        if link.bdf is None or not self.reader.vf_count(link.bdf).present:
            return None
        with translated("read the settings of VFs", f"PF {link.bdf} ({link.name})"):
            present = self.kernel.vf_settings(link.name)
        found = _holder(present, mac)
        return None if found is None else f"VF {found} of PF {link.bdf}"


def _holder(present: Mapping[int, VfSettings], mac: str, but: int | None = None) -> int | None:
    return next((index for index, one in present.items() if index != but and one.mac == mac), None)


def _shown(link: Link, pf: Bdf) -> str:
    return f"the PF itself ({link.name})" if link.bdf == pf else f"the node's interface {link.name}"


def _taken(pf: Bdf, index: int, reason: str) -> AlreadyTaken:
    return AlreadyTaken("set the MAC", f"VF {index} of PF {pf}", reason)
