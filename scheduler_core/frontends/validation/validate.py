"""Judges documents: every claim, class and pod, by the rules of the API, of the core and of the plugin.

Takes documents; returns findings. Slices and classes among the documents say which devices and classes there
are; what they leave open is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import subject_of
from scheduler_core.frontends.configuration.check import (
    allocated_problems,
    daemon_uses,
    unprepared_devices,
)
from scheduler_core.frontends.configuration.device_rules import DaemonUse
from scheduler_core.frontends.validation.configs import ClaimConfigs, config_findings
from scheduler_core.frontends.validation.documents import ReadClaim, ReadDocuments, read_documents
from scheduler_core.frontends.validation.finding import Finding, Reporter
from scheduler_core.frontends.validation.known_devices import KnownDevices
from scheduler_core.frontends.validation.pod_specs import KnownClaim, pod_findings
from scheduler_core.frontends.validation.requests import (
    Classes,
    JudgedRequest,
    judged_requests,
    selector_findings,
)
from scheduler_core.model.claim import AllocatedClaim, DeviceClass


def validate(
    documents: Sequence[Document], driver: str, usual: Sequence[DeviceClass] = ()
) -> tuple[Finding, ...]:
    """Return everything that is wrong with documents, in their order.

    Shape: ``usual`` are the classes that count where the documents have none.
    """
    read = read_documents(documents)
    known = KnownDevices(read.pools, driver)
    found = [*read.findings, *_of_classes(read, known)]
    classes = Classes(_classes(read, usual), bool(read.classes))
    claims: dict[str, KnownClaim] = {}
    for claim in read.claims:
        requests = judged_requests(claim, classes, known)
        found += _of_claim(claim, requests, known)
        claims[_subject(claim.document)] = KnownClaim(claim, tuple(_daemon_uses(claim, requests, known)))
    for pod in read.pods:
        found += pod_findings(pod, claims)
    order = {document.place: index for index, document in enumerate(documents)}
    return tuple(sorted(found, key=lambda one: order[one.place]))


def _classes(read: ReadDocuments, usual: Sequence[DeviceClass]) -> Mapping[str, DeviceClass]:
    given = {name: device_class for name, (device_class, _) in read.classes.items()}
    return given or {one.name: one for one in usual}


def _subject(document: Document) -> str:
    return subject_of(document.content, str(document.content["kind"]))


def _of_classes(read: ReadDocuments, known: KnownDevices) -> Iterator[Finding]:
    for device_class, document in read.classes.values():
        report = Reporter(document)
        _, findings = selector_findings(device_class.selectors, "spec", "class", known, report)
        yield from findings
        configs = [replace(one, from_class=True) for one in device_class.configs]
        yield from config_findings(configs, "spec.config", known.driver, report)


def _daemon_uses(
    read: ReadClaim, requests: Sequence[JudgedRequest], known: KnownDevices
) -> Iterator[DaemonUse]:
    if read.allocated is None:
        return ClaimConfigs(read, requests, known).daemon_uses()
    return daemon_uses(read.allocated, known.driver, known.pools)


def _of_claim(read: ReadClaim, requests: Sequence[JudgedRequest], known: KnownDevices) -> Iterator[Finding]:
    for request in requests:
        yield from request.findings
    if read.allocated is None:
        yield from ClaimConfigs(read, requests, known).findings()
    else:
        yield from _of_allocation(read.allocated, Reporter(read.document), known)


def _of_allocation(claim: AllocatedClaim, report: Reporter, known: KnownDevices) -> Iterator[Finding]:
    """Yield what the plugin would refuse when the kubelet asks for the claim."""
    path = "status.allocation.devices"
    for problem in allocated_problems(claim, known.driver, known.pools):
        yield report.error(f"{path}.config", str(problem))
    for result, reason in unprepared_devices(claim, known.driver, known.pools):
        yield report.error(f"{path}.results", f"device {result.device}: {reason}")
