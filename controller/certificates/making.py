"""Makes keys and certificates: an authority, and certificates for the webhook that it signs.

Takes names and times; returns certificates. The only randomness is that of keys and serial numbers.
Source: RFC 5280; Go's crypto/x509, which is the client, takes no certificate without subjectAltName.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from controller.certificates.life import Life

AUTHORITY_NAME: Final = "tangram-webhook-ca"
_LEAF_NAME: Final = "tangram-webhook"


@dataclass(frozen=True, slots=True)
class Signer:
    """An authority that can sign."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate of the webhook with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """Return the DNS names of a Service. API servers use the first one."""
    return tuple(f"{service}.{namespace}.svc{suffix}" for suffix in ("", ".cluster.local"))


def new_authority(now: datetime, life: Life) -> Signer:
    """Make an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _certificate(AUTHORITY_NAME, AUTHORITY_NAME, key, now - life.backdate, now + life.authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Signer(builder.sign(key, hashes.SHA256()), key)


def new_leaf(signer: Signer, names: Sequence[str], now: datetime, life: Life) -> Leaf:
    """Make a certificate for DNS names. It ends with its authority at the latest."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = signer.key.public_key()
    ends = min(now + life.leaf, signer.certificate.not_valid_after_utc)
    builder = (
        _certificate(_LEAF_NAME, AUTHORITY_NAME, key, now - life.backdate, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
    )
    return Leaf(builder.sign(signer.key, hashes.SHA256()), key)


def pem_of(certificate: x509.Certificate) -> bytes:
    """Return a certificate as text."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as text. It goes into the Secret and nowhere else."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificate(
    subject: str, issuer: str, key: ec.EllipticCurvePrivateKey, begins: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
