"""Random sequences of claims for one GPU node in all modes, on which two allocators must agree.

A question depends only on a seed and a number: it says in which modes each of two GPUs is offered, and which
claims come one after the other. The slices are what the agent publishes for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import count
from random import Random
from typing import Final

from agent.inventory import as_mode_allows, describe, discover
from agent.inventory.model import Inventory
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.slices import v1_slices
from tangram.bench.objects import FEATURES, Json, claim, device_class, on_node, question, request
from tangram.machines import Machines
from tangram.program.throwaway import throwaway_folder

FAMILY: Final = "modes"
NODE: Final = "a100x2"
_DRIVER: Final = "tangram.dev"
_CLAIMS: Final = 12
_MODES: Final = (
    ModesOfGpu(shared=50, mps=50),
    ModesOfGpu(shared=30, mps=60),
    ModesOfGpu(shared=100, mps=100),
    ModesOfGpu(whole=False, shared=50, mps=50),
    ModesOfGpu(mig=False, shared=50, mps=50),
    ModesOfGpu(mps=100),
)
_TYPES: Final = ("gpu", "mig", "gpu-shared", "gpu-mps")
_SHARED: Final = ("gpu-shared", "gpu-mps")
_MEMORY: Final = ("1", "1Gi", "5Gi", "12Gi", "20Gi", "40Gi")
_CLASSES: Final = [
    device_class(one, f'device.driver == "{_DRIVER}" && device.attributes["{_DRIVER}"].type == "{one}"')
    for one in _TYPES
]


class ModeQuestions:
    """Makes the questions of one machine."""

    def __init__(self, machines: Machines) -> None:
        with throwaway_folder() as folder:
            readers = machines.simulated(NODE, folder / NODE).machine.readers
            self._inventory: Inventory = as_mode_allows(discover(readers, NODE))
        self._slices = cache(self._described)

    def questions(self, seed: int) -> Iterator[Json]:
        """Yield questions without end."""
        for number in count():
            yield self.question(seed, number)

    def question(self, seed: int, number: int) -> Json:
        """Return one question; its name says how to make it again."""
        chance = Random(f"{FAMILY}-{seed}-{number}")
        slices = self._slices(chance.randrange(len(_MODES)), chance.randrange(len(_MODES)))
        claims = [_claim(chance, f"c{index:02d}") for index in range(_CLAIMS)]
        features = (*FEATURES, "DRADeviceCompatibilityGroups")
        asked = question(f"{FAMILY}-{seed}-{number:05d}", slices, _CLASSES, claims, features=features)
        return asked | on_node(NODE) | {"sequence": True}

    def _described(self, first: int, second: int) -> tuple[Json, ...]:
        modes = GpuModes(by_number={0: _MODES[first], 1: _MODES[second]})
        return v1_slices(describe(replace(self._inventory, modes=modes), _DRIVER))


def _claim(chance: Random, name: str) -> Json:
    kind = chance.choices(_TYPES, (1, 3, 3, 3))[0]
    own = f'device.attributes["{_DRIVER}"]'
    profile = chance.choice(("1g.5gb", "2g.10gb", "3g.20gb"))
    selector = f'{own}.profile == "{profile}"' if kind == "mig" else None
    wanted = request("r", kind, selector)
    if kind in _SHARED and chance.random() < 9 / 10:
        wanted["exactly"]["capacity"] = {"requests": _amounts(chance)}
    return claim(name, [wanted])


def _amounts(chance: Random) -> Json:
    amounts = {"memory": chance.choice(_MEMORY)}
    if chance.random() < 1 / 3:
        amounts["multiprocessors"] = str(chance.choice((1, 14, 49)))
    return amounts
