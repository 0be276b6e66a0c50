"""The base of all parts of a simulated machine's stored state."""

from __future__ import annotations

import msgspec


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the state: immutable; unknown fields are errors."""
