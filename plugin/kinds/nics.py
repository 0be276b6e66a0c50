"""NICs and VFs that no other row takes: published and watched, and refused with the reason."""

from __future__ import annotations

from agent.inventory.published import NicVf, WholeNic
from plugin.kinds.kind import Kind
from plugin.machine.seen import SeenHardware
from scheduler_core.frontends.configuration.preparable import NIC_WITHOUT_RDMA, NO_RDMA


class WholeNicKind(Kind[WholeNic]):
    """A NIC's physical function without an RDMA device."""

    text = "a NIC (physical function) without RDMA"
    why_unprepared = NIC_WITHOUT_RDMA
    published = WholeNic

    def why_ill(self, published: WholeNic, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.pf.function.bdf)


class NicVfKind(Kind[NicVf]):
    """A virtual function of a NIC without an RDMA device."""

    text = "a NIC's virtual function without RDMA"
    why_unprepared = NO_RDMA
    published = NicVf

    def why_ill(self, published: NicVf, seen: SeenHardware) -> str:
        """Return why the function does not answer."""
        return seen.why_function_is_missing(published.watched)
