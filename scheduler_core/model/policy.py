"""The amount of a shareable device's capacity that one request consumes. Source: KEP-5075, requestPolicy."""

from __future__ import annotations

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicy:
    """The amounts of one capacity that a request may consume.

    Shape: either ``values`` in ascending order, or a range from ``least`` in steps of ``step`` up to
           ``most``, or neither where any amount is allowed. ``default`` is for a request without an amount.
    """

    default: Quantity | None = None
    values: tuple[Quantity, ...] = ()
    least: Quantity | None = None
    most: Quantity | None = None
    step: Quantity | None = None


def consumed(wanted: Quantity | None, value: Quantity, policy: RequestPolicy | None) -> Quantity | None:
    """Return what a request for ``wanted`` consumes of a capacity of ``value``; None where it is too much.

    A request without an amount consumes the default, or everything. Amounts are rounded up to what the
    policy allows.
    """
    if wanted is None:
        return policy.default if policy is not None and policy.default is not None else value
    if policy is None:
        return wanted
    if policy.values:
        return next((allowed for allowed in policy.values if allowed >= wanted), None)
    if policy.least is not None:
        return _in_range(wanted, policy.least, policy)
    return wanted


def _in_range(wanted: Quantity, least: Quantity, policy: RequestPolicy) -> Quantity | None:
    rounded = max(wanted, least)
    if policy.step is not None and policy.step.nano > 0:
        steps = -(-(rounded.nano - least.nano) // policy.step.nano)
        rounded = Quantity(least.nano + steps * policy.step.nano, wanted.family)
    return rounded if policy.most is None or rounded <= policy.most else None
