"""PURE: what is locked while a device is set up or taken down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GPU: Final = "GPU"


@dataclass(frozen=True, slots=True, order=True)
class LockTarget:
    """A piece of hardware that one call at a time may change. Whoever locks several takes them in order.

    Shape: ``what`` names it in messages (``GPU``); ``address`` its UUID, else its PCI address.
           A part has the target of the whole: a MIG partition that of its GPU.
    """

    what: str
    address: str

    @property
    def name(self) -> str:
        """Return the name of the lock. Plugins of other versions use the same."""
        return f"{self.what.lower()}-{self.address}"

    def __str__(self) -> str:
        return f"{self.what} {self.address}"
