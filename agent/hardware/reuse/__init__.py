"""Reuse of what was read from files, and the listings of folders that tell whether it stands."""

from agent.hardware.reuse.evidence import (
    MOST_S,
    READ_ANEW,
    SETTLED_S,
    Evidence,
    ReadAnew,
    Reuse,
    ReuseUnchanged,
)

__all__ = ("MOST_S", "READ_ANEW", "SETTLED_S", "Evidence", "ReadAnew", "Reuse", "ReuseUnchanged")
