"""A pod as the controller sees it: what it waits for, what it needs, where it may run.

Takes the document of a pod; returns a small value. Source: core/v1 Pod; KEP-3521 (scheduling gates).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from controller.gangs.reading import membership_of
from controller.gangs.values import Membership
from controller.model.checked import integer, name, text
from controller.model.placement import Placement, read_placement
from controller.model.resources import Amounts, pod_needs
from scheduler_core.base.errors import CoreError
from scheduler_core.codec.fields import subject_of
from scheduler_core.frontends.admission.asked_pod import AskedPod, asked_in_annotation
from scheduler_core.frontends.admission.claim_templates import templates_in_annotation
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.configuration.device_rules import UsedClaim
from scheduler_core.model.ownership import AMOUNTS, CLAIM, CONDITION, GATE

_ENDED: Final = frozenset(("Succeeded", "Failed"))
_DOMAINS: Final = ("tangram.dev/", "koordinator.sh/", "scheduling.x-k8s.io/", "scheduling.k8s.io/")
_CLAIMS: Final = "spec.resourceClaims[]"
_STATUSES: Final = "status.resourceClaimStatuses[]"
_NONE: Final[Mapping[str, str]] = {}


class PodRef(NamedTuple):
    """The namespace and name of a pod."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim of a pod.

    Shape: ``name`` is the pod's own name for it; ``claim`` the name of the object, None where nobody made it
           yet; ``is_template`` says that the claim controller makes it.
    """

    name: str
    claim: str | None
    is_template: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod.

    Shape: ``node`` is empty until it is bound; ``gates`` are the names of its scheduling gates;
           ``annotations`` and ``labels`` are those of the domains that say something about devices or groups,
           of pods without a node only; ``told`` is the message of our condition while it is False, else None;
           ``uses`` are the claims that its containers name, of pods without a node only;
           ``asked`` are its amounts of devices, None without; ``templates`` those from which the controller
           makes claims, by the name of the claim; ``group`` what it says about its group;
           ``problem`` says why its annotations cannot be read.
    Units: ``created`` as the API server writes it, in UTC, so that texts compare as times do.
    """

    ref: PodRef
    uid: str
    node: str = ""
    created: str = ""
    priority: int = 0
    is_over: bool = False
    has_failed: bool = False
    is_leaving: bool = False
    gates: tuple[str, ...] = ()
    claims: tuple[PodClaim, ...] = ()
    uses: tuple[tuple[str, tuple[UsedClaim, ...]], ...] = ()
    needs: Amounts = field(default_factory=Amounts)
    placement: Placement = field(default_factory=Placement)
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    told: str | None = None
    asked: AskedPod | None = None
    templates: Mapping[str, str] = field(default_factory=dict)
    group: Membership | None = None
    problem: str = ""
    scheduler: str = "default-scheduler"

    @property
    def amounts_claim(self) -> str | None:
        """Return the name of the claim for the pod's amounts, None where it has none."""
        return self.annotations.get(CLAIM) if self.asked is not None else None

    @property
    def is_waiting(self) -> bool:
        """Whether the pod has no node and will get one, as far as is known."""
        return not (self.node or self.is_over or self.is_leaving)

    @property
    def is_gated(self) -> bool:
        """Whether our gate holds the pod back."""
        return GATE in self.gates

    @property
    def is_held_by_others(self) -> bool:
        """Whether a gate of somebody else holds the pod back."""
        return any(gate != GATE for gate in self.gates)


def read_pod(document: Mapping[str, Any]) -> Pod:
    """Return a pod. Of pods that have a node, or have ended, only what they take of it and their group."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    status = document.get("status") or {}
    node = text(spec.get("nodeName"), "spec.nodeName")
    is_over = status.get("phase") in _ENDED
    common = Pod(
        ref=PodRef(metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        node=node,
        is_over=is_over,
        has_failed=status.get("phase") == "Failed",
        is_leaving="deletionTimestamp" in metadata,
        claims=tuple(_claims(spec, status)),
        needs=pod_needs(spec),
    )
    if node or is_over:
        return replace(common, group=_group(document))
    return _waiting(common, document, spec, status)


def _group(document: Mapping[str, Any]) -> Membership | None:
    try:
        return membership_of(document)
    except CoreError:
        return None  # a pod that runs is nobody's to refuse any more


def _waiting(
    common: Pod, document: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]
) -> Pod:
    metadata = document["metadata"]
    asked = group = None
    templates: Mapping[str, str] = _NONE
    problem = ""
    try:
        asked = _asked(document, common.claims)
        templates = templates_in_annotation(document) or _NONE
        group = membership_of(document)
    except CoreError as error:
        problem = str(error)
    return Pod(
        ref=common.ref,
        uid=common.uid,
        is_leaving=common.is_leaving,
        claims=common.claims,
        uses=tuple(_uses(spec)),
        needs=common.needs,
        created=metadata.get("creationTimestamp") or "",
        priority=integer(spec.get("priority"), "spec.priority"),
        gates=tuple(
            name(gate["name"], "spec.schedulingGates[].name") for gate in spec.get("schedulingGates") or ()
        ),
        placement=read_placement(spec),
        annotations=_ours(metadata.get("annotations")),
        labels=_ours(metadata.get("labels")),
        told=_told(status),
        asked=asked,
        templates=templates,
        group=group,
        problem=problem,
        scheduler=text(spec.get("schedulerName"), "spec.schedulerName") or "default-scheduler",
    )


def _asked(document: Mapping[str, Any], claims: Sequence[PodClaim]) -> AskedPod | None:
    """Return a pod's amounts. Raises: InvalidPod, also where no claim is there to be made for them."""
    found = asked_in_annotation(document)
    if found is not None:
        name = (document["metadata"].get("annotations") or {}).get(CLAIM)
        if name not in [one.claim for one in claims]:
            rule = f"must name a claim of the pod, since {AMOUNTS} is there: the controller makes it"
            raise InvalidPod(subject_of(document, "Pod"), f"metadata.annotations.{CLAIM}", name or "", rule)
    return found


def _claims(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[PodClaim]:
    listed = spec.get("resourceClaims")
    if not listed:
        return
    made = {
        name(one["name"], f"{_STATUSES}.name"): text(
            one.get("resourceClaimName"), f"{_STATUSES}.resourceClaimName"
        )
        or None
        for one in status.get("resourceClaimStatuses") or ()
    }
    for one in listed:
        own_name = name(one["name"], f"{_CLAIMS}.name")
        if one.get("resourceClaimName"):
            yield PodClaim(
                own_name, name(one["resourceClaimName"], f"{_CLAIMS}.resourceClaimName"), is_template=False
            )
        elif own_name not in made or made[own_name] is not None:  # None: the template needed no claim
            yield PodClaim(own_name, made.get(own_name), is_template=True)


def _uses(spec: Mapping[str, Any]) -> Iterator[tuple[str, tuple[UsedClaim, ...]]]:
    for kind in ("initContainers", "containers") if spec.get("resourceClaims") else ():
        for one in spec.get(kind) or ():
            path = f"spec.{kind}[].resources.claims[]"
            used = [
                (name(each["name"], f"{path}.name"), text(each.get("request"), f"{path}.request"))
                for each in (one.get("resources") or {}).get("claims") or ()
            ]
            if used:
                yield text(one.get("name"), f"spec.{kind}[].name"), tuple(used)


def _ours(texts: Mapping[str, str] | None) -> Mapping[str, str]:
    if not texts:
        return _NONE
    found = {key: value for key, value in texts.items() if any(domain in key for domain in _DOMAINS)}
    return found or _NONE


def _told(status: Mapping[str, Any]) -> str | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == CONDITION and condition.get("status") == "False":
            return str(condition.get("message") or "")
    return None
