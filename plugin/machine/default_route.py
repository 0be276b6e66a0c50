"""Refuses functions that the node needs, or of which no pod can have the interface: the agent's judgement."""

from __future__ import annotations

from agent.hardware.nics.ports import NicReader
from agent.hardware.types import Bdf
from agent.inventory.judgement import why_needed, why_not_netdev
from agent.inventory.nic_facts import facts_of
from plugin.base.errors import NotReady


def refuse_needed(reader: NicReader, function: Bdf, attempted: str, subject: str) -> None:
    """Check that no default route of the node needs a function. Raises: NotReady; HardwareError."""
    reason = why_needed(facts_of(reader, function))
    if reason is not None:
        raise NotReady(attempted, subject, reason.text, reason.remedy)


def refuse_without_interface(reader: NicReader, function: Bdf, attempted: str, subject: str) -> None:
    """Check that a pod can have the interface of a function. Raises: NotReady; HardwareError."""
    reason = why_not_netdev(facts_of(reader, function), reader.binding(function).driver)
    if reason is not None:
        raise NotReady(attempted, subject, reason.text, reason.remedy)
