"""Documents to resource classes, plain devices and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.documents import Document, InvalidDocument, decoded
from scheduler_core.frontends.classes.decode import (
    CLASS_KIND,
    DEVICES_KIND,
    decode_node_devices,
    decode_resource_class,
)
from scheduler_core.frontends.classes.model import ClassDevice, ResourceClass
from scheduler_core.frontends.classes.pods import ClassPod, decode_class_pod

POD_KIND: Final = "Pod"
KINDS: Final = (CLASS_KIND, DEVICES_KIND, POD_KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassObjects:
    """What documents say of classes.

    Shape: ``classes`` and ``pods`` by name, ``devices`` by node, in the order of the documents; a pod asks
           for classes or has a grant, and has not ended.
    """

    classes: Mapping[str, ResourceClass] = field(default_factory=dict)
    devices: Mapping[str, Sequence[ClassDevice]] = field(default_factory=dict)
    pods: Mapping[str, ClassPod] = field(default_factory=dict)


def decode_class_objects(
    documents: Iterable[Document], published: Mapping[str, Sequence[ClassDevice]]
) -> ClassObjects:
    """Decode the documents of the kinds that classes add; other documents are skipped.

    Shape: ``published`` are further devices by node; no plain device may have the name of one of them.
    Raises: InvalidDocument naming place, object, field, value and rule.
    """
    classes: dict[str, ResourceClass] = {}
    devices: dict[str, list[ClassDevice]] = {}
    pods: dict[str, ClassPod] = {}
    for document in documents:
        match document.content.get("kind"):
            case "ResourceClass":
                added = decoded(document, decode_resource_class)
                _refuse_known(document, f"ResourceClass {added.name}", added.name in classes)
                classes[added.name] = added
            case "NodeDevices":
                node, listed = decoded(document, decode_node_devices)
                mine = devices.setdefault(node, [])
                _refuse_known_devices(document, node, (*published.get(node, ()), *mine), listed)
                mine.extend(listed)
            case "Pod":
                pod = decoded(document, decode_class_pod)
                _refuse_known(document, f"Pod {pod.name}", pod.name in pods)
                if not pod.has_ended and (pod.grant is not None or pod.requests):
                    pods[pod.name] = pod
            case _:
                continue
    return ClassObjects(classes=classes, devices=devices, pods=pods)


def _refuse_known(document: Document, subject: str, is_known: bool) -> None:
    if is_known:
        raise InvalidDocument(document.place, f"{subject}: is given twice")


def _refuse_known_devices(
    document: Document, node: str, known: Iterable[ClassDevice], listed: Iterable[ClassDevice]
) -> None:
    twice = sorted({one.name for one in known} & {one.name for one in listed})
    if twice:
        rule = f"{', '.join(twice)}: is a device there already"
        raise InvalidDocument(document.place, f"NodeDevices {node}: {rule}")
