"""Pods and the objects that make pods: where their pod is, and what it says of claims and amounts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.comparison.kube_scheduler import after_admin_access
from scheduler_core.frontends.admission.asked_pod import asked_in_containers
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.configuration.device_rules import DaemonUse, several_in_container
from scheduler_core.frontends.pods.amounts import WHOLE_GPUS
from scheduler_core.frontends.validation.documents import ReadClaim
from scheduler_core.frontends.validation.finding import Finding, Reporter

_TEMPLATE: Final = "spec.template"
_PODS: Final = {"Pod": "", "CronJob": f"spec.jobTemplate.{_TEMPLATE}"}
_SOURCES: Final = {"resourceClaimName": "ResourceClaim", "resourceClaimTemplateName": "ResourceClaimTemplate"}
_CONTAINERS: Final = ("initContainers", "containers")
_PLUGIN: Final = WHOLE_GPUS.rpartition("/")[0] + "/"
_USUAL_SCHEDULER: Final = "default-scheduler"


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim or template of the documents, and the devices under MPS that it has or will have."""

    read: ReadClaim
    daemons: Sequence[DaemonUse] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownObjects:
    """What pods may name.

    Shape: ``claims`` by kind and name, as ``subject_of`` says them; ``are_all_claims`` if a claim that is not
           there is missing; ``extended`` are the resources that classes serve; ``group_of`` reads
           what a pod says of its group, and raises InvalidPod.
    """

    claims: Mapping[str, KnownClaim]
    are_all_claims: bool
    extended: Collection[str]
    group_of: Callable[[Mapping[str, Any]], object]


def pod_findings(document: Document, known: KnownObjects) -> Iterator[Finding]:
    """Yield what is wrong with the claims of a pod, and with the amounts of devices that it asks for."""
    report = Reporter(document)
    rules: tuple[Callable[[Fields, KnownObjects, Reporter], Iterator[Finding]], ...]
    rules = (_amounts, _limits, _claims, _group, _labels)
    refused: set[str] = set()
    for rule in rules:
        try:
            yield from rule(pod_of(document), known, report)
        except InvalidPod as error:  # two rules may need what cannot be read
            if str(error) not in refused and error.subject == report.subject:
                yield report.refused(error)
            elif str(error) not in refused:  # it is about an annotation, which its subject names
                yield report.error("metadata.annotations", str(error).removeprefix(f"{report.subject}: "))
            refused.add(str(error))


def pod_of(document: Document) -> Fields:
    """Return the pod of an object, or the template of the pods that it makes. Raises: InvalidPod."""
    path = _PODS.get(str(document.content["kind"]), _TEMPLATE)
    pod = Fields(document.content, Reporter(document).subject, "", InvalidPod)
    for key in path.split(".") if path else ():
        pod = pod.child(key)
    return pod


def _amounts(pod: Fields, known: KnownObjects, report: Reporter) -> Iterator[Finding]:
    asked = asked_in_containers(pod.values, report.subject)
    amounts: Collection[str] = asked.amounts if asked is not None else ()
    for text in asked.ask.warnings if asked is not None and asked.ask is not None else ():
        yield report.warning("metadata.annotations", text.removeprefix(f"{report.subject}: "))
    spec, of_plugins = pod.child("spec"), dict[str, str]()
    for kind in _CONTAINERS:
        for container in spec.children(kind):
            resources = container.optional("resources")
            for limits in (resources.optional("limits"), resources.optional("requests")):
                for name in limits.values:
                    if name.startswith(_PLUGIN) and name not in amounts and name not in known.extended:
                        of_plugins.setdefault(name, limits.at(name))
    for path in of_plugins.values():
        rule = "only a device plugin serves it: no DeviceClass here has this extendedResourceName"
        yield report.warning(path, f"{path}: {rule}; tangram migrate writes the claim instead")
    scheduler = spec.text("schedulerName", _USUAL_SCHEDULER)
    if scheduler != _USUAL_SCHEDULER and (amounts or of_plugins or spec.items("resourceClaims")):
        rule = "kube-scheduler and Tangram's controller leave such a pod alone: remove it"
        yield report.warning(spec.at("schedulerName"), f"{spec.at('schedulerName')}: {scheduler!r}: {rule}")


def _limits(pod: Fields, _: KnownObjects, report: Reporter) -> Iterator[Finding]:
    """Yield amounts that an API server refuses, except those that the controller's webhook takes out."""
    asked = asked_in_containers(pod.values, report.subject)
    taken: Collection[str] = asked.amounts if asked is not None else ()
    names: set[str] = set()
    for kind in _CONTAINERS:
        for container in pod.child("spec").children(kind):
            name = container.text("name", "")
            if name and name in names:
                yield report.refused(container.refuse("name", "names of containers must be unique", name))
            names.add(name)
            resources = container.optional("resources")
            limits, requests = resources.optional("limits").values, resources.optional("requests")
            for key, amount in requests.values.items():
                is_extended = "/" in key and "kubernetes.io/" not in key and key not in taken
                if is_extended and str(limits.get(key)) != str(amount):
                    rule = f"must be in limits with the same amount, which is {limits.get(key, 'absent')}"
                    yield report.refused(requests.refuse(key, rule, amount))


def _labels(pod: Fields, _: KnownObjects, report: Reporter) -> Iterator[Finding]:
    """Yield a selector that does not select the pods of its own template, which an API server refuses."""
    content = report.document.content
    if str(content.get("apiVersion")) != "apps/v1":
        return
    labels = pod.optional("metadata").optional("labels").values
    selector = Fields(content, report.subject, "", InvalidPod).child("spec").optional("selector")
    wanted = selector.optional("matchLabels")
    for key, value in wanted.values.items():
        if labels.get(key) != value:
            yield report.refused(wanted.refuse(key, "must be a label of the template of the pods", value))
    if not wanted.values and not selector.items("matchExpressions"):
        yield report.refused(selector.refuse("", "must select something"))


def _claims(pod: Fields, known: KnownObjects, report: Reporter) -> Iterator[Finding]:
    spec = pod.child("spec")
    claims: dict[str, KnownClaim | None] = {}
    for one in spec.children("resourceClaims"):
        name = one.text("name")
        if name in claims:
            raise one.refuse("name", "names must be unique", name)
        given = [key for key in _SOURCES if one.has(key)]
        if len(given) != 1:
            raise one.refuse("", f"must have exactly one of {' and '.join(_SOURCES)}")
        kind, object_name = _SOURCES[given[0]], one.text(given[0])
        metadata = {"name": object_name} | _namespace(report.document)
        claim = known.claims.get(subject_of({"metadata": metadata}, kind))
        # Each entry with a template makes a claim of its own.
        if claim is not None and kind == "ResourceClaimTemplate":
            daemons = [replace(use, daemon=use.daemon and (name, use.daemon)) for use in claim.daemons]
            claim = replace(claim, daemons=daemons)
        claims[name] = claim
        if claim is None and known.are_all_claims:
            path = one.at(given[0])
            yield report.warning(path, f"{path}: {object_name!r}: names no {kind} of these documents")
    in_order = [claim.read.claim for claim in claims.values() if claim is not None]
    for request, later, text in after_admin_access(in_order):
        place = spec.at("resourceClaims")
        yield report.warning(place, f"{place}: request {request} of claim {later.ref.name}: {text}")
    for list_of_containers in _CONTAINERS:
        for container in spec.children(list_of_containers):
            _check_container(container, claims)
            yield from _daemon_findings(container, claims, report)


def _group(pod: Fields, known: KnownObjects, report: Reporter) -> Iterator[Finding]:
    try:
        known.group_of({"metadata": {}, **pod.values})
    except InvalidPod as error:
        yield report.refused(InvalidPod(report.subject, pod.at(error.field), error.value, error.rule))


def _namespace(document: Document) -> dict[str, str]:
    metadata = document.content.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    return {"namespace": str(namespace)} if namespace else {}


def _daemon_findings(
    container: Fields, known: Mapping[str, KnownClaim | None], report: Reporter
) -> Iterator[Finding]:
    """Yield what is wrong with a container that gets several devices under MPS, of whatever claims."""
    daemons = {name: claim.daemons for name, claim in known.items() if claim is not None}
    used = [
        (one.text("name"), one.text("request", ""))
        for one in container.optional("resources").children("claims")
    ]
    text, is_certain = several_in_container(
        container.text("name", ""), used, lambda name: daemons.get(name, ())
    )
    if text:
        place = f"{container.path}.resources.claims"
        yield report.error(place, text) if is_certain else report.warning(place, text)


def _check_container(container: Fields, known: Mapping[str, KnownClaim | None]) -> None:
    used = dict[str, set[str]]()
    for entry in container.optional("resources").children("claims"):
        name, request = entry.text("name"), entry.text("request", "")
        if name not in known:
            raise entry.refuse("name", "names no entry of the pod's resourceClaims", name)
        others = used.setdefault(name, set())
        if request in others or (others and "" in (request, *others)):
            rule = "is listed twice: a container names a claim once, or once for each of its requests"
            raise entry.refuse("name", rule, name)
        others.add(request)
        found = known[name]
        if found is None or not request:
            continue
        claim = found.read
        requests = [one.name for one in claim.claim.requests]
        if request not in requests:
            rule = f"names no request of {claim.claim.ref.name}; known there: {', '.join(requests)}"
            raise entry.refuse("request", rule, request)
