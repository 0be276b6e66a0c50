"""Annotated pods on what files describe: ``--pod`` of ``tangram allocate`` and ``tangram explain``.

Pods are placed in the order given, and each holds its devices before the next one is placed.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from scheduler_core.base.errors import message
from scheduler_core.codec.documents import InvalidDocument, decoded
from scheduler_core.frontends.annotations.reading import SCHEDULING
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.pods.allocated import ALLOCATED, allocated_annotation
from scheduler_core.frontends.pods.many_nodes import PodAnswer, place_pods
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk, decode_pod
from tangram.allocation_input import read_present
from tangram.documents import read_documents
from tangram.errors import BadInput, bad_argument
from tangram.face import DOES_NOT_FIT, DONE, UNDECIDED, Face
from tangram.marked import tables_of
from tangram.pictures.pods import offered_picture, placed_picture, refused_picture
from tangram.plain import plain
from tangram.program.streams import complain

_SCALARS = (bool, int, str)


def run_pods(options: Namespace, face: Face, *, explains: bool) -> int:
    """Place the pods of ``--pod`` one after another and print what became of each."""
    if not options.files:
        raise bad_argument("--pod", None, "needs -f FILE with the slices of the nodes")
    asked = read_present(options)
    pods = _pods(options.pods)
    answers = list(place_pods(pods, PodPlacer(asked.state), asked.nodes, tables_of(asked)))
    if options.json:
        face.out.json({"pods": [_plain(one, explains=explains) for one in answers]})
    else:
        for one in answers:
            if one.placed is not None:
                face.out.show(placed_picture(one.ask, one.placed))
            elif one.undecided:
                face.out.show(f"{one.ask.subject}: {one.undecided[0]}")
            else:
                face.out.show(refused_picture(one.ask, one.refused))
            if explains:
                face.out.show("", offered_picture(one.ask, one.offers, one.placed))
    if all(one.placed is not None for one in answers):
        return DONE
    return UNDECIDED if any(one.undecided for one in answers) else DOES_NOT_FIT


def _pods(paths: Sequence[str]) -> list[PodAsk]:
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


def _plain(answer: PodAnswer, *, explains: bool) -> dict[str, Any]:
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
    if explains:
        found["offers"] = {
            kind: [_device_value(one) | {"free": one.is_free, "why": one.why} for one in node_devices]
            for kind, node_devices in answer.offers.items()
        }
    return found


def _device_value(device: NodeDevice) -> dict[str, Any]:
    place = {"pcie": device.pcie, "numa": device.numa}
    shown = {key: value if isinstance(value, _SCALARS) else str(value) for key, value in place.items()}
    return {"number": device.number, **{key: shown[key] for key in place if place[key] is not None}}
