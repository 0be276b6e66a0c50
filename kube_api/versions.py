"""The order of resource versions. Pure.

Source: KEP-5504, "Comparable Resource Version": versions of one kind are decimal numbers that grow with every
write. Versions that are no numbers have no order: only whether they are equal is known.
"""

from __future__ import annotations


def is_older(version: str, known: str) -> bool:
    """Whether ``version`` certainly comes before ``known``."""
    return version.isdecimal() and known.isdecimal() and int(version) < int(known)


def newest(version: str, known: str) -> str:
    """Return the later of two versions; without an order, or where one is missing, the one that is there."""
    return known if not version or is_older(version, known) else version
