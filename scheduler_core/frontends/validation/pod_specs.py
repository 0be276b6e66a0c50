"""Pods and the objects that make pods: where their pod is, and what it says of claims and amounts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.admission.asked_pod import asked_in_containers
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.configuration.device_rules import DaemonUse, several_in_container
from scheduler_core.frontends.validation.documents import ReadClaim
from scheduler_core.frontends.validation.finding import Finding, Reporter

_TEMPLATE: Final = "spec.template"
_PODS: Final = {"Pod": "", "CronJob": f"spec.jobTemplate.{_TEMPLATE}"}
_SOURCES: Final = {"resourceClaimName": "ResourceClaim", "resourceClaimTemplateName": "ResourceClaimTemplate"}


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim or template of the documents, and the devices under MPS that it has or will have."""

    read: ReadClaim
    daemons: Sequence[DaemonUse] = ()


_Claims = Mapping[str, KnownClaim]


def pod_findings(document: Document, claims: _Claims) -> Iterator[Finding]:
    """Yield what is wrong with the claims of a pod, and with the amounts of devices that it asks for.

    Shape: ``claims`` by kind and name, as ``subject_of`` says them. What is not there is not judged.
    """
    report = Reporter(document)
    try:
        path = _PODS.get(str(document.content["kind"]), _TEMPLATE)
        pod = Fields(document.content, report.subject, "", InvalidPod)
        for key in path.split(".") if path else ():
            pod = pod.child(key)
        spec = pod.child("spec")
        asked = asked_in_containers(pod.values, report.subject)
        warnings = asked.ask.warnings if asked is not None and asked.ask is not None else ()
        for text in warnings:
            yield report.warning("metadata.annotations", text.removeprefix(f"{report.subject}: "))
        known = _claims_of(spec, _namespace(document), claims)
        for list_of_containers in ("initContainers", "containers"):
            for container in spec.children(list_of_containers):
                _check_container(container, known)
                yield from _daemon_findings(container, known, report)
    except InvalidPod as error:
        if error.subject == report.subject:
            yield report.refused(error)
        else:  # the error is about an annotation, which its subject names
            yield report.error("metadata.annotations", str(error).removeprefix(f"{report.subject}: "))


def _namespace(document: Document) -> str:
    metadata = document.content.get("metadata")
    return str(metadata.get("namespace") or "") if isinstance(metadata, Mapping) else ""


def _claims_of(spec: Fields, namespace: str, claims: _Claims) -> dict[str, KnownClaim | None]:
    """Return the claims that a pod names, by its own name for each; None where the claim is not known."""
    found: dict[str, KnownClaim | None] = {}
    for one in spec.children("resourceClaims"):
        name = one.text("name")
        if name in found:
            raise one.refuse("name", "names must be unique", name)
        given = [key for key in _SOURCES if one.has(key)]
        if len(given) != 1:
            raise one.refuse("", f"must have exactly one of {' and '.join(_SOURCES)}")
        metadata = {"name": one.text(given[0])} | ({"namespace": namespace} if namespace else {})
        claim = claims.get(subject_of({"metadata": metadata}, _SOURCES[given[0]]))
        # Each entry with a template makes a claim of its own.
        if claim is not None and given[0] == "resourceClaimTemplateName":
            daemons = [replace(use, daemon=use.daemon and (name, use.daemon)) for use in claim.daemons]
            claim = replace(claim, daemons=daemons)
        found[name] = claim
    return found


def _daemon_findings(
    container: Fields, known: Mapping[str, KnownClaim | None], report: Reporter
) -> Iterator[Finding]:
    """Yield what is wrong with a container that gets several devices under MPS, of whatever claims."""
    uses: dict[tuple[str, str, Hashable], DaemonUse] = {}
    for used in container.optional("resources").children("claims"):
        name, request = used.text("name"), used.text("request", "")
        claim = known.get(name)
        for number, use in enumerate(claim.daemons if claim is not None else ()):
            if not request or use.request.partition("/")[0] == request:
                uses[name, use.request, use.daemon or number] = use
    text, is_certain = several_in_container(container.text("name", ""), list(uses.values()))
    if text:
        place = f"{container.path}.resources.claims"
        yield report.error(place, text) if is_certain else report.warning(place, text)


def _check_container(container: Fields, known: Mapping[str, KnownClaim | None]) -> None:
    for used in container.optional("resources").children("claims"):
        name = used.text("name")
        if name not in known:
            raise used.refuse("name", "names no entry of the pod's resourceClaims", name)
        found = known[name]
        if found is None or not used.has("request"):
            continue
        claim = found.read
        request, requests = used.text("request"), [one.name for one in claim.claim.requests]
        if request not in requests:
            rule = f"names no request of {claim.claim.ref.name}; known there: {', '.join(requests)}"
            raise used.refuse("request", rule, request)
