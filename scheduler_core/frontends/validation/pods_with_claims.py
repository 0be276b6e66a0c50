"""Pods that name claims, from objects of Kubernetes: which claims a pod needs, and which containers use what.

Takes documents; returns pods one by one, those that a Deployment or Job makes among them. Devices alone are
judged: no other rule of the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_claim
from scheduler_core.codec.documents import Document, decoded
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.configuration.device_rules import DaemonUse, several_in_container
from scheduler_core.frontends.validation.documents import POD_KINDS
from scheduler_core.frontends.validation.pod_specs import pod_of
from scheduler_core.model.claim import Claim, ClaimRef

_NAMESPACE: Final = "default"
_COPIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("Deployment", "StatefulSet", "ReplicaSet"), "replicas"),
    "Job": "parallelism",
}
"""The field that says how many pods of an object run at once; of other kinds there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWithClaims:
    """A pod, or the pods that an object makes.

    Shape: ``copies`` run at once; ``claims`` by the pod's own names for them: a claim that exists, or the
           template of which each copy gets a claim; ``uses`` are by container the pod's names of claims with
           the request, empty for all of them.
    """

    subject: str
    ref: ClaimRef
    copies: int
    claims: Mapping[str, ClaimRef | Claim]
    uses: Mapping[str, Sequence[tuple[str, str]]]

    def claims_of(self, number: int) -> Mapping[str, ClaimRef | Claim]:
        """Return what one copy needs. Shape: ``number`` from 1; the claims of templates have names of it."""
        suffix = f"-{number}" if self.copies > 1 else ""
        return {
            name: replace(one, ref=ClaimRef(self.ref.namespace, f"{self.ref.name}{suffix}-{name}"))
            if isinstance(one, Claim)
            else one
            for name, one in self.claims.items()
        }

    def problem(self, daemons: Callable[[str], Iterable[DaemonUse]]) -> str:
        """Return why a container cannot use what it gets, empty for nothing.

        Shape: ``daemons`` are those of a claim by the pod's name for it.
        """
        for container, uses in self.uses.items():
            text, is_certain = several_in_container(container, uses, daemons)
            if is_certain:
                return f"{self.subject}: {text}"
        return ""


def pods_with_claims(documents: Sequence[Document]) -> list[PodWithClaims]:
    """Return the pods that name claims, in order. Raises: InvalidDocument."""
    templates = {
        (claim.ref.namespace or _NAMESPACE, claim.ref.name): claim
        for document in documents
        if document.content.get("kind") == "ResourceClaimTemplate"
        for claim in [decoded(document, decode_claim)]
    }
    pods = [one for one in documents if one.content.get("kind") in POD_KINDS]
    found = (decoded(document, partial(_read, document, templates)) for document in pods)
    return [one for one in found if one is not None]


def _read(
    document: Document, templates: Mapping[tuple[str, str], Claim], _content: Mapping[str, Any]
) -> PodWithClaims | None:
    pod = pod_of(document)
    spec = pod.child("spec")
    if spec.has("nodeName"):  # it runs: the files have its claims with what they hold
        return None
    metadata = Fields(document.content, pod.subject, "", InvalidPod).optional("metadata")
    namespace = metadata.text("namespace", _NAMESPACE)
    made = {
        one.text("name"): one.text("resourceClaimName")
        for one in pod.optional("status").children("resourceClaimStatuses")
        if one.has("resourceClaimName")
    }
    claims: dict[str, ClaimRef | Claim] = {}
    for one in spec.children("resourceClaims"):
        if one.text("name") in made:
            claims[one.text("name")] = ClaimRef(namespace, made[one.text("name")])
            continue
        if one.has("resourceClaimName"):
            claims[one.text("name")] = ClaimRef(namespace, one.text("resourceClaimName"))
            continue
        name = one.text("resourceClaimTemplateName")
        template = templates.get((namespace, name))
        if template is None:
            raise one.refuse("resourceClaimTemplateName", "names no ResourceClaimTemplate of the files", name)
        claims[one.text("name")] = template
    if not claims:
        return None
    uses = {container.text("name", ""): list(_uses(container, claims)) for container in _containers(spec)}
    ref = ClaimRef(namespace, metadata.text("name", "") or metadata.text("generateName", "pod"))
    return PodWithClaims(
        subject=pod.subject, ref=ref, copies=_copies(document.content), claims=claims, uses=uses
    )


def _containers(spec: Fields) -> Iterator[Fields]:
    yield from spec.children("initContainers")
    yield from spec.children("containers")


def _uses(container: Fields, claims: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for used in container.optional("resources").children("claims"):
        name = used.text("name")
        if name not in claims:
            raise used.refuse("name", "names no entry of the pod's resourceClaims", name)
        yield name, used.text("request", "")


def _copies(content: Mapping[str, Any]) -> int:
    field = _COPIES.get(str(content.get("kind")))
    if field is None:
        return 1
    spec = Fields(content, str(content["kind"]), "", InvalidPod).child("spec")
    return spec.integer(field, 1, least=0)
