"""Draws what a claim is allocated in its cluster."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.model.claim import AllocatedClaim


def held_picture(claim: AllocatedClaim) -> RenderableType:
    """Draw what a claim has, request by request, before it is explained."""
    lines = [Text(f"{claim.ref} is allocated in the cluster:", style="bold")]
    lines += [Text(f"  {one.request:<12} {one.device}") for one in claim.results]
    return Group(*lines, Text("The decision without this allocation:"), Text())
