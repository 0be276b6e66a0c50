"""PURE: which part of a device one claim has, where several claims have the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import domain_and_identifier, qualified


@dataclass(frozen=True, slots=True)
class Share:
    """One share. Shape: ``id`` as the allocation names it; ``amounts`` by capacity with its domain."""

    id: str
    amounts: Mapping[QualifiedName, Quantity] = field(default_factory=dict)

    @classmethod
    def of_result(cls, share_id: str, consumed: Mapping[str, Quantity], driver: str) -> Self:
        """Return the share of an allocation's result, which may leave the driver's domain out."""
        return cls(share_id, {qualified(key, driver): amount for key, amount in consumed.items()})

    @classmethod
    def of_texts(cls, share_id: str, amounts: Mapping[str, str]) -> Self:
        """Return a share from texts that ``as_texts`` made."""
        return cls(share_id, {QualifiedName(key): Quantity.parse(text) for key, text in amounts.items()})

    @classmethod
    def together(cls, shares: Sequence[Share]) -> Self:
        """Return several shares of one device as one, under the id of the first."""
        amounts: dict[QualifiedName, Quantity] = {}
        for share in shares:
            for name, amount in share.amounts.items():
                amounts[name] = amount.plus(amounts[name]) if name in amounts else amount
        return cls(shares[0].id, amounts)

    def as_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the amounts as texts, sorted."""
        return ((key, str(amount)) for key, amount in sorted(self.amounts.items()))

    def whole(self, identifier: str) -> int | None:
        """Return the amount of the capacity of an identifier, rounded up; None where it is not known."""
        for name, amount in self.amounts.items():
            if domain_and_identifier(name)[1] == identifier:
                return amount.whole
        return None
