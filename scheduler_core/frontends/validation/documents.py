"""Reads documents one by one; what cannot be read is a finding, and the others are still judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from scheduler_core.base.errors import CoreError, InvalidInput
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_claim
from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import subject_of
from scheduler_core.frontends.objects import KINDS, decode_object, decode_objects
from scheduler_core.frontends.validation.finding import Finding, Reporter
from scheduler_core.model.claim import AllocatedClaim, Claim, DeviceClass
from scheduler_core.model.pool import Pool

POD_KINDS: Final = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")
"""Objects with a pod's spec."""
_SLICES: Final = ("ResourceSlice", "CompositeResourceSlice")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClaim:
    """A claim or template. Shape: ``devices`` is the path of ``spec.devices``; ``allocated`` may be None."""

    document: Document
    claim: Claim
    devices: str
    allocated: AllocatedClaim | None = None


@dataclass(slots=True)
class ReadDocuments:
    """What documents say. Shape: classes by name, each with its document; ``pods`` are not read yet."""

    findings: list[Finding] = field(default_factory=list)
    claims: list[ReadClaim] = field(default_factory=list)
    classes: dict[str, tuple[DeviceClass, Document]] = field(default_factory=dict)
    pods: list[Document] = field(default_factory=list)
    pools: tuple[Pool, ...] = ()


def read_documents(documents: Sequence[Document]) -> ReadDocuments:
    """Read documents. Shape: findings in the order of the documents."""
    found = ReadDocuments()
    slices: list[Document] = []
    places: dict[str, str] = {}
    for document in documents:
        kind = str(document.content.get("kind"))
        name = subject_of(document.content, kind)
        first = places.setdefault(name, document.place)
        report = Reporter(document)
        if first != document.place:
            found.findings.append(report.error("metadata.name", f"is given twice, first at {first}"))
        elif kind in POD_KINDS:
            found.pods.append(document)
        elif kind not in KINDS and document.content.get("kind"):
            found.findings.append(report.warning("kind", "is not judged: no kind that asks for devices"))
        else:
            found.findings += _read(document, found, slices)
    found.pools = decode_objects(slices).pools()
    return found


def _read(document: Document, found: ReadDocuments, slices: list[Document]) -> Iterator[Finding]:
    """Read one document into ``found``. Yield why it cannot be read, and which parts of it are not used."""
    report = Reporter(document)
    try:
        if document.content.get("kind") in _SLICES:
            yield from (report.error("", problem) for problem in decode_objects([document]).problems())
            slices.append(document)
            return
        decoded = decode_object(document)
        if isinstance(decoded, DeviceClass):
            found.classes[decoded.name] = (decoded, document)
        elif isinstance(decoded, Claim | AllocatedClaim):
            found.claims.append(_claim(document, decoded))
    except CoreError as error:
        cause = error if error.__cause__ is None else error.__cause__
        if isinstance(cause, InvalidInput):
            yield report.refused(cause)
        else:
            yield report.error("", str(getattr(error, "reason", error)))


def _claim(document: Document, decoded: Claim | AllocatedClaim) -> ReadClaim:
    claim = decoded if isinstance(decoded, Claim) else decode_claim(document.content)
    is_template = document.content["spec"].get("spec") is not None
    return ReadClaim(
        document=document,
        claim=claim,
        devices="spec.spec.devices" if is_template else "spec.devices",
        allocated=decoded if isinstance(decoded, AllocatedClaim) else None,
    )
