"""Draws simulations as an SVG: the use of the GPUs, their fragmentation, and who waits, over time.

Policies differ in colour and in dashes, so the chart is readable without colour; it is light or dark as the
reader's screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Final

from tangram.planning.course import Sample
from tangram.planning.simulated import Run
from tangram.planning.times import duration

_WIDTH: Final = 860
_LEFT: Final = 70
_RIGHT: Final = 20
_PANEL: Final = 150
_GAP: Final = 52
_TOP: Final = 92
_STYLE: Final = """
svg { background: #ffffff; font: 13px sans-serif; }
text { fill: #1f2328; }
.axis { stroke: #8c959f; fill: none; }
.grid { stroke: #d8dee4; fill: none; }
.line { fill: none; stroke-width: 2; }
.p0 { stroke: #0550ae; }
.p1 { stroke: #bc4c00; stroke-dasharray: 6 3; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; }
  text { fill: #e6edf3; }
  .grid { stroke: #30363d; }
  .p0 { stroke: #6cb6ff; }
  .p1 { stroke: #f69d50; }
}
"""

_Figure = Callable[[Sample], float]


def chart(runs: Mapping[str, Run], title: str) -> str:
    """Return an SVG document. Shape: ``runs`` by policy, at most two, each with a sample at least."""
    panels: tuple[tuple[str, _Figure, str], ...] = (
        ("GPUs in use, %", lambda one: 100 * one.in_use, "%"),
        ("fragmentation, %", lambda one: 100 * one.fragmentation, "%"),
        ("waiting", lambda one: one.waiting, ""),
    )
    height = _TOP + len(panels) * (_PANEL + _GAP)
    end = max((one.at for run in runs.values() for one in run.samples), default=0.0) or 1.0
    body = [
        f'<text x="{_LEFT}" y="26" font-size="16" font-weight="bold">{escape(title)}</text>',
        *_legend(runs),
    ]
    for number, (name, figure, unit) in enumerate(panels):
        top = _TOP + number * (_PANEL + _GAP)
        body += [f'<text x="{_LEFT}" y="{top - 8}" font-weight="bold">{escape(name)}</text>']
        body += _panel(runs, figure, unit, top, end)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *body, "</svg>", ""])


def _legend(runs: Mapping[str, Run]) -> Iterator[str]:
    for number, name in enumerate(runs):
        left = _LEFT + number * 150
        yield f'<line class="line p{number}" x1="{left}" y1="46" x2="{left + 34}" y2="46"/>'
        yield f'<text x="{left + 42}" y="50">{escape(name)}</text>'


def _panel(runs: Mapping[str, Run], figure: _Figure, unit: str, top: int, end: float) -> Iterator[str]:
    most = 100.0 if unit else max([figure(one) for run in runs.values() for one in run.samples] or [0.0])
    most = most or 1.0
    bottom, right = top + _PANEL, _WIDTH - _RIGHT
    for share in (0, 0.5, 1):
        y = bottom - share * _PANEL
        yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share * most:.4g}</text>'
    yield f'<polyline class="axis" points="{_LEFT},{top} {_LEFT},{bottom} {right},{bottom}"/>'
    for share, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
        x = _LEFT + share * (right - _LEFT)
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="{anchor}">{duration(share * end)}</text>'
    for number, run in enumerate(runs.values()):
        points = " ".join(
            f"{_LEFT + one.at / end * (right - _LEFT):.1f},{bottom - figure(one) / most * _PANEL:.1f}"
            for one in run.samples
        )
        yield f'<polyline class="line p{number}" points="{points}"/>'
