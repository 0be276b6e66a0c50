"""Draws why a request does not get one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.advice.remedies import EndClaims
from scheduler_core.advice.sentences import remedy_text
from scheduler_core.advice.why_not import DeviceVerdict
from scheduler_core.model.device import DeviceId
from scheduler_core.model.funnel import Stage, StageKind
from scheduler_core.model.sentences import obstacle_text
from tangram.program.fitting import Hanging

_NAMES: Final = 3  # devices that a sentence names before it says "and N more"


def device_picture(
    device: DeviceId, verdicts: Sequence[DeviceVerdict], costs: Sequence[str]
) -> RenderableType:
    """Say, per request, what keeps the device from it; ``costs`` say why others were preferred."""
    lines: list[RenderableType] = [Text(f"why not {device.device} of {device.pool}", style="bold")]
    lines += [Hanging(f"  {one.claim} request {one.request}: {_why(one)}") for one in verdicts]
    lines += [Hanging(f"  {one}") for one in costs]
    return Group(*lines)


def to_get_it_picture(remedies: Sequence[EndClaims], instead: Sequence[DeviceId]) -> RenderableType:
    """Say which claims to end to get the device, and which devices are given without it."""
    lines = [Hanging(f"  To get it, {remedy_text(one)}") for one in remedies]
    if instead:
        named = ", ".join(one.device for one in instead[:_NAMES])
        rest = f" and {len(instead) - _NAMES} more" if len(instead) > _NAMES else ""
        lines.append(Hanging(f"  Given instead: {named}{rest}"))
    return Group(*lines)


def given_picture(device: DeviceId, given: Sequence[str]) -> RenderableType:
    """Say who gets the device."""
    return Hanging(f"{device.device} of {device.pool} is given to {', '.join(given)}")


def _why(verdict: DeviceVerdict) -> str:
    if not verdict.is_seen:
        return "the node cannot use it: it belongs to other nodes, is invalid, or its pool is incomplete"
    if verdict.stage is not None:
        return _unmet(verdict.stage)
    if verdict.obstacle is not None:
        return obstacle_text(verdict.obstacle)
    return "it matches and could be had; another device is preferred, or the other requests need it"


def _unmet(stage: Stage) -> str:
    """Return what the device does not meet, and what it has instead."""
    if stage.kind is StageKind.CLASS:
        what = f"it is not of class {stage.place or stage.asked}"
        what += f": {stage.asked} is false" if stage.place else ""
    elif stage.kind is StageKind.CAPACITY:
        what = f"it has less than {stage.asked}"
    else:
        what = f"{stage.asked} ({stage.place}) is false"
    has = ", ".join(
        f"its {one.name.rpartition('/')[2]} is {value}" for one in stage.values for value in one.found
    )
    return f"{what}; {has}" if has else what
