"""Writes and reads what a pod was given, as annotations of the pod.

The usual form is the proposal's: ``scheduler.alpha.kubernetes.io/resClass_<class>_<device>=<quantity>``.
The name of an annotation has at most 63 characters. Where that is too short for both names, the name ends
in a digest and the value is ``<quantity> <class> <device>``. Names of classes and devices have no
underscore, so an underscore shows the usual form.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from scheduler_core.base.limits import LABEL_LENGTH
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.classes.model import Use

PREFIX: Final = "scheduler.alpha.kubernetes.io/resClass_"
_DOMAIN: Final = PREFIX.partition("/")[0]
_MOST: Final = LABEL_LENGTH - len(PREFIX.partition("/")[2])
_DIGEST: Final = 16
_QUANTITY: Final = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?", re.ASCII)
_FORMS: Final = (
    "must be resClass_<class>_<device>=<quantity>, or resClass_<shortened>=<quantity> <class> <device>"
)


def annotations_of(uses: tuple[Use, ...]) -> Mapping[str, str]:
    """Return the annotations for a pod's uses. Shape: one use per class and device."""
    return dict(_annotation(use) for use in uses)


def _annotation(use: Use) -> tuple[str, str]:
    name = f"{use.class_name}_{use.device}"
    if len(name) <= _MOST:
        return f"{PREFIX}{name}", str(use.quantity)
    return f"{PREFIX}{_shortened(use)}", f"{use.quantity} {use.class_name} {use.device}"


def _shortened(use: Use) -> str:
    """Return the beginning of the class's name and a digest of both names."""
    digest = hashlib.sha256(f"{use.class_name}_{use.device}".encode()).hexdigest()[:_DIGEST]
    begin = use.class_name[: _MOST - _DIGEST - 1].rstrip("-.")
    return f"{begin}.{digest}"


def uses_in(subject: str, annotations: Mapping[str, object]) -> tuple[Use, ...]:
    """Return the uses in a pod's annotations, in the order of the annotations' names.

    Raises: InvalidPod for an annotation of this prefix that is no use.
    """
    return tuple(
        _use(f"{subject}: annotation {key}", key.removeprefix(PREFIX), annotations[key])
        for key in sorted(annotations)
        if key.startswith(PREFIX)
    )


def _use(where: str, name: str, value: object) -> Use:
    if not isinstance(value, str):
        raise InvalidPod(where, "", value, "must be a string")
    class_name, underscore, device = name.partition("_")
    amount = value
    if not underscore:
        parts = value.split(" ")
        if len(parts) != 3:
            raise InvalidPod(where, "", value, _FORMS)
        amount, class_name, device = parts
    if not _QUANTITY.fullmatch(amount):
        raise InvalidPod(where, "quantity", amount, "must be a whole number, at least 1")
    if not _NAME.fullmatch(class_name) or not _NAME.fullmatch(device):
        raise InvalidPod(where, "", f"{class_name} {device}", _FORMS)
    use = Use(class_name, device, int(amount))
    if f"{PREFIX}{name}" != _annotation(use)[0]:
        raise InvalidPod(where, "", value, "does not belong to this name: the digest differs")
    return use
