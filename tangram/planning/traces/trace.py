"""A trace as a value, and what makes one: claims are named once, however often they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import Claim, ClaimRef, DeviceClass, DeviceRequest, Request
from scheduler_core.planning.kinds import DeviceKind
from scheduler_core.planning.simulation import Arrival, in_order
from tangram.errors import BadInput

MOST: Final = 1_000_000
"""Arrivals that a trace may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What arrives.

    Shape: ``asks`` the claims of each ask, allocated together on one node; ``arrivals`` by time; ``notes``
           are sentences about what the file has and the trace has not.
    Units: seconds.
    """

    asks: Sequence[Sequence[Claim]]
    arrivals: tuple[Arrival, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What a trace may ask for. Shape: ``claims`` those of files, ``kinds`` those of the nodes."""

    kinds: Sequence[DeviceKind]
    classes: Mapping[str, DeviceClass]
    claims: Sequence[Claim] = ()
    driver: str = ""

    def claim(self, name: str) -> Claim:
        """Return a claim by its name, with or without its namespace. Raises: ValueError."""
        found = [one for one in self.claims if name in (one.ref.name, str(one.ref))]
        if len(found) != 1:
            known = ", ".join(str(one.ref) for one in self.claims) or "none: give files with --claim"
            raise ValueError(f"must name one of the claims ({known})")
        return found[0]

    def of_kind(self, name: str, count: int, namespace: str) -> Claim:
        """Return a claim for devices of a kind. Raises: ValueError."""
        found = [one for one in self.kinds if one.name == name]
        found.sort(key=lambda one: one.driver != self.driver)
        if not found:
            known = ", ".join(sorted({one.name for one in self.kinds}))
            raise ValueError(f"must be a profile or type that some node has ({known})")
        return found[0].claim(ClaimRef(namespace, name), count)

    def of_class(self, name: str, count: int, namespace: str) -> Claim:
        """Return a claim for devices of a class. Raises: ValueError."""
        if name not in self.classes:
            known = ", ".join(sorted(one for one in self.classes if "/" not in one))
            raise ValueError(f"must be a DeviceClass that is known ({known})")
        asked = DeviceRequest(name="devices", class_name=name, count=count)
        request = Request(name=asked.name, alternatives=(asked,))
        return Claim(ref=ClaimRef(namespace, name), requests=(request,))


@dataclass(slots=True)
class TraceBuilder:
    """Collects arrivals. Shape: ``place`` stands for the file in messages."""

    place: str
    _asks: list[tuple[Claim, ...]] = field(default_factory=list)
    _numbers: dict[object, int] = field(default_factory=dict)
    _arrivals: list[Arrival] = field(default_factory=list)

    def ask(self, key: object, claims: Iterable[Claim]) -> int:
        """Return the number of an ask; ``claims`` are those of a new key."""
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._asks)
            self._asks.append(tuple(claims))
        return found

    def knows(self, key: object) -> bool:
        """Whether an ask has a number."""
        return key in self._numbers

    def arrive(self, at: float, stays: float | None, ask: int) -> None:
        """Add an arrival. Raises: BadInput where there are too many."""
        if len(self._arrivals) >= MOST:
            raise BadInput(f"{self.place}: has more than {MOST:,} arrivals")
        self._arrivals.append(Arrival(at, stays, ask))

    def trace(self, notes: Iterable[str] = ()) -> Trace:
        """Return the trace, which begins at 0. Raises: BadInput where nothing arrives."""
        if not self._arrivals:
            raise BadInput(f"{self.place}: no claim arrives")
        first = min(one.at for one in self._arrivals)
        moved = (replace(one, at=one.at - first) for one in self._arrivals)
        return Trace(asks=tuple(self._asks), arrivals=in_order(moved), notes=tuple(notes))
