"""What the Secret holds, read and written. Pure.

The names in it are those of a Secret of cert-manager, and ``ca.key``. What cannot be read is told in one
sentence and counts as missing, so that a damaged Secret is made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controller.certificates.making import AUTHORITY_NAME, Leaf, Signer, key_pem_of, pem_of

CA_CERTIFICATES: Final = "ca.crt"
CA_KEY: Final = "ca.key"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
_MOST_AUTHORITIES: Final = 4
"""Also where somebody damages the Secret again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The certificates of the webhook.

    Shape: ``authorities`` are to be trusted, the oldest first; ``signer`` is one of them, ``leaf`` was signed
           by one of them. ``problems`` says in sentences what could not be read.
    """

    authorities: tuple[x509.Certificate, ...] = ()
    signer: Signer | None = None
    leaf: Leaf | None = None
    problems: tuple[str, ...] = ()

    def issuer_of_leaf(self) -> x509.Certificate | None:
        """Return the authority that signed the leaf, None where it is not here."""
        if self.leaf is None:
            return None
        leaf = self.leaf.certificate
        return next((one for one in self.authorities if _has_signed(one, leaf)), None)


def read_stored(data: Mapping[str, bytes]) -> Stored:
    """Return what the data of a Secret mean. It never fails."""
    problems = list[str]()
    authorities = read_certificates(data.get(CA_CERTIFICATES, b""))
    if not authorities:
        problems.append(_problem(data, CA_CERTIFICATES, "certificates in PEM form"))
    ca_key = _key(data, CA_KEY, problems)
    signer = next((Signer(one, ca_key) for one in authorities if ca_key and _fits(one, ca_key)), None)
    if ca_key and authorities and signer is None:
        problems.append(f"{CA_KEY} is not the key of a certificate in {CA_CERTIFICATES}")
    certificates, key = read_certificates(data.get(CERTIFICATE, b"")), _key(data, KEY, problems)
    leaf = Leaf(certificates[0], key) if certificates and key and _fits(certificates[0], key) else None
    if not certificates:
        problems.append(_problem(data, CERTIFICATE, "a certificate in PEM form"))
    elif key and leaf is None:
        problems.append(f"{KEY} is not the key of {CERTIFICATE}")
    return Stored(authorities=authorities, signer=signer, leaf=leaf, problems=tuple(problems))


def data_of(stored: Stored) -> dict[str, bytes]:
    """Return the data of a Secret. Shape: signer and leaf must be there."""
    assert stored.signer is not None
    assert stored.leaf is not None
    return {
        CA_CERTIFICATES: bundle(stored.authorities),
        CA_KEY: key_pem_of(stored.signer.key),
        CERTIFICATE: pem_of(stored.leaf.certificate),
        KEY: key_pem_of(stored.leaf.key),
    }


def read_certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a text without those of unknown kinds; none where it cannot be read."""
    try:
        return tuple(one for one in x509.load_pem_x509_certificates(pem) if _is_readable(one))
    except ValueError:
        return ()


def bundle(authorities: Iterable[x509.Certificate]) -> bytes:
    """Return certificates as one text."""
    return b"".join(pem_of(one) for one in authorities)


def together(
    ours: Iterable[x509.Certificate], others: Iterable[x509.Certificate], now: datetime
) -> tuple[x509.Certificate, ...]:
    """Return authorities of ours that are trusted together: those that have not ended, the newest ones.

    Shape: the oldest first. Of ``others`` only those with our name count: somebody else wrote the rest.
    """
    named = {one for one in others if _common_name(one) == AUTHORITY_NAME}
    valid = [one for one in named | set(ours) if one.not_valid_after_utc > now]
    valid.sort(key=lambda one: (one.not_valid_before_utc, one.serial_number))
    return tuple(valid[-_MOST_AUTHORITIES:])


def dns_names(leaf: Leaf) -> tuple[str, ...]:
    """Return the DNS names for which a certificate is valid."""
    try:
        names = leaf.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return ()
    return tuple(names.value.get_values_for_type(x509.DNSName))


def _key(data: Mapping[str, bytes], name: str, problems: list[str]) -> ec.EllipticCurvePrivateKey | None:
    """Return a private key. What the library says of it is not told: it could be a part of the key."""
    try:
        key = serialization.load_pem_private_key(data.get(name, b""), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key
    problems.append(_problem(data, name, "an elliptic curve's private key in PEM form"))
    return None


def _problem(data: Mapping[str, bytes], name: str, wanted: str) -> str:
    return f"{name} is not {wanted}" if data.get(name) else f"{name} is missing"


def _is_readable(certificate: x509.Certificate) -> bool:
    """Whether the parts that are used can be read: the library reads each when it is asked for."""
    try:
        certificate.public_key()
        _common_name(certificate)
        return certificate.not_valid_before_utc <= certificate.not_valid_after_utc
    except (ValueError, UnsupportedAlgorithm):
        return False


def _fits(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> bool:
    return certificate.public_key() == key.public_key()


def _has_signed(authority: x509.Certificate, leaf: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""
