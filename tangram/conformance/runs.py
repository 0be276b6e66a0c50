"""The result of a case of any kind: an answer, and how it differs from what the case wants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol


class Run(Protocol):
    """One case, answered."""

    @property
    def answer(self) -> Any:
        """Return the answer in the case's own form, as JSON says it."""
        ...

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield a line for each way in which the answer is not the expected one."""
        ...

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield a line for each way in which the answer is not acceptable."""
        ...


def unequal(what: str, expected: object, found: object) -> Iterator[str]:
    """Yield a line about two values that differ, nothing where they are equal."""
    if expected != found:
        yield f"{what}: expected {_shown(expected)}, found {_shown(found)}"


def _shown(value: object, limit: int = 300) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"
