"""Numbers with their nouns."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return ``1 GPU``, ``8 GPUs``, ``no GPU``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {plural or noun + 's'}" if count else f"no {noun}"
