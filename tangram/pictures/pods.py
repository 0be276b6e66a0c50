"""Draws pods: the devices that each got and their place, or why it got none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.pod_request import PodAsk
from tangram.program.fitting import Column, FittingTable, Hanging


def placed_picture(ask: PodAsk, placed: PlacedPod) -> RenderableType:
    """List the devices of a pod."""
    rows = list[Sequence[str]]()
    for kind, chosen in placed.node_devices.items():
        for one, devices in zip(chosen, placed.devices[kind], strict=True):
            names = ", ".join(one.device for one in devices)
            rows.append((kind, str(one.number), *_place(one), names))
    return Group(Text(f"{ask.subject} on {placed.node}", style="bold"), _table("device", rows))


def refused_picture(ask: PodAsk, refused: Mapping[str, JointRefusal]) -> RenderableType:
    """Say why a pod fits nowhere, a line per node."""
    head = Text(f"{ask.subject} does not fit", style="bold red")
    lines = (Hanging(f"  on {node}: {one.kind}: {one.detail}") for node, one in refused.items())
    return Group(head, *lines)


def offered_picture(
    ask: PodAsk, offers: Mapping[str, Sequence[NodeDevice]], placed: PlacedPod | None
) -> RenderableType:
    """List everything that the pod could have got, and why it did not."""
    rows = list[Sequence[str]]()
    for kind, chosen in offers.items():
        given = {one.number for one in placed.node_devices[kind]} if placed is not None else set()
        for one in chosen:
            state = "given" if one.number in given else (one.why or "free")
            rows.append((kind, str(one.number), *_place(one), state))
    return Group(Text(f"what {ask.subject} could choose from", style="bold"), _table("state", rows))


def _table(last: str, rows: Sequence[Sequence[str]]) -> FittingTable:
    heads = (Column(head) for head in ("type", "number", "PCIe", "NUMA"))
    return FittingTable((*heads, Column(last, is_prose=True)), rows)


def _place(one: NodeDevice) -> tuple[str, str]:
    return (
        "–" if one.pcie is None else str(one.pcie),
        "–" if one.numa is None else str(one.numa),
    )
