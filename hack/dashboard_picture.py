"""Draw the Grafana dashboard with sample values into ``docs/dashboard.svg``.

It is no picture of Grafana: panels, titles, places and legends are those of the dashboard's file, the curves
are made up. ``--check`` changes nothing and fails where the picture is of another dashboard.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).resolve().parent.parent
DASHBOARD: Final = ROOT / "deploy/manifests/monitoring/grafana/tangram.json"
PICTURE: Final = ROOT / "docs/dashboard.svg"
_CELL: Final = (40, 22)
"""Width and height of a cell of Grafana's grid, in pixels of the picture."""
_COLOURS: Final = ("#73bf69", "#f2cc0c", "#5794f2", "#ff9830")
_NUMBERS: Final = {"Nodes": "12", "Prepared claims": "87"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the picture, or check it with ``--check``; return 1 where it differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the picture differs")
    check = parser.parse_args(arguments).check
    wanted = picture(json.loads(DASHBOARD.read_text(encoding="utf-8")))
    if not check:
        PICTURE.write_text(wanted, encoding="utf-8")
        return 0
    is_same = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == wanted
    if not is_same:
        print(f"{PICTURE}: is of another dashboard; run make dashboard-picture", file=sys.stderr)
    return int(not is_same)


def picture(dashboard: Mapping[str, Any]) -> str:
    """Return the picture of a dashboard. Shape: SVG."""
    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    width, height = 24 * _CELL[0], rows * _CELL[1] + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="#111217"/>',
        _text(8, 20, f"{dashboard['title']} (sample values)", 14, "#ffffff"),
    ]
    for panel in dashboard["panels"]:
        lines += _panel(panel)
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Mapping[str, Any]) -> Iterator[str]:
    place = panel["gridPos"]
    x, y = place["x"] * _CELL[0], place["y"] * _CELL[1] + 30
    width, height = place["w"] * _CELL[0], place["h"] * _CELL[1]
    if panel["type"] == "row":
        yield _text(x + 8, y + 16, f"▾ {panel['title']}", 13, "#ccccdc")
        return
    size = f'width="{width - 4}" height="{height - 4}"'
    yield f'<rect x="{x + 2}" y="{y + 2}" {size} fill="#181b1f" stroke="#2c3235"/>'
    yield _text(x + 10, y + 18, panel["title"], 11, "#ccccdc")
    if panel["type"] == "stat":
        number = _NUMBERS.get(panel["title"], "0")
        yield _text(x + width // 2 - 12 * len(number) // 2, y + height // 2 + 18, number, 28, _COLOURS[0])
    elif panel["type"] == "table":
        yield from _table(panel, x, y)
    else:
        yield from _curves(panel, x, y, width, height)


def _curves(panel: Mapping[str, Any], x: int, y: int, width: int, height: int) -> Iterator[str]:
    """Yield a curve for each query, and the legend as the query gives it."""
    for number, target in enumerate(panel["targets"]):
        colour = _COLOURS[number % len(_COLOURS)]
        base, swing = y + height * (0.55 - 0.2 * number), height * 0.1
        points = " ".join(
            f"{x + 12 + step * (width - 24) / 40:.0f},{base + swing * math.sin(step / 4 + panel['id']):.0f}"
            for step in range(41)
        )
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        yield _text(x + 12 + 150 * number, y + height - 10, f"— {target['legendFormat']}", 10, colour)


def _table(panel: Mapping[str, Any], x: int, y: int) -> Iterator[str]:
    """Yield the columns as the panel orders them, and a made-up row."""
    order = panel["transformations"][0]["options"]["indexByName"]
    sample = {"node": "node-a", "namespace": "training", "pod": "trainer-0", "claim": "trainer-0-gpu"}
    sample |= {"request": "r", "type": "mig", "device": "gpu-0-mig-3g-20gb-4", "profile": "3g.20gb"}
    for number, column in enumerate(sorted(order, key=lambda name: int(order[name]))):
        yield _text(x + 12 + 104 * number, y + 40, column, 11, "#6e9fff")
        yield _text(x + 12 + 104 * number, y + 60, sample.get(column, "MIG-…"), 9, "#ccccdc")


def _text(x: int, y: int, text: str, size: int, colour: str) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}">{escape(text)}</text>'


if __name__ == "__main__":
    sys.exit(main())
