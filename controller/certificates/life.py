"""How long certificates last and when they are replaced. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The life times.

    Shape: ``backdate`` is how far the clocks of two machines may be apart; what has less than ``renew_share``
           of its time left is replaced; a new authority must have been trusted for ``settle`` before a
           certificate of it is used, unless the present one ends within ``urgent``.
    """

    authority: timedelta = timedelta(days=365)
    leaf: timedelta = timedelta(days=90)
    backdate: timedelta = timedelta(days=1)
    renew_share: float = 1 / 3
    settle: timedelta = timedelta(minutes=10)
    urgent: timedelta = timedelta(days=2)

    def renew_at(self, begins: datetime, ends: datetime) -> datetime:
        """Return when something that is valid from ``begins`` to ``ends`` is replaced."""
        return ends - (ends - begins) * self.renew_share
