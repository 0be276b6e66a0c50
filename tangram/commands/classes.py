"""``tangram classes``: resource classes, what they have and what is in use, and pods that ask for them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from scheduler_core.base.errors import CoreError
from scheduler_core.frontends.classes.advice import advice
from scheduler_core.frontends.classes.annotation import annotations_of
from scheduler_core.frontends.classes.compile import device_class_of
from scheduler_core.frontends.classes.events import EventRefused, PodOutcome, PodPlaced, PodUnplaced
from scheduler_core.frontends.classes.placement import ClassPlacement
from scheduler_core.frontends.classes.state import in_use, selected, statuses
from tangram.class_input import CLASS_KINDS, read_class_input
from tangram.errors import BadInput
from tangram.face import DOES_NOT_FIT, DONE, Face, Subparsers, add_command
from tangram.files import add_files, read_files
from tangram.pictures.classes import classes_table, grant_picture, unplaced_picture
from tangram.program.streams import complain
from tangram.summaries import SUMMARIES

DEVICE_CLASSES = "device-classes"
_Answers = Sequence[tuple[str, PodOutcome]]


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "classes",
        SUMMARIES["classes"],
        "tangram show --node dgx-a100 --as v1 | tangram classes -f - \\\n"
        "    -f deploy/examples/resource-classes/classes.yaml",
        _run,
        wide="with every device's name",
    )
    add_files(parser, f"YAML or JSON with any of {', '.join(CLASS_KINDS)}", is_required=True)
    parser.add_argument(
        "--as",
        choices=(DEVICE_CLASSES,),
        dest="form",
        help="print the DeviceClasses that select the same devices, and nothing else",
    )


def _run(options: Namespace, face: Face) -> int:
    found = read_class_input(read_files(options))
    if not found.state.classes:
        raise BadInput(f"{', '.join(options.files)}: no ResourceClass: nothing to show")
    if options.form == DEVICE_CLASSES:
        face.out.documents(_device_classes(found), as_json=options.json)
        return DONE
    for note in found.published.notes:
        complain(note)
    devices = [one.properties for listed in found.state.nodes.values() for one in listed]
    for added in found.state.classes.values():
        for path, text in advice(added, devices):
            complain(f"ResourceClass {added.name}: {path}: {text}")
    answers = [(pod.name, found.place(pod)) for pod in found.pending]
    if options.json:
        face.out.json({"classes": _plain_classes(found), "pods": [_plain_pod(*one) for one in answers]})
    else:
        _draw(found, answers, face)
    return DONE if all(isinstance(outcome, PodPlaced) for _, outcome in answers) else DOES_NOT_FIT


def _device_classes(found: ClassPlacement) -> list[dict[str, Any]]:
    try:
        return [device_class_of(one) for one in found.state.classes.values()]
    except CoreError as error:
        raise BadInput(str(error)) from error


def _draw(found: ClassPlacement, answers: _Answers, face: Face) -> None:
    devices = {
        name: [f"{node}/{device.name}" for node, device in selected(found.state, name)]
        for name in found.state.classes
    }
    face.out.show(classes_table(statuses(found.state), found.free(), devices, is_wide=face.out.is_wide))
    for pod, outcome in answers:
        match outcome:
            case PodPlaced(grant):
                face.out.show("", grant_picture(pod, grant))
            case PodUnplaced(reason) | EventRefused(reason):
                face.out.show("", unplaced_picture(pod, reason))


def _plain_classes(found: ClassPlacement) -> list[dict[str, Any]]:
    free, used = found.free(), {node: in_use(found.state, node) for node in found.state.nodes}
    return [
        {
            "name": name,
            "allocatable": status.allocatable,
            "requested": status.requested,
            "free": free[name],
            "devices": [
                {
                    "node": node,
                    "device": device.name,
                    "quantity": device.quantity,
                    "requested": used[node].get(device.name, 0),
                }
                for node, device in selected(found.state, name)
            ],
        }
        for name, status in statuses(found.state).items()
    ]


def _plain_pod(pod: str, outcome: PodOutcome) -> dict[str, Any]:
    match outcome:
        case PodPlaced(grant):
            uses = [
                {"class": use.class_name, "device": use.device, "quantity": use.quantity}
                for use in grant.uses
            ]
            annotations = annotations_of(grant.uses)
            return {"pod": pod, "node": grant.node, "devices": uses, "annotations": annotations}
        case PodUnplaced(reason) | EventRefused(reason):
            return {"pod": pod, "unschedulable": True, "reason": reason}
