"""What the certificates need of an API server: one Secret, and the webhook configurations that trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class CertificateError(Exception):
    """A call failed; it is repeated. The message says on which object, why, and who acts."""


@dataclass(frozen=True, slots=True)
class Found:
    """A Secret as it was read. Shape: ``version`` is the server's."""

    data: Mapping[str, bytes] = field(repr=False)
    version: str


class Secrets(Protocol):
    """One Secret."""

    def read(self) -> Found | None:
        """Return the Secret, None where there is none. Raises: CertificateError."""
        ...

    def write(self, data: Mapping[str, bytes], found: Found | None) -> None:
        """Store data in the Secret if it is as it was found; create it where there was none.

        Raises: CertificateError, also where somebody else wrote it meanwhile.
        """
        ...


class Trust(Protocol):
    """What API servers trust when they call the webhook."""

    def bundles(self) -> tuple[bytes, ...]:
        """Return the certificates of the authorities that each entry trusts. Raises: CertificateError."""
        ...

    def trust(self, bundle: bytes) -> None:
        """Let every entry trust these authorities and no others. Raises: CertificateError."""
        ...
