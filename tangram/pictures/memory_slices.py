"""Draws what is cut from a GPU, as KEP-4815 does: a column per memory slice, a row per profile.

Takes a pool and the holders of its devices. Returns one layout and its picture per source that has memory
slices. It reads counted dimensions only, so it draws both dialects. Where a row has nothing of its own, a
memory slice is *free*, *used* by another row, or *unusable*: nobody holds it, and nothing that takes it fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Final

from rich.text import Text

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.ledger import Ledger
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
    """One source: how many memory slices it has, what is cut from it, by start, and which are free."""

    source: str
    length: int
    cuts: tuple[Cut, ...]
    free: frozenset[int]


def layouts(pool: Pool, held: Mapping[DeviceName, str], new: frozenset[DeviceName]) -> tuple[Layout, ...]:
    """Return the layout of every source of memory slices that a held device is cut from."""
    lengths = {source: _length(dimensions) for source, dimensions in pool.sources.items()}
    found: dict[SourceName, list[Cut]] = {}
    for device, label, parts in _cut(pool, held):
        holders = ", ".join(dict.fromkeys(held[name] for name in parts))
        for source, slices in _slices(device, lengths):
            cut = Cut(label, holders, slices[0], len(slices), not new.isdisjoint(parts))
            found.setdefault(source, []).append(cut)
    free = _free(pool, held, lengths) if found else {}
    return tuple(
        Layout(
            str(source),
            lengths[source],
            tuple(sorted(cuts, key=lambda cut: (cut.start, cut.label))),
            frozenset(free.get(source, ())),
        )
        for source, cuts in found.items()
    )


def _free(
    pool: Pool, held: Mapping[DeviceName, str], lengths: Mapping[SourceName, int]
) -> Mapping[SourceName, set[int]]:
    """Return the memory slices of each source that a device takes which could still be allocated."""
    ledger = Ledger(pool)
    for name, holder in held.items():
        ledger.record(name, holder)
    found: dict[SourceName, set[int]] = {}
    for device in pool.devices:
        if ledger.admits(device.name):
            for source, slices in _slices(device, lengths):
                found.setdefault(source, set()).update(slices)
    return found


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
    """Draw a layout no wider than ``width`` where that leaves a cell three characters.

    A profile whose name is longer than its cells is a letter there, and the letter is told below.
    """
    cell = max(3, min(_WIDEST_CELL, (width - 1) // layout.length - 1))
    rule = "+" + "+".join("-" * cell for _ in range(layout.length)) + "+\n"
    heads = [f"MemSlice {index}" if cell >= _WIDEST_CELL else str(index) for index in range(layout.length)]
    drawn = Text(rule)
    drawn.append("|" + "|".join(head.center(cell) for head in heads) + "|\n" + rule)
    labels = dict.fromkeys(label for _, label in sorted({(-cut.size, cut.label) for cut in layout.cuts}))
    letters, told = iter(ascii_uppercase), list[str]()
    for colour, label in enumerate(labels):
        room = min(cut.size for cut in layout.cuts if cut.label == label) * (cell + 1) - 1
        shown = label if len(label) <= room else next(letters)
        drawn.append_text(_row(layout, label, shown, cell, _COLOURS[colour % len(_COLOURS)]))
        drawn.append(rule)
        told += [] if shown == label else [f"{shown}: {label}\n"]
    drawn.append("".join(told))
    drawn.rstrip()
    return drawn


def _row(layout: Layout, label: str, shown: str, cell: int, colour: str) -> Text:
    """Draw the cuts of one profile, and what the rest of the row is, in steps of the profile's size."""
    cuts = {cut.start: cut for cut in layout.cuts if cut.label == label}
    usual = next(iter(cuts.values())).size
    row, at = Text("|"), 0
    while at < layout.length:
        cut = cuts.get(at)
        size = cut.size if cut else _alike(layout, at, min(usual, _until_next(cuts, at, layout.length)))
        width = size * (cell + 1) - 1
        row.append((shown if cut else _word(layout, at, width)).center(width), _style(cut, colour))
        row.append("|")
        at += size
    return row.append("\n")


def _until_next(cuts: Mapping[int, Cut], at: int, length: int) -> int:
    return min((start for start in cuts if start > at), default=length) - at


def _alike(layout: Layout, at: int, most: int) -> int:
    """Return how many memory slices from ``at`` on are in one state, at most so many."""
    first = _state(layout, at)
    return next((step for step in range(1, most) if _state(layout, at + step) != first), most)


def _state(layout: Layout, index: int) -> tuple[str, str]:
    """Return the word for a memory slice of which a row has nothing, and its sign for narrow cells."""
    if any(cut.start <= index < cut.start + cut.size for cut in layout.cuts):
        return "used", "#"
    return ("free", ".") if index in layout.free else ("unusable", "x")


def _word(layout: Layout, at: int, width: int) -> str:
    word, sign = _state(layout, at)
    return word if len(word) <= width else sign


def _style(cut: Cut | None, colour: str) -> str:
    if cut is None:
        return "dim"
    return f"bold black on {colour}" if cut.is_new else f"black on {colour}"
