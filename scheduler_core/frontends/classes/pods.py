"""Reads a pod's manifest: its requests for classes, and what it was given before.

A container's resources name a class by its bare name, as in the proposal, or by its name in our domain,
which API servers accept. Names with a meaning in Kubernetes (``cpu``, ``memory``, ``hugepages-1Gi``) and
names of other domains are no classes. Amounts are added up as in Kubernetes: a limit counts where the
request is missing, containers and sidecars are added, and an init container counts where it needs more,
together with the sidecars before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.annotations.container_sums import add, summed
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.classes.annotation import uses_in
from scheduler_core.frontends.classes.model import Grant

_NATIVE: Final = ("cpu", "memory", "ephemeral-storage", "storage", "pods")
DOMAIN: Final = "class.tangram.dev/"
_HUGE_PAGES: Final = "hugepages-"
_ENDED: Final = ("Succeeded", "Failed")
_RULE: Final = "must be a whole number, not negative"


@dataclass(frozen=True, slots=True)
class ClassPod:
    """A pod with its requests for classes.

    Shape: ``name`` is ``namespace/name``; ``requests`` by class, without zeros, in the manifest's order;
           ``grant`` is the one in its annotations, None where there is none.
    """

    name: str
    requests: Mapping[str, int]
    grant: Grant | None
    has_ended: bool


def decode_class_pod(obj: Mapping[str, Any]) -> ClassPod:
    """Read a pod. Raises: InvalidPod for the first mistake, with its path."""
    subject = subject_of(obj, "Pod")
    top = Fields(obj, subject, "", InvalidPod)
    metadata, spec = top.child("metadata"), top.child("spec")
    uses = uses_in(subject, metadata.optional("annotations").values)
    node = spec.text("nodeName", "")
    if uses and not node:
        raise spec.refuse("nodeName", "is required, because the pod's annotations have devices of a node")
    return ClassPod(
        name=f"{metadata.text('namespace', 'default')}/{metadata.text('name')}",
        requests=summed(spec, _container),
        grant=Grant(node, uses) if uses else None,
        has_ended=top.optional("status").text("phase", "") in _ENDED,
    )


def domain_amounts(container: Fields) -> dict[str, int]:
    """Return what a container asks for by names in our domain, as API servers accept them.

    Shape: by class. Raises: InvalidPod, also for a name that cannot be a class.
    """
    resources, found = container.optional("resources"), dict[str, int]()
    for part in ("limits", "requests"):  # a request overrides a limit
        listed = resources.optional(part)
        for key in listed.values:
            name = str(key).removeprefix(DOMAIN)
            if str(key).startswith(DOMAIN):
                if not _is_class(name):
                    raise listed.refuse(str(key), "cannot be a class: Kubernetes gives this name a meaning")
                found[name] = _amount(listed, key)
    return found


def requests_of(subject: str, requests: object) -> Mapping[str, int]:
    """Return amounts by class that are already added up, without zeros. Raises: InvalidPod."""
    fields = Fields(requests, subject, "requests", InvalidPod)
    return {key: amount for key in fields.values if (amount := _amount(fields, key))}


def _container(container: Fields) -> dict[str, int]:
    resources, found = container.optional("resources"), dict[str, int]()
    for part in ("limits", "requests"):  # a request overrides a limit
        listed = resources.optional(part)
        asked: dict[str, int] = {}
        for key in listed.values:
            name = str(key).removeprefix(DOMAIN)
            if _is_class(name):
                add(asked, {name: _amount(listed, key)})
        found |= asked
    return found


def _is_class(name: str) -> bool:
    if "/" in name or name in _NATIVE:
        return False
    return not (name.startswith(_HUGE_PAGES) and _is_quantity(name.removeprefix(_HUGE_PAGES)))


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueError:
        return False
    return True


def _amount(fields: Fields, key: str) -> int:
    value = fields.values[key]
    try:
        quantity = Quantity.parse(str(value))
    except ValueError:
        raise fields.refuse(key, _RULE, value) from None
    if isinstance(value, bool) or quantity.nano < 0 or not quantity.is_whole:
        raise fields.refuse(key, _RULE, value)
    return quantity.whole
