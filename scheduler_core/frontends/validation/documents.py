"""Reads documents one by one; what cannot be read is a finding, and the others are still judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from scheduler_core.base.errors import CoreError, InvalidInput
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_claim
from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import subject_of
from scheduler_core.frontends.classes.decode import (
    CLASS_KIND,
    DEVICES_KIND,
    decode_node_devices,
    decode_resource_class,
)
from scheduler_core.frontends.classes.model import ClassDevice, ResourceClass
from scheduler_core.frontends.objects import KINDS, decode_object
from scheduler_core.frontends.partitions.device_value import DeviceObject
from scheduler_core.frontends.partitions.node_table import NodeTable, node_table_of
from scheduler_core.frontends.validation.finding import Finding, Reporter
from scheduler_core.frontends.validation.slices import SLICES, Slices
from scheduler_core.model.claim import AllocatedClaim, Claim, DeviceClass

Judge = Callable[[Document], Iterable[Finding]]
"""Says what is wrong with a document by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """What the core cannot judge.

    Shape: ``schema`` judges a document by the schema of its kind, ``kinds`` documents of further kinds;
           ``group_of`` reads what a pod says of its group, and raises InvalidPod.
    """

    schema: Judge = lambda _: ()
    kinds: Mapping[str, Judge] = field(default_factory=dict)
    group_of: Callable[[Mapping[str, Any]], object] = lambda _: None


POD_KINDS: Final = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")
"""Objects with a pod's spec."""
_OURS: Final = (CLASS_KIND, DEVICES_KIND)
_NO_OBJECT: Final = "documents that are not objects of an API"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClaim:
    """A claim or template. Shape: ``devices`` is the path of ``spec.devices``; ``allocated`` may be None."""

    document: Document
    claim: Claim
    devices: str
    allocated: AllocatedClaim | None = None


@dataclass(slots=True)
class ReadDocuments:
    """What documents say.

    Shape: classes by name, each with its document; ``listed`` are the devices of NodeDevices; ``pods`` are
           not read yet; ``published`` are the slices that MultiNodePools become; ``skipped`` counts the
           documents that are not judged by their kind.
    """

    findings: list[Finding] = field(default_factory=list)
    claims: list[ReadClaim] = field(default_factory=list)
    classes: dict[str, tuple[DeviceClass, Document]] = field(default_factory=dict)
    resource_classes: list[tuple[ResourceClass, Document]] = field(default_factory=list)
    listed: list[ClassDevice] = field(default_factory=list)
    pods: list[Document] = field(default_factory=list)
    slices: Slices = field(default_factory=Slices)
    published: tuple[Document, ...] = ()
    skipped: Counter[str] = field(default_factory=Counter)


def read_documents(documents: Sequence[Document], others: Mapping[str, Judge], driver: str) -> ReadDocuments:
    """Read documents. Shape: findings in the order of the documents; ``others`` judge further kinds."""
    found = ReadDocuments()
    places: dict[str, str] = {}
    for document in documents:
        content = document.content
        kind, report = str(content.get("kind")), Reporter(document)
        if _is_skipped(content, others):
            found.skipped[kind if content.get("kind") else _NO_OBJECT] += 1
            continue
        metadata = content.get("metadata")
        if isinstance(metadata, Mapping) and metadata.get("name"):
            name = subject_of({"metadata": {"namespace": "default", **metadata}}, kind)
            first = places.setdefault(name, document.place)
            if first != document.place:
                found.findings.append(report.error("metadata.name", f"is given twice, first at {first}"))
                continue
        if kind in others:
            found.findings += others[kind](document)
        elif kind in POD_KINDS:
            found.pods.append(document)
        else:
            found.findings += _read(document, found, driver)
    allocated = (one.allocated for one in found.claims)
    found.published = found.slices.finish(tuple(one for one in allocated if one is not None))
    found.findings += found.slices.findings()
    return found


def _is_skipped(content: Mapping[str, Any], others: Mapping[str, Judge]) -> bool:
    """Whether an object is of a kind that is not judged, as that of another project with the same name."""
    kind, group = content.get("kind"), str(content.get("apiVersion", "")).rpartition("/")[0]
    if not kind:
        return not content.keys() & {"apiVersion", "kind", "metadata", "spec"}
    if kind not in (*KINDS, *POD_KINDS, *_OURS, *others):
        return True
    is_of_kubernetes = "." not in group or group.endswith(".k8s.io")
    return not is_of_kubernetes and group not in ("tangram.dev", "scheduling.koordinator.sh")


def _read(document: Document, found: ReadDocuments, driver: str) -> Iterator[Finding]:
    """Read one document into ``found``. Yield why it cannot be read, and which parts of it are not used."""
    report, kind = Reporter(document), document.content.get("kind")
    try:
        if kind in SLICES:
            found.slices.read(document, driver)
            return
        if kind in _OURS:
            _read_ours(document, found)
            return
        decoded = decode_object(document)
        if isinstance(decoded, DeviceClass):
            found.classes[decoded.name] = (decoded, document)
        elif isinstance(decoded, Claim | AllocatedClaim):
            found.claims.append(_claim(document, decoded))
        elif kind == "Node":
            yield from _respelled(report, node_table_of(document.content))
        elif isinstance(decoded, DeviceObject):
            yield from _respelled(report, decoded.table)
    except CoreError as error:
        cause = error if error.__cause__ is None else error.__cause__
        if isinstance(cause, InvalidInput) and cause.subject == report.subject:
            yield report.refused(cause)
        elif isinstance(cause, InvalidInput):  # it is about an annotation, which its subject names
            yield report.error("metadata.annotations", str(cause).removeprefix(f"{report.subject}: "))
        else:
            yield report.error("", str(getattr(error, "reason", error)))


def _respelled(report: Reporter, found: NodeTable) -> Iterator[Finding]:
    """Yield the spellings of a table that are read although Koordinator's structure has others."""
    for text in found.table.warnings if found.table is not None else ():
        yield report.warning("metadata.annotations", text.removeprefix(f"{report.subject}: "))


def _read_ours(document: Document, found: ReadDocuments) -> None:
    if document.content["kind"] == CLASS_KIND:
        found.resource_classes.append((decode_resource_class(document.content), document))
    else:
        found.listed += decode_node_devices(document.content)[1]


def _claim(document: Document, decoded: Claim | AllocatedClaim) -> ReadClaim:
    claim = decoded if isinstance(decoded, Claim) else decode_claim(document.content)
    is_doubled = document.content["spec"].get("spec") is not None
    return ReadClaim(
        document=document,
        claim=claim,
        devices="spec.spec.devices" if is_doubled else "spec.devices",
        allocated=decoded if isinstance(decoded, AllocatedClaim) else None,
    )
