"""Pods, and objects that make pods: resources of device plugins become a claim made from a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from scheduler_core.base.limits import RESULTS
from scheduler_core.frontends.migration.claims import VERSION
from scheduler_core.frontends.migration.containers import (
    Container,
    Requested,
    containers_of,
    requested,
    with_claim,
)
from scheduler_core.frontends.migration.pod_settings import note_settings
from scheduler_core.frontends.migration.values import Asked, Notes, entries, free_name, mapping

PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    **dict.fromkeys(
        ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"),
        ("spec", "template"),
    ),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Where the pod is in each kind of object that has one."""
_GROUPS: Final = ("", "apps", "batch", "extensions")
_SUFFIX: Final = "devices"
_LONGEST: Final = 240  # leaves room for what is appended, in a DNS subdomain
Template = dict[str, Any]
Name = tuple[str, str]
"""A namespace, empty where none is said, and a name in it."""


def has_pod(obj: Mapping[str, Any]) -> bool:
    """Whether an object is one of the kinds of Kubernetes itself that have a pod."""
    group, slash, _ = str(obj.get("apiVersion", "v1")).partition("/")
    return obj.get("kind") in PATHS and (group if slash else "") in _GROUPS


def migrated_pod(
    obj: Mapping[str, Any], given: Mapping[str, Asked], taken: Iterable[Name], notes: Notes
) -> tuple[Mapping[str, Any], Template | None]:
    """Return an object whose pod names a template in the place of resources, and that template.

    Shape: no template where the pod asks a device plugin for nothing; ``taken`` are namespaces and names of
           templates that there are.
    """
    keys = PATHS[str(obj["kind"])]
    pod: Any = obj
    for key in keys:
        pod = mapping(pod.get(key))
    spec = mapping(pod.get("spec"))
    path = ".".join((*keys, "spec"))
    containers = containers_of(spec, path, given, notes)
    note_settings(pod, ".".join(keys), containers, given, notes)
    requests = requested(containers, given)
    total = sum(one.count for one in requests)
    if total > RESULTS:
        notes.add(
            path, f"asks for {total} devices; a claim has at most {RESULTS}: divide it into several claims"
        )
    if not requests or total > RESULTS:
        return obj, None
    template = _template(obj, requests, taken)
    changed = _with_claim(spec, containers, str(template["metadata"]["name"]))
    return _put(obj, (*keys, "spec"), changed), template


def _template(obj: Mapping[str, Any], requests: list[Requested], taken: Iterable[Name]) -> Template:
    metadata = mapping(obj.get("metadata"))
    namespace = metadata.get("namespace")
    base = str(metadata.get("name") or metadata.get("generateName") or "pod")
    base = f"{base[:_LONGEST].strip('-.')}-{_SUFFIX}"
    name = free_name(base, {name for within, name in taken if within == (namespace or "")})
    return {
        "apiVersion": VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {"spec": {"devices": {"requests": [_request(one) for one in requests]}}},
    }


def _request(one: Requested) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": one.asked.class_name}
    if one.asked.expression:
        exactly["selectors"] = [{"cel": {"expression": one.asked.expression}}]
    if one.count > 1:
        exactly |= {"allocationMode": "ExactCount", "count": one.count}
    return {"name": one.name, "exactly": exactly}


def _with_claim(spec: Mapping[str, Any], containers: list[Container], template: str) -> Mapping[str, Any]:
    """Return the pod's spec with the claim, which its containers use."""
    known = [one for _, one in entries(spec.get("resourceClaims"))]
    names = [mapping(one).get("name") for one in known]
    claim = free_name(_SUFFIX, names)
    changed = [with_claim(one, claim) for one in containers]
    first = len([*entries(spec.get("initContainers"))])
    return {
        **spec,
        **({"initContainers": changed[:first]} if first else {}),
        **({"containers": changed[first:]} if changed[first:] else {}),
        "resourceClaims": [*known, {"name": claim, "resourceClaimTemplateName": template}],
    }


def _put(obj: Mapping[str, Any], keys: tuple[str, ...], value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a copy of an object in which the value at a path is replaced."""
    key, *below = keys
    return {**obj, key: _put(obj[key], tuple(below), value) if below else value}
