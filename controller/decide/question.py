"""What a pod asks of the controller: the claims that need devices, and those that already have them.

Takes a pod and what is known of the cluster; returns a value. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller.model.claims import ClaimSeen, mark_in, shape_of
from controller.model.pods import Pod
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.base.errors import CoreError, InvalidClaim
from scheduler_core.codec.claims import decode_claim
from scheduler_core.frontends.admission.asked_pod import AskedPod
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.ownership import CLAIM, TEMPLATES

_OF_ONE_POD: Final = (CLAIM, TEMPLATES)
"""Annotations that differ between pods which ask for the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A claim that needs devices.

    Shape: ``seen`` is the object, None where the controller makes it with ``spec``; ``mark`` as in
           ``ClaimSeen``.
    """

    asked: Claim
    shape: str
    seen: ClaimSeen | None = None
    spec: Mapping[str, Any] | None = None
    mark: str = ""

    def refuse_mark(self) -> None:
        """Raise: InvalidClaim where an annotation asks for what only a pod can ask for in a cluster."""
        if self.mark:
            rule = (
                "counts only on pods that ask by amounts; let the pod ask by amounts, or use constraints of "
                "the claim, such as matchAttribute resource.kubernetes.io/pcieRoot"
            )
            raise InvalidClaim(f"claim {self.asked.ref}", f"metadata.annotations[{self.mark}]", None, rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountsWanted:
    """The claim that the controller makes for a pod's amounts.

    Shape: ``seen`` is the object, where it was made before and has no devices any more.
    """

    ref: ClaimRef
    asked: AskedPod
    seen: ClaimSeen | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a pod asks. Shape: ``fixed`` are the nodes from which its allocated claims can be used."""

    pod: Pod
    wanted: tuple[Wanted, ...] = ()
    amounts: AmountsWanted | None = None
    fixed: tuple[NodeSelection, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to allocate."""
        return not self.wanted and self.amounts is None

    @property
    def shape(self) -> Hashable:
        """Return a key that is equal for pods that fit or do not fit together."""
        pod = self.pod
        asked = tuple(one.shape for one in self.wanted)
        if self.fixed:
            return pod.uid, self.fixed, asked, pod.placement, pod.needs
        texts = () if self.amounts is None else tuple(sorted(pod.annotations.items()))
        amounts = tuple(one for one in texts if one[0] not in _OF_ONE_POD)
        return asked, amounts, pod.placement, pod.needs, pod.uses


@dataclass(frozen=True, slots=True)
class NotYet:
    """The pod cannot be served now. Shape: ``why`` is a sentence, empty where nobody needs to be told."""

    why: str = ""


def question_of(pod: Pod, seen: ClusterSeen) -> Question | NotYet:
    """Return what a pod asks, or what is missing before it can be served."""
    if pod.is_held_by_others:
        return NotYet()
    if pod.problem:
        return NotYet(pod.problem)
    wanted: list[Wanted] = []
    fixed: list[NodeSelection] = []
    amounts: AmountsWanted | None = None
    for one in pod.claims:
        if one.claim is None:
            return NotYet()  # the claim controller makes it soon
        ref = ClaimRef(pod.ref.namespace, one.claim)
        template = pod.templates.get(one.claim)
        is_own = one.is_template or template is not None or one.claim == pod.amounts_claim
        match _part(pod, ref, is_own, template, seen):
            case NotYet() as missing:
                return missing
            case Wanted() as claim:
                wanted.append(claim)
            case AmountsWanted() as amounts:
                pass
            case selection:
                fixed.append(selection)
    return Question(pod=pod, wanted=tuple(wanted), amounts=amounts, fixed=tuple(fixed))


def _part(
    pod: Pod, ref: ClaimRef, is_own: bool, template: str | None, seen: ClusterSeen
) -> Wanted | AmountsWanted | NodeSelection | NotYet:
    """Return what a claim of the pod asks for, or from which nodes it can be used.

    Shape: ``is_own`` where only a claim that the pod owns will do.
    """
    claim = seen.claims.get(ref)
    is_amounts = ref.name == pod.amounts_claim
    if claim is not None:
        if claim.is_leaving:
            return NotYet(f"claim {ref} is being deleted")
        if is_own and pod.uid not in claim.owners:
            return NotYet(f"claim {ref} exists and belongs to another object: delete or rename it")
        if claim.usable_from is not None:
            return claim.usable_from
    if is_amounts and pod.asked is not None:
        return AmountsWanted(ref=ref, asked=pod.asked, seen=claim)
    if claim is None:
        return _made(ref, template, seen)
    if claim.asked is not None:
        return Wanted(asked=claim.asked, shape=claim.shape, seen=claim, mark=claim.mark)
    return NotYet(claim.problem)


def _made(ref: ClaimRef, template: str | None, seen: ClusterSeen) -> Wanted | NotYet:
    """Return a claim that does not exist yet and that the controller makes from a template."""
    if template is None:
        return NotYet(f"claim {ref} does not exist")
    found = seen.templates.get(ClaimRef(ref.namespace, template))
    if found is None:
        return NotYet(f"claim template {ref.namespace}/{template} does not exist")
    outer = found.get("spec") or {}
    spec = outer.get("spec") or {}
    try:
        asked = decode_claim({"metadata": {"namespace": ref.namespace, "name": ref.name}, "spec": spec})
    except CoreError as error:
        return NotYet(str(error))
    mark = mark_in(outer.get("metadata"))
    return Wanted(asked=asked, shape=shape_of(spec, mark), spec=outer, mark=mark)
