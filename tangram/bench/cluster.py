"""Many nodes of one machine type, with random partitions in use.

A node's devices share all values with those of the next node except its name and the UUIDs. Slices read from
an API server do not share them: so compiling these pools is a benchmark, and building them is not. Seeds are
fixed.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from agent.inventory.names import gpu_name
from scheduler_core.base.features import Features
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_claim, decode_class
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, Claim, ClaimRef, DeviceClass
from scheduler_core.model.device import Device, DeviceId, DeviceName
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.copied import renamed
from tangram.bench.inputs import FILL, FILL_SEED, mig_claim, seed_claim
from tangram.bench.machine import CLASSES, DRIVER, GPUS, SMALL, scattered, whole_gpus
from tangram.bench.objects import FEATURES
from tangram.bench.settings import Settings

_FILLINGS: Final = 48  # machines filled at random; each GPU of a node is like one of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """An engine that knows a cluster. Shape: ``held`` each have one device."""

    engine: Engine
    nodes: tuple[Node, ...]
    held: tuple[AllocatedClaim, ...]


def the_claim() -> Claim:
    """Return the claim of KEP-4815."""
    return decode_claim(seed_claim())


def small_claim() -> Claim:
    """Return a claim for the smallest partition."""
    return decode_claim(mig_claim("small", [SMALL]))


def classes() -> dict[str, DeviceClass]:
    """Return the device classes by name."""
    return {found.name: found for found in map(decode_class, CLASSES)}


def features() -> Features:
    """Return the gates of a cluster of this year."""
    return Features.only(FEATURES, groups="kep-5963")


def new_engine(settings: Settings) -> Engine:
    """Return an engine that knows nothing, and forget every compiled selector."""
    compile_selector.cache_clear()
    return Engine(ClusterState(classes(), features()), settings.policy)


def filled(settings: Settings, count: int) -> Filled:
    """Return a cluster of ``count`` nodes of which 60 % of the memory slices are in use."""
    pool, chance = settings.dgx.pool(), Random(FILL_SEED)
    engine, held = new_engine(settings), list[AllocatedClaim]()
    fillings = list(_fillings(pool, chance))
    nodes = tuple(Node(f"node-{number:05d}") for number in range(count))
    for number, node in enumerate(nodes):
        if number % 500 == 0:
            settings.say(f"node {number} of {count}")
        engine.state.set_pool(renamed(pool, node.name, number))
        for claim in _in_use(node.name, fillings, chance):
            engine.state.hold(claim)
            held.append(claim)
    gc.collect()
    return Filled(engine=engine, nodes=nodes, held=tuple(held))


def memory_slices(device: Device) -> int:
    """Return how many memory slices a device takes."""
    return sum(name.startswith("memory-slice-") for draw in device.draws for name in draw.amounts)


def _fillings(pool: Pool, chance: Random) -> Iterator[Sequence[Sequence[DeviceName]]]:
    """Yield machines, by GPU the devices in use: now whole GPUs are, now partitions anywhere."""
    for number in range(_FILLINGS):
        if number % 2:
            names = list(scattered(FILL, chance, pool))
        else:
            names = [DeviceName(name) for name in whole_gpus(FILL, chance)]
        yield [[name for name in names if _is_of(gpu, name)] for gpu in range(GPUS)]


def _is_of(gpu: int, name: DeviceName) -> bool:
    return name == gpu_name(gpu) or name.startswith(f"{gpu_name(gpu)}-")


def _in_use(
    node: str, fillings: Sequence[Sequence[Sequence[DeviceName]]], chance: Random
) -> Iterator[AllocatedClaim]:
    for gpu in range(GPUS):
        for device in chance.choice(fillings)[gpu]:
            place = AllocatedDevice("r0", DeviceId(DRIVER, node, device))
            yield AllocatedClaim(ref=ClaimRef(node, device), results=(place,))
