"""The error of a configuration, and the words that say for which requests it was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.base.errors import InvalidInput

ALL_REQUESTS: Final = "all requests"


class InvalidConfig(InvalidInput):
    """A configuration that its author must correct, or that this version cannot carry out.

    Shape: ``subject`` is the requests that it is for, ``field`` begins with its kind: ``VfConfig.vlan.id``.
    """


def requests_text(requests: Sequence[str], *, from_class: bool = False) -> str:
    """Return for which requests a configuration was written; none means all requests."""
    named = ", ".join(requests)
    text = ALL_REQUESTS if not requests else f"request{'s' if len(requests) > 1 else ''} {named}"
    return f"{text} (from the class)" if from_class else text
