"""Judges documents: claims, classes, slices and pods, by the rules of the API, the core and the plugin.

Takes documents; returns findings. Slices and classes among the documents say which devices and classes there
are; what they leave open is not judged. If two rules refuse one field, the finding of the rule that the
commands and the controller apply is kept: they refuse with the same sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import subject_of
from scheduler_core.comparison.kube_scheduler import after_admin_access, other_names
from scheduler_core.frontends.classes.advice import advice
from scheduler_core.frontends.classes.published import properties_of
from scheduler_core.frontends.classes.values import Value
from scheduler_core.frontends.configuration.check import (
    allocated_problems,
    daemon_uses,
    unprepared_devices,
)
from scheduler_core.frontends.configuration.device_rules import DaemonUse
from scheduler_core.frontends.configuration.errors import requests_text
from scheduler_core.frontends.validation.configs import ClaimConfigs, config_findings
from scheduler_core.frontends.validation.documents import Judges, ReadClaim, ReadDocuments, read_documents
from scheduler_core.frontends.validation.finding import Finding, Level, Reporter
from scheduler_core.frontends.validation.known_devices import KnownDevices
from scheduler_core.frontends.validation.pod_specs import KnownClaim, KnownObjects, pod_findings
from scheduler_core.frontends.validation.requests import (
    Classes,
    JudgedRequest,
    judged_requests,
    selector_findings,
)
from scheduler_core.model.claim import AllocatedClaim, DeviceClass
from scheduler_core.model.sentences import too_many_devices

_NO_JUDGES: Final = Judges()


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What is wrong with documents, in their order. Shape: ``skipped`` counts what is not judged, by kind."""

    findings: tuple[Finding, ...]
    skipped: Mapping[str, int]


def validate(
    documents: Sequence[Document],
    driver: str,
    usual: Sequence[DeviceClass] = (),
    *,
    judges: Judges = _NO_JUDGES,
    has_all_claims: bool = True,
) -> Validation:
    """Judge documents.

    Shape: ``usual`` are the classes that count if the documents have none; ``has_all_claims`` if a claim or
           template that pods name and no document has is missing.
    """
    read = read_documents(documents, judges.kinds, driver)
    known = KnownDevices(read.slices.pools(), driver)
    found = [*read.findings, *_of_classes(read, known), *_of_resource_classes(read, known)]
    classes = Classes(_classes(read, usual), bool(read.classes))
    claims: dict[str, KnownClaim] = {}
    for claim in read.claims:
        requests = judged_requests(claim, classes, known)
        found += _of_claim(claim, requests, known)
        claims[_subject(claim.document)] = KnownClaim(claim, tuple(_daemon_uses(claim, requests, known)))
    objects = KnownObjects(
        claims=claims,
        are_all_claims=has_all_claims,
        group_of=judges.group_of,
        extended={
            str((one.content.get("spec") or {}).get("extendedResourceName"))
            for _, one in read.classes.values()
        },
    )
    for pod in read.pods:
        found += pod_findings(pod, objects)
    if not read.pods:  # then the claims count as those of one pod, as for tangram allocate
        found += _after_admin_access([claim for claim in read.claims if claim.allocated is None])
    refused = {(one.place, one.path) for one in found if one.level is Level.ERROR}
    for document in (*documents, *read.published):
        found += (one for one in judges.schema(document) if (one.place, one.path) not in refused)
    order = {document.place: index for index, document in enumerate(documents)}
    return Validation(
        findings=tuple(sorted(found, key=lambda one: order[one.place])), skipped=dict(read.skipped)
    )


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


def _of_resource_classes(read: ReadDocuments, known: KnownDevices) -> Iterator[Finding]:
    devices: list[Mapping[str, Value]] = []
    if read.resource_classes and known.pools:  # listed devices alone do not show what a cluster has
        devices += [properties_of(pool.id.driver, device) for pool in known.pools for device in pool.devices]
        devices += [one.properties for one in read.listed]
    for resource_class, document in read.resource_classes:
        for path, text in advice(resource_class, devices):
            yield Reporter(document).warning(path, f"{path}: {text}")


def _daemon_uses(
    read: ReadClaim, requests: Sequence[JudgedRequest], known: KnownDevices
) -> Iterator[DaemonUse]:
    if read.allocated is None:
        return ClaimConfigs(read, requests, known).daemon_uses()
    return daemon_uses(read.allocated, known.driver, known.pools)


def _of_claim(read: ReadClaim, requests: Sequence[JudgedRequest], known: KnownDevices) -> Iterator[Finding]:
    report = Reporter(read.document)
    if detail := too_many_devices(read.claim.least):
        path = f"{read.devices}.requests"
        yield report.error(path, f"{path}: the claim {detail}")
    for request in requests:
        yield from request.findings
        for text in dict.fromkeys(text for pool in known.pools for text in other_names(request.option, pool)):
            subject = requests_text([request.option.name])
            yield report.warning(f"{request.path}.capacity.requests", f"{subject}: {text}")
    if read.allocated is None:
        yield from ClaimConfigs(read, requests, known).findings()
    else:
        yield from _of_allocation(read.allocated, Reporter(read.document), known)


def _after_admin_access(claims: Sequence[ReadClaim]) -> Iterator[Finding]:
    by_ref = {one.claim.ref: one for one in claims}
    for request, claim, text in after_admin_access([one.claim for one in claims]):
        report = Reporter(by_ref[claim.ref].document)
        yield report.warning(by_ref[claim.ref].devices, f"{requests_text([request])}: {text}")


def _of_allocation(claim: AllocatedClaim, report: Reporter, known: KnownDevices) -> Iterator[Finding]:
    """Yield what the plugin would refuse when the kubelet asks for the claim."""
    path = "status.allocation.devices"
    for problem in allocated_problems(claim, known.driver, known.pools):
        yield report.error(f"{path}.config", str(problem))
    for result, reason in unprepared_devices(claim, known.driver, known.pools):
        yield report.error(f"{path}.results", f"device {result.device}: {reason}")
