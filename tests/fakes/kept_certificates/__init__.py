"""A Secret and the trust of API servers in memory, a clock, and checks as a TLS client makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from controller.certificates.keeper import Keeper
from controller.certificates.life import Life
from controller.certificates.ports import CertificateError, Found
from controller.certificates.stored import read_certificates

NAMES = ("webhook.tangram.svc", "webhook.tangram.svc.cluster.local")
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Cluster:
    """One cluster. Shape: ``data`` None where there is no Secret; ``log`` has each write in its order."""

    now: datetime = START
    data: dict[str, bytes] | None = None
    trusted: list[bytes] = field(default_factory=lambda: [b""])
    log: list[str] = field(default_factory=list)
    version: int = 0

    def read(self) -> Found | None:
        return None if self.data is None else Found(dict(self.data), str(self.version))

    def write(self, data: Mapping[str, bytes], found: Found | None) -> None:
        if (found.version if found else None) != (None if self.data is None else str(self.version)):
            raise CertificateError("somebody else wrote it")
        self.data, self.version = dict(data), self.version + 1
        self.log.append("secret")

    def bundles(self) -> tuple[bytes, ...]:
        return tuple(self.trusted)

    def trust(self, bundle: bytes) -> None:
        self.trusted = [bundle for _ in self.trusted]
        self.log.append("trust")

    @property
    def leaf(self) -> bytes:
        assert self.data is not None
        return self.data["tls.crt"]

    def keeper(self, life: Life | None = None) -> Keeper:
        """A process that has just become the leader."""

        def wall_clock() -> float:
            return self.now.timestamp()

        def clock() -> float:
            return (self.now - START).total_seconds()

        return Keeper(
            self,
            self,
            NAMES,
            may_write=lambda: True,
            wall_clock=wall_clock,
            clock=clock,
            life=life,
        )

    def settle(self, keeper: Keeper) -> None:
        """Let the leader look until nothing is due at once."""
        turns = 0
        while keeper.turn() == 0.0:
            turns += 1
            assert turns < 5, "the leader never comes to rest"

    def later(self, **by: float) -> None:
        self.now += timedelta(**by)


def accepts(bundle: bytes, leaf: bytes, now: datetime, name: str = NAMES[0]) -> bool:
    """Whether a TLS client that trusts a bundle takes a certificate: the library's verifier, not our code."""
    authorities = read_certificates(bundle)
    if not authorities:
        return False
    policy = PolicyBuilder().store(Store(list(authorities))).time(now)
    try:
        policy.build_server_verifier(x509.DNSName(name)).verify(read_certificates(leaf)[0], [])
    except VerificationError:
        return False
    return True


def key_lines(pem: bytes) -> list[str]:
    """Return what of a private key must be in no message."""
    key = serialization.load_pem_private_key(pem, password=None)
    assert key is not None
    return [line for line in pem.decode().splitlines() if not line.startswith("---")]
