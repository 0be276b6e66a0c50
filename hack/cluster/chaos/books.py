"""What claims hold together, counted from the API server's documents alone: pure.

It shares nothing with the core, so that it can find the core's mistakes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.base.quantity import Quantity

Document = Mapping[str, Any]
Amounts = dict[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Books:
    """What there is on a node: counters, and what each device takes of them. Units: billionths.

    Shape: ``shared`` is the capacity of the devices of which several claims may have shares.
    """

    counters: Amounts = field(default_factory=dict)
    devices: Mapping[str, Amounts] = field(default_factory=dict)
    shared: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, slices: Iterable[Document]) -> Books:
        """Read ResourceSlices of v1."""
        counters: Amounts = {}
        devices: dict[str, Amounts] = {}
        shared: dict[str, Mapping[str, int]] = {}
        for one in slices:
            for found in one["spec"].get("sharedCounters", ()):
                counters |= _amounts(found["name"], found["counters"])
            for device in one["spec"].get("devices", ()):
                taken = devices.setdefault(device["name"], {})
                for used in device.get("consumesCounters", ()):
                    taken |= _amounts(used["counterSet"], used["counters"])
                if device.get("allowMultipleAllocations"):
                    capacity = device.get("capacity", {}).items()
                    shared[device["name"]] = {name: _nano(value["value"]) for name, value in capacity}
        return cls(counters, devices, shared)

    def mistakes(self, claims: Iterable[Document]) -> list[str]:
        """Return what several claims hold at once, and of what they hold more than there is, as sentences."""
        holders: dict[str, list[str]] = defaultdict(list)
        consumed: Counter[tuple[str, str]] = Counter()
        for claim in claims:
            allocation = claim.get("status", {}).get("allocation") or {}
            for result in allocation.get("devices", {}).get("results", ()):
                holders[result["device"]].append(claim["metadata"]["name"])
                for name, value in result.get("consumedCapacity", {}).items():
                    consumed[result["device"], name.rpartition("/")[2]] += _nano(value)
        used: Counter[tuple[str, str]] = Counter()
        for device in holders:
            used.update(self.devices.get(device, {}))
        return [
            *(
                f"device {name} is held by claims {', '.join(who)}"
                for name, who in holders.items()
                if who[1:] and name not in self.shared
            ),
            *(f"device {name} is held and not published" for name in holders if name not in self.devices),
            *(
                f"counter {'/'.join(key)}: {amount} of {self.counters.get(key, 0)} billionths are held"
                for key, amount in used.items()
                if amount > self.counters.get(key, 0)
            ),
            *(
                f"device {name}: {amount} of {self._capacity(name, what)} billionths of {what} are held"
                for (name, what), amount in consumed.items()
                if amount > self._capacity(name, what)
            ),
        ]

    def _capacity(self, device: str, name: str) -> int:
        return self.shared.get(device, {}).get(name, 0)


def _amounts(name: str, counters: Mapping[str, Document]) -> Amounts:
    return {(name, key): _nano(one["value"]) for key, one in counters.items()}


def _nano(text: str) -> int:
    return Quantity.parse(text).nano
