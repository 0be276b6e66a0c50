"""Files to what resource classes are counted on: classes, nodes with devices, and who holds what.

Documents come in, a state and the pods that still ask leave. Devices of slices and plain lists of devices
stand beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduler_core.base.errors import CoreError
from scheduler_core.frontends.classes.decode import (
    CLASS_KIND,
    DEVICES_KIND,
    decode_node_devices,
    decode_resource_class,
)
from scheduler_core.frontends.classes.events import (
    AddClass,
    AddNode,
    AddPod,
    Done,
    Event,
    EventRefused,
    Outcome,
    PodOutcome,
    PodPlaced,
    PodUnplaced,
)
from scheduler_core.frontends.classes.pods import ClassPod, decode_class_pod
from scheduler_core.frontends.classes.state import State, after
from tangram.class_books import Books
from tangram.documents import Document
from tangram.errors import BadInput
from tangram.objects import KINDS, read_objects

POD_KIND = "Pod"
CLASS_KINDS = (CLASS_KIND, DEVICES_KIND, POD_KIND, *KINDS)


@dataclass(slots=True)
class ClassInput:
    """What files say of classes. Shape: ``pods`` hold nothing yet and ask in this order."""

    books: Books
    state: State = field(default_factory=State)
    pods: list[ClassPod] = field(default_factory=list)

    def happened(self, event: Event) -> Outcome:
        """Take an event in."""
        self.state, outcome = after(self.state, event)
        return outcome

    def place(self, pod: ClassPod) -> PodOutcome:
        """Place one pod, first fit; a choice of devices that exclude each other is no grant."""
        before = self.state
        outcome = self.happened(AddPod(pod.name, pod.requests, without=self.books.blocked))
        match outcome:
            case Done():
                raise AssertionError("a pod is placed or it is not")
            case PodUnplaced() | EventRefused():
                return outcome
            case PodPlaced(grant):
                reason = self.books.take(pod.name, grant)
        if reason is None:
            return outcome
        self.state = before
        return PodUnplaced(f"the first fit excludes itself, ask for it with a ResourceClaim: {reason}")


def read_class_input(documents: Sequence[Document]) -> ClassInput:
    """Read what files say. Raises: BadInput naming file, object, field, value and rule."""
    mine = (CLASS_KIND, DEVICES_KIND, POD_KIND)
    objects = read_objects(one for one in documents if one.content.get("kind") not in mine)
    found = ClassInput(Books.of(objects.pools(), objects.allocated))
    for document in documents:
        try:
            _read(document, found)
        except CoreError as error:
            raise BadInput(f"{document.place}: {error}") from error
    for node, devices in found.books.devices.items():
        found.happened(AddNode(node, tuple(devices)))
    for claim in objects.allocated:
        for grant in found.books.held_by(claim):
            found.happened(AddPod(f"claim {claim.ref} on {grant.node}", None, grant))
    return found


def _read(document: Document, found: ClassInput) -> None:
    match document.content.get("kind"):
        case "ResourceClass":
            added = decode_resource_class(document.content)
            if added.name in found.state.classes:
                raise BadInput(f"{document.place}: ResourceClass {added.name}: is given twice")
            found.happened(AddClass(added))
        case "NodeDevices":
            _read_devices(document, found)
        case "Pod":
            _read_pod(document, found)
        case _:
            return


def _read_devices(document: Document, found: ClassInput) -> None:
    node, devices = decode_node_devices(document.content)
    listed = found.books.devices.setdefault(node, [])
    twice = sorted({one.name for one in listed} & {one.name for one in devices})
    if twice:
        raise BadInput(f"{document.place}: NodeDevices {node}: {', '.join(twice)}: is a device there already")
    listed.extend(devices)


def _read_pod(document: Document, found: ClassInput) -> None:
    """Enter a pod that holds devices, keep one that asks; one that has ended gave everything back."""
    pod = decode_class_pod(document.content)
    known = {one.name for one in found.pods} | found.state.pods.keys()
    if pod.name in known:
        raise BadInput(f"{document.place}: Pod {pod.name}: is given twice")
    if pod.has_ended:
        return
    if pod.grant is not None:
        found.happened(AddPod(pod.name, pod.requests or None, pod.grant))
        found.books.record(pod.name, pod.grant)
    elif pod.requests:
        found.pods.append(pod)
