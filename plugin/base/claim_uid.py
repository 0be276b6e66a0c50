"""PURE: which claim UIDs the plugin accepts. A UID becomes part of file names and CDI names."""

from __future__ import annotations

import re
from typing import Final

from plugin.base.errors import ClaimUnusable
from scheduler_core.model.claim import ClaimRef, ClaimUid

_UID: Final = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z-]{0,62}[0-9A-Za-z])?", re.ASCII)
UID_RULE: Final = "must be 1 to 64 letters, digits and dashes, usually a UUID"


def is_uid(text: str) -> bool:
    """Whether a text may be used in file names and CDI names: it can never form a path."""
    return _UID.fullmatch(text) is not None


def checked_uid(text: str, ref: ClaimRef) -> ClaimUid:
    """Return a claim's UID. Raises: ClaimUnusable where it may not be used in file names."""
    if not is_uid(text):
        raise ClaimUnusable("use", f"claim {ref}", f"its UID {text[:80]!r} {UID_RULE}")
    return ClaimUid(text)
