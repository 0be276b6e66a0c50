"""State diagrams of the pages as SVG, drawn when the site is built: no script and no network when it is read.

In goes a page with ``mermaid`` blocks, out comes the page with pictures in their place. Of Mermaid's language
is drawn what the pages use: ``stateDiagram-v2``, ``A --> B: label`` and ``[*] --> A``. The states stand on a
ring, in an order in which few arrows go across it: for a life of few states that is layout enough.
"""

from __future__ import annotations

import html
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BLOCK: Final = re.compile(r"^```mermaid\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_ARROW: Final = re.compile(r"\s*(\[\*\]|\w+) --> (\w+)(?:: (.+))?")
_START: Final = "[*]"
_WIDTH, _HEIGHT = 880, 480
_RING: Final = (220.0, 150.0)
_BOX: Final = (60.0, 20.0)
"""Half a state's width and height."""
_LOOP, _BESIDE, _DOT, _APART = 60.0, 80.0, 7.0, 12.0
_MOST_STATES: Final = 7

Point = tuple[float, float]


class CannotDraw(Exception):
    """A diagram says something that is not drawn here; the message has the line."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """One arrow of a diagram. Shape: ``start`` is ``[*]`` for the beginning."""

    start: str
    end: str
    label: str


def with_pictures(markdown: str) -> str:
    """Return a page whose diagrams are pictures. Raises: CannotDraw."""
    return _BLOCK.sub(lambda found: f"{picture(found[1])}\n", markdown)


def arrows(text: str) -> list[Arrow]:
    """Return the arrows of a state diagram. Raises: CannotDraw."""
    kind, *lines = [line for line in text.splitlines() if line.strip()] or [""]
    if kind.strip() != "stateDiagram-v2":
        raise CannotDraw(f"draw a diagram: {kind!r} is not stateDiagram-v2, the only kind that is drawn")
    found = []
    for line in lines:
        parts = _ARROW.fullmatch(line)
        if parts is None:
            raise CannotDraw(f"draw a diagram: {line.strip()!r} is not STATE --> STATE: LABEL")
        found.append(Arrow(parts[1], parts[2], parts[3] or ""))
    return found


def picture(text: str) -> str:
    """Return a state diagram as a line of HTML, in the colours of the text around it. Raises: CannotDraw."""
    found = arrows(text)
    names = _around(found)
    places = {name: _on_ring(number, len(names)) for number, name in enumerate(names)}
    pairs = {(one.start, one.end) for one in found}
    said = "; ".join(f"{one.start} to {one.end}: {one.label}" for one in found if one.start != _START)
    parts = (
        f'<div class="diagram"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" ',
        f'aria-label="{html.escape(said)}">',
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" ',
        'orient="auto"><path d="M0 0L10 5L0 10z"/></marker></defs>',
        *(part for one in found for part in _drawn(one, places, (one.end, one.start) in pairs)),
        *(_state(name, place) for name, place in places.items()),
        "</svg></div>",
    )
    return "".join(parts)


def _around(found: list[Arrow]) -> tuple[str, ...]:
    """Return the states in the order of the ring: the first one first, few arrows between states apart."""
    first, *others = dict.fromkeys(name for one in found for name in (one.start, one.end) if name != _START)
    if len(others) >= _MOST_STATES:
        raise CannotDraw(f"draw a diagram: it has {len(others) + 1} states, at most {_MOST_STATES} are drawn")

    def across(order: tuple[str, ...]) -> int:
        near = {frozenset(pair) for pair in itertools.pairwise((first, *order, first))}
        return sum(len({one.start, one.end}) == 2 and {one.start, one.end} not in near for one in found)

    return first, *min(itertools.permutations(others), key=across)


def _on_ring(number: int, count: int) -> Point:
    angle = math.pi + 2 * math.pi * number / count  # the first one is at the left, the next above
    return _WIDTH / 2 + _RING[0] * math.cos(angle), _HEIGHT / 2 + _RING[1] * math.sin(angle)


def _drawn(arrow: Arrow, places: dict[str, Point], has_reverse: bool) -> Iterator[str]:
    end = places[arrow.end]
    outward = _unit((end[0] - _WIDTH / 2, end[1] - _HEIGHT / 2))
    if arrow.start == _START:
        dot = end[0] - outward[1] * _BESIDE, end[1] + outward[0] * _BESIDE
        yield f'<circle cx="{dot[0]:.0f}" cy="{dot[1]:.0f}" r="{_DOT:.0f}"/>'
        yield _line(dot, _border(end, dot))
    elif arrow.start == arrow.end:
        yield from _loop(arrow.label, end, outward)
    else:
        start = places[arrow.start]
        along = _unit((end[0] - start[0], end[1] - start[1]))
        aside = _APART if has_reverse else 0.0
        first, last = (
            (x - along[1] * aside, y + along[0] * aside)
            for x, y in (_border(start, end), _border(end, start))
        )
        yield _line(first, last)
        yield _label(arrow.label, ((first[0] + last[0]) / 2, (first[1] + last[1]) / 2), "middle")


def _loop(label: str, place: Point, outward: Point) -> Iterator[str]:
    at = _border(place, (place[0] + outward[0] * 1000, place[1] + outward[1] * 1000))
    across = -outward[1], outward[0]
    ends = [(at[0] + across[0] * side, at[1] + across[1] * side) for side in (-14, 14)]
    bends = [
        (x + outward[0] * _LOOP + across[0] * side, y + outward[1] * _LOOP + across[1] * side)
        for (x, y), side in zip(ends, (-24, 24), strict=True)
    ]
    points = " ".join(f"{x:.0f},{y:.0f}" for x, y in (*bends, ends[1]))
    yield f'<path class="arrow" d="M{ends[0][0]:.0f},{ends[0][1]:.0f} C{points}" marker-end="url(#head)"/>'
    anchor = "middle" if abs(outward[0]) < 0.5 else "start" if outward[0] > 0 else "end"
    yield _label(label, (at[0] + outward[0] * _LOOP, at[1] + outward[1] * _LOOP), anchor)


def _border(place: Point, toward: Point) -> Point:
    """Return where the line from a state's middle to a point leaves the state."""
    x, y = toward[0] - place[0], toward[1] - place[1]
    share = min(_BOX[0] / abs(x) if x else math.inf, _BOX[1] / abs(y) if y else math.inf)
    return place[0] + x * share, place[1] + y * share


def _unit(vector: Point) -> Point:
    length = math.hypot(*vector)
    return vector[0] / length, vector[1] / length


def _line(start: Point, end: Point) -> str:
    return (
        f'<path class="arrow" d="M{start[0]:.0f},{start[1]:.0f} L{end[0]:.0f},{end[1]:.0f}" '
        'marker-end="url(#head)"/>'
    )


def _label(text: str, place: Point, anchor: str) -> str:
    return (
        f'<text class="label" x="{place[0]:.0f}" y="{place[1]:.0f}" text-anchor="{anchor}">'
        f"{html.escape(text)}</text>"
    )


def _state(name: str, place: Point) -> str:
    x, y = place[0] - _BOX[0], place[1] - _BOX[1]
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{2 * _BOX[0]:.0f}" height="{2 * _BOX[1]:.0f}" rx="8"/>'
        f'<text x="{place[0]:.0f}" y="{place[1]:.0f}" text-anchor="middle">{html.escape(name)}</text>'
    )
