"""The amount of a shareable device's capacity that one request consumes.

Source: KEP-5075, requestPolicy; upstream v0.37.2, ``consumable_capacity.go``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Final

from scheduler_core.base.quantity import NANO, Quantity
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.policy import RequestPolicy

_MILLI: Final = NANO // 1000
_MOST: Final = 2**63 - 1
"""Kubernetes rounds in integers of 64 bits: of whole units, or of thousandths."""


class BadAmount(Exception):
    """An amount of a request that Kubernetes cannot apply to a device: it fails the claim.

    Shape: ``amount`` is the name of the capacity, as the request writes it, with the amount.
    """

    def __init__(self, amount: str, reason: str) -> None:
        self.amount = amount
        self.reason = reason
        super().__init__(f"{amount}: {reason}")


class NotRepresentable(Exception):
    """An amount, or what it is rounded up to, is too large or too fine for Kubernetes' arithmetic."""


Asked = Iterable[tuple[str, Quantity]]
"""What a request asks of each capacity, by the names that it writes."""


def resolved(
    asked: Asked, driver: str, capacity: Container[QualifiedName]
) -> Mapping[QualifiedName, tuple[str, Quantity]] | None:
    """Return what is asked of each capacity of a device; None if it lacks one of them.

    Raises: BadAmount for a capacity that is asked for both with the driver's domain and without it.
    """
    found: dict[QualifiedName, tuple[str, Quantity]] = {}
    for key, amount in asked:
        name = qualified(key, driver)
        if name not in capacity:
            return None
        if name in found:
            raise BadAmount(f"{key}={amount}", f"the capacity is requested as {found[name][0]} too")
        found[name] = (key, amount)
    return found


def share_of(
    wanted: Mapping[QualifiedName, tuple[str, Quantity]],
    capacity: Mapping[QualifiedName, Quantity],
    policies: Mapping[QualifiedName, RequestPolicy],
    *,
    fractions: bool,
) -> dict[QualifiedName, Quantity] | None:
    """Return what a request consumes of each capacity of a shareable device; None if it is too much.

    Raises: BadAmount for an amount that cannot be rounded, even if another one is too much.
    """
    amounts: dict[QualifiedName, Quantity] = {}
    for name, value in capacity.items():
        key, asked = wanted.get(name, ("", None))
        try:
            amount = consumed(asked, value, policies.get(name), fractions=fractions)
        except NotRepresentable as problem:
            raise BadAmount(f"{key}={asked}", str(problem)) from None
        if amount is not None and amount <= value:
            amounts[name] = amount
    return amounts if len(amounts) == len(capacity) else None


def consumed(
    wanted: Quantity | None, value: Quantity, policy: RequestPolicy | None, *, fractions: bool = True
) -> Quantity | None:
    """Return what a request for ``wanted`` consumes of a capacity of ``value``; None where it is too much.

    A request without an amount consumes the default, or everything. Amounts are rounded up to what the
    policy allows; without ``fractions`` (DRAFractionalCapacityRange) steps are whole units.
    Raises: NotRepresentable where Kubernetes cannot round the amount.
    """
    if wanted is None:
        return policy.default if policy is not None and policy.default is not None else value
    if policy is None:
        return wanted
    if policy.values:
        return next((allowed for allowed in policy.values if allowed >= wanted), None)
    if policy.least is not None:
        return _in_range(wanted, policy.least, policy, fractions)
    return wanted


def _in_range(wanted: Quantity, least: Quantity, policy: RequestPolicy, fractions: bool) -> Quantity | None:
    rounded = least if wanted < least else wanted
    if policy.step is not None and policy.step.nano > 0 and wanted >= least:
        rounded = _rounded(wanted, least, policy.step, _unit(least, policy, fractions))
    return rounded if policy.most is None or rounded <= policy.most else None


def _unit(least: Quantity, policy: RequestPolicy, fractions: bool) -> int:
    """Return the unit of the arithmetic: thousandths only if they express the whole range exactly.

    Units: billionths.
    """
    bounds = [one for one in (least, policy.most, policy.step) if one is not None]
    is_exact = all(one.nano % _MILLI == 0 and one.nano // _MILLI <= _MOST for one in bounds)
    return _MILLI if fractions and is_exact else NANO


def _rounded(wanted: Quantity, least: Quantity, step: Quantity, unit: int) -> Quantity:
    """Return an amount rounded up to the next step from the least one, in whole units."""
    if wanted.nano > _MOST * unit or (unit == _MILLI and wanted.nano % unit):
        raise NotRepresentable(f"{wanted} is not a 64-bit number of {_name(unit)}")
    first, width, amount = (-(-one.nano // unit) for one in (least, step, wanted))
    rounded = first + -(-(amount - first) // width) * width
    if rounded > _MOST:
        raise NotRepresentable(f"{wanted} rounds up to more than {_MOST} {_name(unit)}")
    return Quantity(rounded * unit, step.family)


def _name(unit: int) -> str:
    return "thousandths" if unit == _MILLI else "units"
