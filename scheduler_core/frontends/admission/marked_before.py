"""Judges pods that come with annotations of admission: only what admission itself wrote is accepted.

An API server asks a webhook again after others changed the pod, and the pod then has the annotations
already. Whoever writes them by hand, or copies them from a pod that runs, is told to leave them out.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.admission.asked_pod import AskedPod, asked_in_annotation
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.annotations.reading import annotation
from scheduler_core.model.ownership import AMOUNTS, CLAIM, GATE, TEMPLATES

_WRITTEN: Final = (AMOUNTS, CLAIM, TEMPLATES)
_LEAVE_OUT: Final = f"is written by Tangram alone; leave out the annotations {', '.join(_WRITTEN)}"


def is_marked_before(annotations: Fields) -> bool:
    """Whether a pod has an annotation that admission writes."""
    return any(key in annotations.values for key in _WRITTEN)


def is_gated(spec: Fields) -> bool:
    """Whether a pod waits for the controller. Raises: InvalidPod."""
    return any(one.values.get("name") == GATE for one in spec.children("schedulingGates"))


def check_marked_before(pod: Fields, asked: AskedPod | None) -> None:
    """Refuse a pod whose annotations are not those that admission writes.

    Shape: ``asked`` is what the containers ask for now.
    Raises: InvalidPod.
    """
    annotations, spec = pod.optional("metadata").optional("annotations"), pod.child("spec")
    first = next(key for key in _WRITTEN if key in annotations.values)
    if not is_gated(spec):
        raise annotations.refuse(first, _LEAVE_OUT, annotations.values[first])
    named = {one.text("resourceClaimName", ""): one.text("name") for one in spec.children("resourceClaims")}
    if TEMPLATES in annotations.values:
        _check_templates(annotations, named)
    if CLAIM in annotations.values or AMOUNTS in annotations.values:
        if not _is_whole(pod.values, annotations, spec, named):
            raise annotations.refuse(first, _LEAVE_OUT, annotations.values[first])
        if asked is not None:
            name = next(iter(asked.amounts))
            rule = "was added after the pod's amounts became a claim; let Tangram's webhook come last"
            raise InvalidPod(pod.subject, f"requests {name}", asked.amounts[name], rule)


def _check_templates(annotations: Fields, named: dict[str, str]) -> None:
    prefix, _, name = TEMPLATES.rpartition("/")
    text = annotations.text(TEMPLATES)
    found = annotation(annotations.subject, name, text, InvalidPod, f"{prefix}/")
    for key, template in found.values.items():
        if key not in named or not isinstance(template, str):
            raise annotations.refuse(TEMPLATES, _LEAVE_OUT, text)


def _is_whole(pod: Any, annotations: Fields, spec: Fields, named: dict[str, str]) -> bool:
    """Whether amounts, claim, the pod's entry for it and a container that uses it are there."""
    if not (annotations.has(AMOUNTS) and annotations.has(CLAIM)):
        return False
    asked_in_annotation(pod)
    entry = named.get(annotations.text(CLAIM))
    used = {
        claim.text("name")
        for listed in ("initContainers", "containers")
        for container in spec.children(listed)
        for claim in container.optional("resources").children("claims")
    }
    return entry is not None and entry in used
