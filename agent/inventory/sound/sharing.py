"""PURE: mixins that several GPUs include. A GPU that tells other things than the first one has its own."""

from __future__ import annotations

from dataclasses import replace

from scheduler_core.model.composite import Mixin


def share(shared: dict[str, Mixin], mixin: Mixin, owner: str) -> str:
    """Add a mixin unless it is there, and return its name: where another one has that, ``OWNER-NAME``."""
    if shared.setdefault(mixin.name, mixin) == mixin:
        return mixin.name
    own = replace(mixin, name=f"{owner}-{mixin.name}")
    shared.setdefault(own.name, own)
    return own.name
