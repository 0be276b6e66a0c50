"""Why best-fit took a device and not its rivals, in sentences: what is in the way, or what it would cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.rooms import Room
from scheduler_core.weighing import Rival, Weighed
from tangram.pictures.counted import counted
from tangram.pictures.explanation import listed, negated, sentence, yielded_lines

_LINES: Final = 6  # reasons that are told of one device
_ROOMS: Final = 2  # kinds of parts that a sentence names


def weighed_picture(found: Sequence[Weighed]) -> RenderableType:
    """Tell, per device given, what each rival would have cost or lacked; the costs first."""
    lines: list[Text] = []
    for one in found:
        head = f"{one.claim} request {one.request}: {one.device.device}"
        lines.append(Text(head if one.rivals else f"{head} is the only one that matches", style="bold"))
        lines += negated(_grouped(one.rivals))
        lines += yielded_lines(one.yielded)
    return Group(*lines)


def _grouped(rivals: Sequence[Rival]) -> Iterator[str]:
    """Yield a line for rivals with the same reason, those that could have been had first."""
    alike: dict[str, list[str]] = {}
    for rival in sorted(rivals, key=lambda one: one.obstacle is not None):
        alike.setdefault(reason(rival), []).append(str(rival.device.device))
    for text, names in list(alike.items())[:_LINES]:
        yield f"{listed(names)}: {text}"
    if len(alike) > _LINES:
        rest = sum(map(len, list(alike.values())[_LINES:]))
        yield f"and {counted(rest, 'device')} more, for other reasons"


def reason(rival: Rival) -> str:
    """Return why a rival was not taken."""
    if rival.obstacle is not None:
        return sentence(rival.obstacle)
    if rival.extra == 0:
        return "would leave as much"
    told = "; ".join(map(_room, _telling(rival)))
    if rival.extra > 0:
        return f"would cost more: {told}"
    return f"would cost less: {told}; weighed device by device, that was not seen"


def _telling(rival: Rival) -> Sequence[Room]:
    """Return the rooms that make the difference: those that the rival lowers, or raises."""
    dearer = [room for room in rival.rooms if (room.left < room.kept) == (rival.extra > 0)]
    return dearer[:_ROOMS]


def _room(room: Room) -> str:
    return f"room for {room.left} instead of {room.kept} like {room.like.device}"
