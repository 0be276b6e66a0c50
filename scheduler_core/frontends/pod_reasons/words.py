"""Amounts and selectors of pods as their manifests write them, and the memory of GPUs."""

from __future__ import annotations

from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.annotations.labels import LabelRequirement
from scheduler_core.frontends.pods.amounts import MEMORY
from scheduler_core.frontends.pods.cards import Card
from scheduler_core.model.names import qualified

_OPERATORS: Final = {"In": "in", "NotIn": "not in", "Exists": "exists", "DoesNotExist": "does not exist"}


def amount_text(name: str, amount: int) -> str:
    """Return an amount as manifests write it, memory as in ``10Gi``. Units: bytes, percent or devices."""
    return str(Quantity.bytes_of(amount)) if name == MEMORY else str(amount)


def requirement_text(one: LabelRequirement) -> str:
    """Return a requirement of a label selector, as kubectl writes it."""
    if one.operator == "In" and len(one.values) == 1:
        return f"{one.key}={one.values[0]}"
    values = f" ({', '.join(one.values)})" if one.values else ""
    return f"{one.key} {_OPERATORS[one.operator]}{values}"


def memory_of(card: Card) -> int | None:
    """Return the memory of a GPU in bytes, None where it is not published."""
    for one in card.devices:
        for name in (MEMORY, str(qualified("memory", one.id.driver))):
            found = {str(key): value for key, value in one.capacity.items()}.get(name)
            if found is not None:
                return found.whole
    return None
