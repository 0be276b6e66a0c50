"""Says why best-fit took a device and not its rivals: their obstacles, or what they would cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.comparison.best_fit_reasons import BestFitChoice, Rival
from scheduler_core.comparison.elsewhere import Elsewhere
from scheduler_core.comparison.other_nodes import OtherNode
from scheduler_core.comparison.remaining_parts import PartDifference
from scheduler_core.model.sentences import obstacle_text
from tangram.pictures.advice.funnel import node_names
from tangram.pictures.counted import counted
from tangram.pictures.explanation import listed, negated, yielded_lines
from tangram.program.fitting import Hanging

_LINES: Final = 6  # reasons printed for one device
_LATER: Final = "fits, and comes later: the first node that fits is taken"
_KINDS: Final = 2  # kinds of parts that a sentence names


def weighed_picture(found: Sequence[BestFitChoice]) -> RenderableType:
    """Say, per allocated device, what each rival would have cost or lacked; the costs first."""
    lines: list[RenderableType] = []
    for one in found:
        head = f"{one.claim} request {one.request}: {one.device.device}"
        told = head if one.rivals else f"{head} is the only one that matches"
        lines.append(Hanging(Text(told, style="bold")))
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


def elsewhere_picture(found: Elsewhere, *, is_first_fit: bool = False) -> RenderableType:
    """Say what the claims would leave on other nodes, or why they do not fit; equal answers together."""
    alike: dict[str, list[str]] = {}
    for one in found.nodes:
        why = _LATER if is_first_fit and one.refused is None else _there(one)
        alike.setdefault(why, []).extend((one.node, *one.alike))
    lines = [Hanging(f"not {_nodes(names)}: {why}") for why, names in alike.items()]
    if found.rest:
        lines.append(Hanging(f"not {_nodes(found.rest)}: the claims do not fit there either"))
    return Group(*lines)


def _nodes(names: Sequence[str]) -> str:
    return f"node {names[0]}" if len(names) == 1 else f"{len(names)} nodes ({node_names(names)})"


def _there(one: OtherNode) -> str:
    if one.refused is not None:
        return f"does not fit: {str(one.refused).replace(f' of node {one.node} ', ' ')}"
    if one.yields:
        return "gives a less preferred alternative"
    if one.is_compared or one.extra >= 0:
        return _cost(one.extra, one.remaining)
    return f"{_more(one.extra, one.remaining)}; not compared, other nodes have fewer unused devices"


def reason(rival: Rival) -> str:
    """Return why a rival was not taken."""
    return (
        obstacle_text(rival.obstacle) if rival.obstacle is not None else _cost(rival.extra, rival.remaining)
    )


def _cost(extra: float, remaining: Sequence[PartDifference]) -> str:
    """Return what would be left for later claims, by the kinds of parts that cause the difference."""
    if extra == 0:
        return "would leave as much"
    if extra > 0:
        return f"would leave less room: {_causes(extra, remaining)}"
    return f"{_more(extra, remaining)}; best-fit chooses one device after another and missed this"


def _more(extra: float, remaining: Sequence[PartDifference]) -> str:
    return f"would leave more room: {_causes(extra, remaining)}"


def _causes(extra: float, remaining: Sequence[PartDifference]) -> str:
    causes = [one for one in remaining if (one.with_other < one.with_answer) == (extra > 0)]
    return " and ".join(map(_remaining, causes[:_KINDS]))


def _remaining(one: PartDifference) -> str:
    there = counted(one.with_other, "device")
    return f"for {there} like {one.like.device} instead of {one.with_answer}"
