"""Annotated pods on what files describe: ``--pod`` of ``tangram allocate`` and ``tangram explain``.

Pods are placed in the order given, and each holds its devices before the next one is placed.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from scheduler_core.base.errors import message
from scheduler_core.codec.documents import InvalidDocument, decoded
from scheduler_core.frontends.annotations.reading import SCHEDULING
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.pods.allocated import ALLOCATED, allocated_annotation
from scheduler_core.frontends.pods.many_nodes import PodAnswer, place_pods
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk, decode_pod
from tangram.allocation_input import AllocationInput, read_present
from tangram.documents import read_documents
from tangram.errors import BadInput, bad_argument
from tangram.face import DOES_NOT_FIT, DONE, UNDECIDED, Face
from tangram.marked import tables_of
from tangram.pictures.pods import placed_picture, refused_picture
from tangram.plain import plain
from tangram.program.streams import complain

_SCALARS = (bool, int, str)


def run_pods(options: Namespace, face: Face) -> int:
    """Place the pods of ``--pod`` one after another and print what became of each."""
    asked = read_asked(options)
    placer = PodPlacer(asked.state)
    answers = list(place_pods(read_pods(options.pods), placer, asked.nodes, tables_of(asked)))
    if options.json:
        face.out.json({"pods": list(map(pod_value, answers))})
    else:
        for one in answers:
            face.out.show(*pod_pictures(one))
    return status_of(answers)


def read_asked(options: Namespace) -> AllocationInput:
    """Read the files with the nodes that the pods may go to. Raises: BadInput."""
    if not options.files:
        raise bad_argument("--pod", None, "needs -f FILE with the slices of the nodes")
    return read_present(options)


def pod_pictures(one: PodAnswer) -> Iterator[RenderableType | str]:
    """Yield what became of a pod."""
    if one.placed is not None:
        yield placed_picture(one.ask, one.placed)
    elif one.undecided:
        yield f"{one.ask.subject}: {one.undecided[0]}"
    else:
        yield refused_picture(one.ask, one.refused)


def status_of(answers: Sequence[PodAnswer]) -> int:
    """Return the exit status."""
    if all(one.placed is not None for one in answers):
        return DONE
    return UNDECIDED if any(one.undecided for one in answers) else DOES_NOT_FIT


def read_pods(paths: Sequence[str]) -> list[PodAsk]:
    """Read pods. Raises: BadInput for anything else, and for a pod that is wrong."""
    found = []
    for document in (one for path in paths for one in read_documents(path)):
        kind = document.content.get("kind")
        if kind != "Pod":
            raise BadInput(message(document.place, "kind", kind, "must be Pod: --pod takes pods"))
        try:
            ask = decoded(document, decode_pod)
        except InvalidDocument as error:
            raise BadInput(str(error)) from error
        for warning in ask.warnings:
            complain(warning)
        found.append(ask)
    return found


def pod_value(answer: PodAnswer) -> dict[str, Any]:
    """Return what became of a pod, for programs."""
    found: dict[str, Any] = {"pod": answer.ask.subject, "allocated": answer.placed is not None}
    if answer.placed is not None:
        found["node"] = answer.placed.node
        found["devices"] = {
            kind: [
                _device_value(device) | {"devices": [str(one) for one in devices]}
                for device, devices in zip(node_devices, answer.placed.devices[kind], strict=True)
            ]
            for kind, node_devices in answer.placed.node_devices.items()
        }
        found["annotation"] = {SCHEDULING + ALLOCATED: json.dumps(allocated_annotation(answer.placed))}
    else:
        found["reasons"] = {
            node: {"type": one.kind, "cause": one.cause, "detail": one.detail}
            for node, one in answer.refused.items()
        }
    if answer.undecided:
        found["undecided"] = [plain(one) for one in answer.undecided]
    return found


def offers_value(answer: PodAnswer) -> dict[str, Any]:
    """Return everything that a pod could have got, and why it did not."""
    return {
        kind: [_device_value(one) | {"free": one.is_free, "why": one.why} for one in node_devices]
        for kind, node_devices in answer.offers.items()
    }


def _device_value(device: NodeDevice) -> dict[str, Any]:
    place = {"pcie": device.pcie, "numa": device.numa}
    shown = {key: value if isinstance(value, _SCALARS) else str(value) for key, value in place.items()}
    return {"number": device.number, **{key: shown[key] for key in place if place[key] is not None}}
