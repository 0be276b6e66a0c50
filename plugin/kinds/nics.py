"""NICs and their VFs: published and watched. This version prepares none of them."""

from __future__ import annotations

from agent.inventory.model import NicVf, WholeNic
from plugin.kinds.kind import Kind
from plugin.machine.seen import SeenHardware


class WholeNicKind(Kind[WholeNic]):
    """A NIC's physical function."""

    text = "a NIC (physical function)"
    published = WholeNic

    def why_ill(self, published: WholeNic, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.pf.function.bdf)


class NicVfKind(Kind[NicVf]):
    """A virtual function of a NIC."""

    text = "a NIC's virtual function"
    published = NicVf

    def why_ill(self, published: NicVf, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.vf.function.bdf)
