"""What a pod asks of devices: in its containers, or in the annotation with the amounts that were there.

Amounts of Koordinator's names and of resource classes count. ``nvidia.com/gpu`` counts where the pod has an
annotation of Koordinator's; other pods with it ask a device plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.annotations.container_sums import summed
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.annotations.reading import annotation
from scheduler_core.frontends.classes.pods import DOMAIN, domain_amounts
from scheduler_core.frontends.pods.amounts import NAMES, WHOLE_GPUS, Amounts, read_amount
from scheduler_core.frontends.pods.pod_request import PodAsk, ask_of, marks_in, pod_amounts
from scheduler_core.model.ownership import AMOUNTS

_GPU_PREFIX: Final = "koordinator.sh/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPod:
    """What a pod asks for.

    Shape: ``amounts`` by resource name, never zero, never empty; ``ask`` is None where all of them are of
           classes; ``classes`` by the name of the class.
    """

    amounts: Amounts
    ask: PodAsk | None
    classes: Mapping[str, int]


def asked_in_containers(obj: Mapping[str, Any], subject: str | None = None) -> AskedPod | None:
    """Return what a pod's containers ask for, None where that is nothing. Raises: InvalidPod."""
    fields = Fields(obj, subject or subject_of(obj, "Pod"), "", InvalidPod)
    marks, spec = _marks(fields), fields.child("spec")
    amounts = dict(pod_amounts(spec, fields.subject))
    if not marks:
        amounts.pop(WHOLE_GPUS, None)
    classes = summed(spec, domain_amounts)
    return _asked(fields.subject, amounts, classes, marks)


def asked_in_annotation(obj: Mapping[str, Any]) -> AskedPod | None:
    """Return what a pod asked for before the webhook took the amounts out of its containers.

    Shape: None without the annotation.
    Raises: InvalidPod.
    """
    fields = Fields(obj, subject_of(obj, "Pod"), "", InvalidPod)
    annotations = fields.optional("metadata").optional("annotations")
    if not annotations.has(AMOUNTS):
        return None
    prefix, _, name = AMOUNTS.rpartition("/")
    found = annotation(fields.subject, name, annotations.text(AMOUNTS), InvalidPod, f"{prefix}/")
    read = {key: read_amount(found.subject, key, key, value) for key, value in found.values.items()}
    for key in read:
        if key not in NAMES and not key.startswith(DOMAIN):
            raise found.refuse(key, f"is no name of devices; known: {', '.join(NAMES)}, {DOMAIN}CLASS")
    amounts = {key: amount for key, amount in read.items() if key in NAMES and amount}
    classes = {
        key.removeprefix(DOMAIN): amount for key, amount in read.items() if key not in NAMES and amount
    }
    asked = _asked(fields.subject, amounts, classes, _marks(fields))
    if asked is None:
        raise found.refuse("", "asks for no device")
    return asked


def is_amount(name: str, *, is_marked: bool) -> bool:
    """Whether a resource name is one of an amount of devices.

    Shape: ``is_marked`` where the pod has an annotation of Koordinator's.
    """
    if name == WHOLE_GPUS:
        return is_marked
    return name in NAMES or name.startswith((DOMAIN, _GPU_PREFIX))


def is_marked(obj: Mapping[str, Any]) -> bool:
    """Whether a pod has an annotation of Koordinator's about devices. Raises: InvalidPod."""
    return bool(_marks(Fields(obj, subject_of(obj, "Pod"), "", InvalidPod)))


def _marks(pod: Fields) -> Mapping[str, str]:
    return marks_in(pod.optional("metadata").optional("annotations"))


def _asked(
    subject: str, amounts: Amounts, classes: Mapping[str, int], marks: Mapping[str, str]
) -> AskedPod | None:
    everything = {**amounts, **{f"{DOMAIN}{name}": amount for name, amount in classes.items()}}
    if not everything:
        return None
    ask = ask_of(subject, amounts, marks) if amounts else None
    return AskedPod(amounts=everything, ask=ask, classes=classes)
