"""Refuses functions whose interfaces carry the node's default route."""

from __future__ import annotations

from agent.hardware.nics.ports import NicReader
from agent.hardware.types import Bdf
from plugin.base.errors import NotReady


def refuse_needed(reader: NicReader, function: Bdf, attempted: str, subject: str, remedy: str) -> None:
    """Check that no default route of the node needs a function. Raises: NotReady; HardwareError."""
    way = reader.needed_for_default_route(function)
    if way:
        reason = f"its interface {way[0]} carries the node's default route ({' < '.join(way)})"
        raise NotReady(attempted, subject, reason, remedy)
