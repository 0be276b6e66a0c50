"""Request policies of shareable devices. Source: KEP-5075, requestPolicy."""

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
