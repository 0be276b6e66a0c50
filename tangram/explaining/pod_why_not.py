"""``tangram explain --why-not`` of pods that ask by amounts: what keeps one from a node, or from a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.pod_reasons.device import PodDevice, pod_device
from scheduler_core.frontends.pod_reasons.refused import PodFits, refused_pod, short_reason
from scheduler_core.frontends.pods.many_nodes import place_pods
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided
from tangram.allocation_input import AllocationInput
from tangram.explaining.asked import asked_in
from tangram.explaining.pod_refusal import refused_pictures, refused_value
from tangram.explaining.remedies import remedies_value
from tangram.explaining.why_not import named_device
from tangram.face import DOES_NOT_FIT, DONE
from tangram.pictures.advice.why_not import to_get_it_picture
from tangram.program.fitting import Hanging
from tangram.told import Told
from tangram.undecided import undecided_told


@dataclass(frozen=True, slots=True)
class Subject:
    """The node or device that is asked about. Shape: ``device`` None for the node; ``node`` sees it."""

    node: Node
    device: DeviceId | None


@dataclass(frozen=True, slots=True)
class Gets:
    """What a pod gets for its amounts, and where."""

    node: str
    devices: tuple[DeviceId, ...]


def why_not_of_pods(wanted: str, pods: Sequence[PodAsk], asked: AllocationInput, fits: PodFits) -> Told:
    """Explain one node or device for pods of a file, each in its turn. Raises: BadInput."""
    known = asked_in(asked).known
    nodes = {node.name: node for node in known}
    subject = Subject(nodes[wanted], None) if wanted in nodes else _named(wanted, asked, known)
    found: list[Told] = []
    for one in place_pods(pods, fits.placer, asked.nodes, fits.tables):  # it holds nothing yet
        found.append(why_not_of_pod(one.ask, subject, fits, _gets(one.placed)))
    values = [{"pod": ask.subject, **told.value} for ask, told in zip(pods, found, strict=True)]
    pictures = [picture for told in found for picture in told.pictures]
    return Told(max(told.status for told in found), {"pods": values}, tuple(pictures))


def _named(wanted: str, asked: AllocationInput, known: Sequence[Node]) -> Subject:
    device, node = named_device(wanted, asked.cluster, known)
    return Subject(node, device)


def _gets(placed: PlacedPod | None) -> Gets | None:
    if placed is None:
        return None
    return Gets(placed.node, tuple(one for mine in placed.devices.values() for each in mine for one in each))


def why_not_of_pod(ask: PodAsk, subject: Subject, fits: PodFits, gets: Gets | None) -> Told:
    """Explain one node or device for one pod. Shape: ``gets`` None where it gets nothing."""
    if subject.device is not None:
        return _of_device(ask, subject.device, subject.node, fits, gets)
    node = subject.node
    match fits.placer.place(ask, node, fits.tables.get(node.name)):
        case JointRefusal() as refusal:
            return refused_told(ask, node, fits, short_reason(refusal))
        case Undecided() as undecided:
            return undecided_told(undecided)
        case PlacedPod():
            return _fits(ask, node, gets)


def refused_told(ask: PodAsk, node: Node, fits: PodFits, why: str) -> Told:
    """Say why a pod does not fit on one node, and what would help there."""
    found = refused_pod(ask, fits, [node], {node.name: why})
    head = Text(f"{ask.subject} does not fit on {node.name}", style="bold red")
    value = {"allocated": False, "node": node.name, **refused_value(found)}
    return Told(DOES_NOT_FIT, value, (head, Hanging(f"  {why}"), "", *refused_pictures(found)))


def _fits(ask: PodAsk, node: Node, gets: Gets | None) -> Told:
    where = None if gets is None else gets.node
    value = {"allocated": True, "node": node.name, "chosen": where}
    if where is None:
        return Told(DONE, value, (f"{ask.subject} fits on {node.name}",))
    if where == node.name:
        return Told(DONE, value, (f"{ask.subject} fits on {node.name}, and it is the node that is chosen",))
    return Told(
        DONE, value, (f"{ask.subject} fits on {node.name}, and {where} is chosen: it is tried first",)
    )


def _of_device(ask: PodAsk, device: DeviceId, node: Node, fits: PodFits, gets: Gets | None) -> Told:
    found = pod_device(ask, device, node, fits.placer, () if gets is None else gets.devices)
    pictures = tuple(_pictures(ask, found))
    return Told(DONE if found.is_possible else DOES_NOT_FIT, _value(found), pictures)


def _pictures(ask: PodAsk, found: PodDevice) -> Iterator[RenderableType]:
    device = found.device
    if found.is_given:
        yield Hanging(f"{device.device} of {device.pool} is given to {ask.subject}")
        return
    yield Text(f"why not {device.device} of {device.pool}", style="bold")
    yield Hanging(f"  {ask.subject}: {found.why}")
    yield to_get_it_picture(found.remedies, found.instead)


def _value(found: PodDevice) -> dict[str, Any]:
    return {
        "device": str(found.device),
        "node": found.node,
        "given": found.is_given,
        "isPossible": found.is_possible,
        "why": found.why,
        "remedies": remedies_value(found.remedies),
        "instead": list(map(str, found.instead)),
    }
