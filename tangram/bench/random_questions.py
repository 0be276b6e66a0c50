"""Random small questions on which two allocators must agree, device by device.

A question depends only on a seed and a number. Parents with counters are cut into overlapping parts. Some
devices have no counters; attributes are sometimes missing or of another type; claims have counts,
alternatives and constraints; some devices are held. All objects are valid; case files test invalid ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Final

from tangram.bench.objects import (
    FEATURES,
    Json,
    Place,
    amounts,
    claim,
    device_class,
    on_node,
    question,
    resource_slice,
    wanted,
)

DRIVER: Final = "parts.example.com"
OTHER: Final = "whole.example.com"
NODE: Final = "node-1"
FAMILIES: Final = {
    "counters": (),
    "groups": ("DRADeviceCompatibilityGroups",),
    "lists": ("DRAListTypeAttributes",),
}
_CLASSES: Final = [
    device_class("any", f'device.driver == "{DRIVER}"'),
    device_class("other", f'device.driver == "{OTHER}"'),
    device_class("part", f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].kind == "part"'),
]
_SELECTORS: Final = (
    f'device.attributes["{DRIVER}"].kind == "part"',
    f'device.attributes["{DRIVER}"].tier >= 2',
    f'device.attributes["{DRIVER}"].tier == 1',
    f'device.attributes["{DRIVER}"].parent == "p0"',
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("2Gi")) >= 0',
)
_MOST_DEVICES: Final = 6  # upstream tries every order of requests: more would take it minutes


def questions(family: str, seed: int) -> Iterator[Json]:
    """Yield the questions of one family, without end."""
    for number in count():
        yield random_question(family, seed, number)


def random_question(family: str, seed: int, number: int) -> Json:
    """Return one question; its name says how to make it again."""
    chance = Random(f"{family}-{seed}-{number}")
    parts = _Parts(chance, family)
    devices, counters = parts.devices(), parts.counters
    slices = list(_slices(chance, devices, counters))
    claims = _claims(chance, parts.constrained)
    in_use = _held(chance, devices)
    features = (*FEATURES, *FAMILIES[family])
    name = f"{family}-{seed}-{number:05d}"
    return question(name, slices, _CLASSES, claims, in_use, features=features) | on_node(NODE)


class _Parts:
    """Parents and what they can be cut into. Shape: ``counters`` one set per parent."""

    def __init__(self, chance: Random, family: str) -> None:
        self._chance, self._family = chance, family
        self._slots = [chance.randint(2, 4) for _ in range(chance.randint(1, 3))]
        self.constrained = ("parent", "tier", "rail", "color", *(("zones",) if family == "lists" else ()))
        self.counters = [
            {"name": f"p{parent}", "counters": amounts(_share(range(slots)))}
            for parent, slots in enumerate(self._slots)
        ]

    def devices(self) -> list[Json]:
        """Return the devices, in the order of the listing."""
        found = [device for parent, slots in enumerate(self._slots) for device in self._of(parent, slots)]
        found += [self._device(f"loose-{number}", "loose", 1) for number in range(self._chance.randint(0, 2))]
        if self._chance.random() < 1 / 3:
            self._chance.shuffle(found)
        return found

    def _of(self, parent: int, slots: int) -> Iterator[Json]:
        sizes = ((slots, "full"), (1, "part"), (2, "part"))
        for size, kind in sizes:
            for start in range(0, slots - size + 1, size):
                if self._chance.random() < 3 / 4:
                    name = f"p{parent}-{kind}-{size}-{start}"
                    device = self._device(name, kind, size) | self._draws(parent, range(start, start + size))
                    device["attributes"]["parent"] = {"string": f"p{parent}"}
                    yield device

    def _device(self, name: str, kind: str, size: int) -> Json:
        attributes: Json = {"kind": {"string": kind}, "parent": {"string": name}, "tier": {"int": size}}
        if self._chance.random() < 3 / 4:
            rail = self._chance.randint(0, 2)
            attributes["rail"] = {"int": rail} if self._chance.random() < 9 / 10 else {"string": str(rail)}
        if self._chance.random() < 3 / 4:
            attributes["color"] = {"string": self._chance.choice(("red", "green", "blue"))}
        if self._family == "lists" and self._chance.random() < 9 / 10:
            attributes["zones"] = self._zones()
        return {"name": name, "attributes": attributes, "capacity": amounts({"memory": f"{size}Gi"})}

    def _zones(self) -> Json:
        zones = self._chance.sample(("a", "b", "c", "d"), self._chance.randint(1, 3))
        return {"string": zones[0]} if self._chance.random() < 1 / 4 else {"strings": zones}

    def _draws(self, parent: int, slots: range) -> Json:
        draw: Json = {"counterSet": f"p{parent}", "counters": amounts(_share(slots))}
        if self._family == "groups" and self._chance.random() < 3 / 4:
            draw["compatibilityGroups"] = self._chance.sample(("x", "y", "z"), self._chance.randint(1, 2))
        return {"consumesCounters": [draw]}


def _share(slots: range) -> dict[str, str]:
    return {"memory": f"{len(slots)}Gi"} | {f"slot-{slot}": "1" for slot in slots}


def _slices(chance: Random, devices: list[Json], counters: list[Json]) -> Iterator[Json]:
    """Yield the slices in any order: their names say in which order they are searched."""
    middle = chance.choice((0, len(devices) // 2))
    pieces = [piece for piece in (devices[:middle], devices[middle:]) if piece]
    place = Place(DRIVER, "parts", len(pieces) + 1, NODE)
    found = [resource_slice("slice-5", place, counters=counters)]
    found += [
        resource_slice(f"slice-{name}", place, devices=piece)
        for name, piece in zip(chance.sample(range(5), len(pieces)), pieces, strict=True)
    ]
    if chance.random() < 1 / 4:
        others = [{"name": f"whole-{number}"} for number in range(chance.randint(1, 3))]
        found.append(resource_slice("slice-6", Place(OTHER, "whole", 1, NODE), devices=others))
    chance.shuffle(found)
    yield from found


def _held(chance: Random, devices: list[Json]) -> list[Json]:
    """Return devices that are in use: of each parent one at most, so that they can be."""
    shuffled = chance.sample(devices, len(devices))
    by_parent = {device["attributes"]["parent"]["string"]: device["name"] for device in shuffled}
    return [
        {"driver": DRIVER, "pool": "parts", "device": name}
        for name in by_parent.values()
        if chance.random() < 1 / 4
    ]


def _claims(chance: Random, attributes: tuple[str, ...]) -> list[Json]:
    left, found = _MOST_DEVICES, []
    for number in range(chance.choice((1, 1, 2))):
        constraints = chance.choice((0, 0, 0, 1, 1, 2))
        requests = []
        for index in range(chance.randint(1, 3)):
            if left:
                size = chance.randint(1, min(2, left))
                left -= size
                requests.append(_request(chance, f"r{index}", size, may_want_all=not constraints))
        rules = (_constraint(chance, requests, attributes) for _ in range(constraints))
        found.append(claim(f"claim-{number}", requests, *rules))
    return found


def _request(chance: Random, name: str, size: int, may_want_all: bool) -> Json:
    def option() -> Json:
        kind = chance.choices(("any", "part", "other"), (6, 3, 1))[0]
        selector = None if kind == "other" or chance.random() < 1 / 2 else chance.choice(_SELECTORS)
        # With a constraint, upstream gives the whole attempt up where it refuses one of all devices.
        number = None if may_want_all and chance.random() < 1 / 20 else size
        return wanted(kind, selector, number)

    if chance.random() < 1 / 4:
        letters = "abc"[: chance.randint(2, 3)]
        return {"name": name, "firstAvailable": [{"name": letter} | option() for letter in letters]}
    return {"name": name, "exactly": option()}


def _constraint(chance: Random, requests: list[Json], attributes: tuple[str, ...]) -> Json:
    kind = chance.choice(("matchAttribute", "distinctAttribute"))
    constraint: Json = {kind: f"{DRIVER}/{chance.choice(attributes)}"}
    if requests and chance.random() < 1 / 2:
        names = [one["name"] for one in requests]
        constraint["requests"] = chance.sample(names, chance.randint(1, len(names)))
    return constraint
