"""Decides what is to be done about the certificates now. Pure; the time is an argument.

An authority is trusted before it signs anything that is served, and until it ends. So nobody has to know
which process still serves which certificate.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cryptography import x509

from controller.certificates.life import Life
from controller.certificates.making import new_authority, new_leaf
from controller.certificates.stored import Stored, dns_names, together


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing is to be done before a time."""

    until: datetime


@dataclass(frozen=True, slots=True)
class RenewLeaf:
    """A new certificate of the present authority. Shape: ``reason`` is a part of a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class NewAuthority:
    """A new authority beside the old ones.

    Shape: ``with_leaf`` says that it signs a certificate at once, since the present one cannot be used.
    """

    reason: str
    with_leaf: bool


@dataclass(frozen=True, slots=True)
class Tidy:
    """Authorities that have ended are left out."""

    reason: str = "an authority has ended"


Step = Keep | RenewLeaf | NewAuthority | Tidy


def plan(
    stored: Stored, names: Sequence[str], now: datetime, settled: Collection[x509.Certificate], life: Life
) -> Step:
    """Return what to do.

    Shape: ``names`` are the DNS names that the certificate must have; ``settled`` are the authorities that
           API servers have trusted for long enough.
    """
    wrong_leaf = _what_is_wrong(stored, names, now, life)
    if (reason := _why_new_authority(stored, now, life)) is not None:
        if wrong_leaf is not None and _can_sign(stored, now, life):
            return RenewLeaf(wrong_leaf)  # everybody trusts the present authority, and not yet a new one
        return NewAuthority(reason, with_leaf=wrong_leaf is not None)
    if wrong_leaf is not None:
        return RenewLeaf(wrong_leaf)
    assert stored.signer is not None
    assert stored.leaf is not None
    signer, leaf = stored.signer.certificate, stored.leaf.certificate
    leaf_at = life.renew_at(leaf.not_valid_before_utc, leaf.not_valid_after_utc)
    is_by_another = stored.issuer_of_leaf() != signer
    if (is_by_another or now >= leaf_at) and signer in settled:
        reason = "its authority is replaced" if is_by_another else f"it ends on {_day(leaf)}"
        return RenewLeaf(reason)
    if any(one.not_valid_after_utc <= now for one in stored.authorities):
        return Tidy()
    if is_by_another or now >= leaf_at:
        return Keep(now + life.settle)
    signer_at = life.renew_at(signer.not_valid_before_utc, signer.not_valid_after_utc)
    return Keep(min(leaf_at, signer_at, *(one.not_valid_after_utc for one in stored.authorities)))


def carried_out(step: Step, stored: Stored, names: Sequence[str], now: datetime, life: Life) -> Stored:
    """Return what is to be stored after a step."""
    match step:
        case Keep():
            return stored
        case Tidy():
            return replace(stored, authorities=together(stored.authorities, (), now), problems=())
        case NewAuthority(with_leaf=with_leaf):
            signer = new_authority(now, life)
            authorities = together((*stored.authorities, signer.certificate), (), now)
            leaf = new_leaf(signer, names, now, life) if with_leaf else stored.leaf
            return Stored(authorities=authorities, signer=signer, leaf=leaf)
        case RenewLeaf():
            assert stored.signer is not None
            authorities = together(stored.authorities, (), now)
            leaf = new_leaf(stored.signer, names, now, life)
            return Stored(authorities=authorities, signer=stored.signer, leaf=leaf)


def _why_new_authority(stored: Stored, now: datetime, life: Life) -> str | None:
    if stored.signer is None:
        return "there is none that can sign"
    one = stored.signer.certificate
    if now < one.not_valid_before_utc:
        return "the present one is not valid yet"
    if now >= life.renew_at(one.not_valid_before_utc, one.not_valid_after_utc):
        return f"the present one ends on {_day(one)}"
    return None


def _can_sign(stored: Stored, now: datetime, life: Life) -> bool:
    """Whether what the present authority signs can be used until a new one is trusted."""
    if stored.signer is None:
        return False
    one = stored.signer.certificate
    return one.not_valid_before_utc <= now < one.not_valid_after_utc - life.urgent


def _what_is_wrong(stored: Stored, names: Sequence[str], now: datetime, life: Life) -> str | None:
    """Return why the certificate must be replaced at once, None where it can be used."""
    if stored.leaf is None:
        return "there is none that can be used"
    leaf, issuer = stored.leaf.certificate, stored.issuer_of_leaf()
    if issuer is None or issuer.not_valid_after_utc <= now:
        return "no trusted authority has signed it"
    if missing := set(names) - set(dns_names(stored.leaf)):
        return f"it is not valid for {min(missing)}"
    if now < leaf.not_valid_before_utc:
        return "it is not valid yet"
    if now >= leaf.not_valid_after_utc - life.urgent:
        return f"it ends on {_day(leaf)}"
    return None


def _day(certificate: x509.Certificate) -> str:
    return f"{certificate.not_valid_after_utc:%Y-%m-%d}"
