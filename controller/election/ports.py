"""What an election needs of an API server: one Lease object."""

from __future__ import annotations

from typing import Protocol

from controller.election.values import Lease


class LeaseError(Exception):
    """A call about the Lease failed, and nobody knows whether it had an effect. The message says who acts."""


class LeaseOutdated(LeaseError):
    """The write was refused: the Lease is not as it was read, is gone, or exists already."""


class Leases(Protocol):
    """One Lease object, for one thread. A call must not take longer than ``Times.longest_write_s``."""

    def read(self) -> Lease | None:
        """Return the Lease, None where there is none. Raises: LeaseError."""
        ...

    def create(self, holder: str, lasts_s: float) -> Lease:
        """Create the Lease with its holder. Raises: LeaseOutdated where it exists; LeaseError."""
        ...

    def write(self, lease: Lease, holder: str, lasts_s: float) -> Lease:
        """Store a holder if the Lease still has the version of ``lease``; empty gives it back.

        Raises: LeaseOutdated; LeaseError.
        """
        ...
