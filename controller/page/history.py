"""PURE: use and fragmentation over time, bounded: when it is full, every other point goes."""

from __future__ import annotations

from typing import Final

from controller.page.value import Point

MOST: Final = 720
FIRST_S: Final = 5.0


class History:
    """Points in order of time, as far apart as the room for them allows. Units: seconds."""

    def __init__(self) -> None:
        self._points: list[Point] = []
        self._apart_s = FIRST_S

    @property
    def points(self) -> tuple[Point, ...]:
        """Return the points."""
        return tuple(self._points)

    def is_due(self, now: float) -> bool:
        """Whether a point should be added now."""
        return not self._points or not 0 <= now - self._points[-1].at < self._apart_s

    def add(self, point: Point) -> None:
        """Add a point. Those that are later than it go: the clock was set back."""
        self._points = [one for one in self._points if one.at < point.at]
        if len(self._points) >= MOST:
            self._points = self._points[::2]
            self._apart_s *= 2
        self._points.append(point)
