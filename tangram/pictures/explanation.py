"""Draws why claims fit or do not fit: sentences, and the holders of GPUs in the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.explain.first_fit_reasons import FirstFitChoice
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.funnel import Funnel
from scheduler_core.model.pool import Pool
from scheduler_core.model.refusal import Considered, ConstraintValues, Demand, RequestOf
from scheduler_core.model.sentences import obstacle_text
from tangram.pictures.advice.funnel import funnel_lines
from tangram.pictures.counted import counted
from tangram.pictures.memory_slices import layouts, picture
from tangram.program.fitting import Hanging

_NAMES: Final = 3  # devices that a line names before it says "and N more"
_LINES: Final = 8  # obstacles printed for one request
_BAR: Final = 40  # characters of a bar of devices, at most


def demands_picture(demands: Sequence[Demand], funnels: Sequence[Funnel]) -> RenderableType:
    """Say, per request, how many devices each thing leaves that it asks, and what is in their way."""
    lines: list[RenderableType] = []
    by_request = {(one.claim, one.request): one for one in funnels}
    for names, demand in _alike(demands):
        lines.append(Hanging(Text(f"{demand.claim} {names}: {found(demand)}", style="bold")))
        lines += funnel_lines(by_request[demand.claim, demand.request])
        if demand.matched:
            lines.append(_bar(demand))
        lines += [Hanging(f"    {line}") for line in obstacles(demand.matched)]
    return Group(*lines)


def _alike(demands: Sequence[Demand]) -> Iterator[tuple[str, Demand]]:
    """Yield demands that ask for the same once, with the names of their requests."""
    alike: dict[object, list[Demand]] = {}
    for demand in demands:
        key = (demand.claim, demand.needed, tuple(one.device for one in demand.matched))
        alike.setdefault(key, []).append(demand)
    for same in alike.values():
        names = listed([demand.request for demand in same])
        yield (f"request {names}" if len(same) == 1 else f"requests {names} each"), same[0]


def found(demand: Demand) -> str:
    """Return what a request needs and what it finds."""
    matched = counted(len(demand.matched), "device")
    verb = "match" if len(demand.matched) > 1 else "matches"
    free = f", {demand.free or 'none'} of them free" if demand.matched else ""
    return f"needs {demand.needed or 'all'}, {matched} {verb}{free}"


def _bar(demand: Demand) -> Text:
    """Draw a square per device, full where it could not be had."""
    bar = Text("    ")
    for one in demand.matched[:_BAR]:
        is_free = one.obstacle is None
        bar.append("□" if is_free else "■", style="green" if is_free else "red")
    return bar.append(" …" if len(demand.matched) > _BAR else "")


def obstacles(considered: Sequence[Considered]) -> Iterator[str]:
    """Yield a line for devices with the same obstacle, free ones left out."""
    alike: dict[str, list[DeviceId]] = {}
    for one in considered:
        if one.obstacle is not None:
            alike.setdefault(obstacle_text(one.obstacle), []).append(one.device)
    for text, devices in list(alike.items())[:_LINES]:
        yield f"{listed([str(one.device) for one in devices])}: {text}"
    if len(alike) > _LINES:
        yield f"and {counted(sum(map(len, list(alike.values())[_LINES:])), 'device')} more, for other reasons"


def listed(names: Sequence[str]) -> str:
    """Return names in a row, the first few of many."""
    rest = len(names) - _NAMES
    shown = ", ".join(names[:_NAMES])
    return f"{shown} and {rest} more" if rest > 0 else shown


def spreads_picture(spreads: Sequence[ConstraintValues]) -> RenderableType:
    """Say what values there are for each constraint."""
    return Group(*(Hanging(f"{spread.claim} {spread}") for spread in spreads))


def conflict_picture(conflict: Sequence[RequestOf], total: int) -> RenderableType:
    """Name the smallest set of requests that do not fit together, of several."""
    if len(conflict) == 1:
        return Hanging(Text(f"{conflict[0]} does not fit even alone", style="bold red"))
    by_claim: dict[str, list[str]] = {}
    for one in conflict:
        by_claim.setdefault(str(one.claim), []).append(one.request)
    names = "; ".join(f"{', '.join(requests)} of {claim}" for claim, requests in by_claim.items())
    of = f"all {total}" if len(conflict) == total else f"{len(conflict)} of {total}"
    told = f"{of} requests do not fit together, any fewer of them do: {names}"
    if total == 2:
        told = f"each of the two requests fits alone, and they do not fit together: {names}"
    return Hanging(Text(told, style="bold red"))


def choices_picture(choices: Sequence[FirstFitChoice]) -> RenderableType:
    """Say, per allocated device, why each device before it was not taken."""
    lines: list[RenderableType] = []
    for choice in choices:
        head = f"{choice.claim} request {choice.request}: {choice.device.device}"
        first = "" if choice.passed else " is the first that matches"
        lines.append(Hanging(Text(f"{head}{first}", style="bold")))
        lines += negated(obstacles(choice.passed))
        lines += yielded_lines(choice.yielded)
    return Group(*lines)


def negated(reasons: Iterable[str]) -> Iterator[RenderableType]:
    """Yield the lines against some devices; the last one may sum up the rest."""
    return (Hanging(f"    {line}" if line.startswith("and ") else f"    not {line}") for line in reasons)


def yielded_lines(yielded: Sequence[Demand]) -> Iterator[RenderableType]:
    """Yield why the alternatives before the one that was taken had to yield."""
    for demand in yielded:
        yield Hanging(f"    not {demand.request}: {found(demand)}{_yielding(demand)}")
        yield from (Hanging(f"        {line}") for line in obstacles(demand.matched))


def _yielding(demand: Demand) -> str:
    has_enough = demand.free >= demand.needed > 0
    return "; with it the requests would not all fit" if has_enough else ""


def holders_picture(
    demands: Sequence[Demand], pools: Sequence[Pool], held: Sequence[AllocatedClaim], width: int
) -> RenderableType | None:
    """Draw what is held of the GPUs that the matching devices are cut from; None where they are none."""
    parts: list[RenderableType] = []
    for pool in pools:
        holders = dict(_holders(pool, held))
        wanted = _sources(pool, {one.device for demand in demands for one in demand.matched})
        for layout in layouts(pool, holders, frozenset()):
            if layout.source in wanted:
                title = f"{layout.source} on {pool.id.name}, as held"
                parts += [Text(title, style="bold"), picture(layout, width)]
    return Group(*parts) if parts else None


def _holders(pool: Pool, held: Sequence[AllocatedClaim]) -> Iterator[tuple[DeviceName, str]]:
    for claim in held:
        for result in claim.results:
            if (result.device.driver, result.device.pool) == (pool.id.driver, pool.id.name):
                yield result.device.device, str(claim.ref)


def _sources(pool: Pool, matched: set[DeviceId]) -> set[str]:
    """Return what the matching devices draw from, and themselves: a source is matched too."""
    devices = [device for device in pool.devices if pool.id_of(device) in matched]
    drawn = {str(draw.source) for device in devices for draw in device.draws}
    return drawn | {str(device.name) for device in devices}
