"""Draws what is cut from a GPU, as KEP-4815 does: a column per memory slice, a row per profile.

Takes a pool and the holders of its devices. Returns one layout and its picture per source that has memory
slices. It reads counted dimensions only, so it draws both dialects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from scheduler_core.model.device import Device, DeviceName, SourceName
from scheduler_core.model.names import counter_spelling, domain_and_identifier
from scheduler_core.model.pool import Pool
from tangram.pictures.properties import profile_of

_MEMORY_SLICE: Final = re.compile(r"memory-slice-([0-9]{1,3})")
_WIDEST_CELL: Final = 12  # holds "MemSlice 0", as the KEP draws it
_COLOURS: Final = ("green", "cyan", "magenta", "yellow", "blue", "red")


@dataclass(frozen=True, slots=True)
class Cut:
    """A held device on its source. Units: memory slices. ``is_new`` where it was given just now."""

    label: str
    holder: str
    start: int
    size: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """One source: how many memory slices it has, and what is cut from it, by start."""

    source: str
    length: int
    cuts: tuple[Cut, ...]


def layouts(pool: Pool, held: Mapping[DeviceName, str], new: frozenset[DeviceName]) -> tuple[Layout, ...]:
    """Return the layout of every source of memory slices that a held device is cut from."""
    lengths = {source: _length(dimensions) for source, dimensions in pool.sources.items()}
    found: dict[SourceName, list[Cut]] = {}
    for device, label, parts in _cut(pool, held):
        holders = ", ".join(dict.fromkeys(held[name] for name in parts))
        for source, slices in _slices(device, lengths):
            cut = Cut(label, holders, slices[0], len(slices), not new.isdisjoint(parts))
            found.setdefault(source, []).append(cut)
    return tuple(
        Layout(str(source), lengths[source], tuple(sorted(cuts, key=lambda cut: (cut.start, cut.label))))
        for source, cuts in found.items()
    )


def _cut(pool: Pool, held: Mapping[DeviceName, str]) -> Iterator[tuple[Device, str, Sequence[DeviceName]]]:
    """Yield what is cut from a source, its label, and the held devices that it is or is cut into."""
    parts: dict[DeviceName, list[DeviceName]] = {}
    for device in pool.devices:
        for parent in device.parents if device.name in held else ():
            parts.setdefault(parent, []).append(device.name)
    for device in pool.devices:
        if device.name in held:
            yield device, profile_of(device), [device.name]
        elif device.parents and device.name in parts:
            yield device, f"{profile_of(device)} in parts", parts[device.name]


def _length(dimensions: Mapping[str, object]) -> int:
    return max((index + 1 for index in map(_index, dimensions) if index is not None), default=0)


def _index(dimension: str) -> int | None:
    """Return the number of a memory slice, None for any other dimension of either dialect."""
    match = _MEMORY_SLICE.fullmatch(counter_spelling(domain_and_identifier(dimension)[1]))
    return int(match[1]) if match else None


def _slices(device: Device, lengths: Mapping[SourceName, int]) -> Iterator[tuple[SourceName, list[int]]]:
    own = SourceName(device.name)
    if not device.draws and lengths.get(own):  # a source that is held whole draws nothing
        yield own, list(range(lengths[own]))
    for draw in device.draws:
        slices = sorted(index for index in map(_index, draw.amounts) if index is not None)
        if slices:
            yield draw.source, slices


def picture(layout: Layout, width: int) -> Text:
    """Draw a layout no wider than ``width`` where that leaves a cell three characters."""
    cell = max(3, min(_WIDEST_CELL, (width - 1) // layout.length - 1))
    rule = "+" + "+".join("-" * cell for _ in range(layout.length)) + "+\n"
    heads = [f"MemSlice {index}" if cell >= _WIDEST_CELL else str(index) for index in range(layout.length)]
    drawn = Text(rule)
    drawn.append("|" + "|".join(head.center(cell) for head in heads) + "|\n" + rule)
    labels = sorted({(-cut.size, cut.label) for cut in layout.cuts})
    for colour, (_, label) in enumerate(labels):
        row = [cut for cut in layout.cuts if cut.label == label]
        drawn.append_text(_row(row, layout.length, cell, _COLOURS[colour % len(_COLOURS)]))
        drawn.append(rule)
    drawn.rstrip()
    return drawn


def _row(cuts: list[Cut], length: int, cell: int, colour: str) -> Text:
    """Draw the cuts of one profile; the rest of the row is crossed out in steps of its size."""
    row, at = Text("|"), 0
    while at < length:
        cut = next((cut for cut in cuts if cut.start == at), None)
        following = min((cut.start for cut in cuts if cut.start > at), default=length)
        size = cut.size if cut else min(cuts[0].size, following - at)
        text = (cut.label if cut else "X").center(size * (cell + 1) - 1)[: size * (cell + 1) - 1]
        row.append(text, style=_style(cut, colour)).append("|")
        at += size
    return row.append("\n")


def _style(cut: Cut | None, colour: str) -> str:
    if cut is None:
        return "dim"
    return f"bold black on {colour}" if cut.is_new else f"dim {colour} reverse"
