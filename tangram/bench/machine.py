"""The machine of the benchmarks: a simulated DGX A100 and its multiples, as v1 slices.

The shipped node file goes through the agent's own discovery, description and projection, as on a machine. A
larger machine is the same node file with its tree repeated in more PCI domains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from agent.hardware.ports import Machine
from agent.hardware.types import Placement
from agent.inventory import describe, discover, offered
from agent.inventory.names import gpu_name, partition_name
from agent.slices import v1_slices
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec import v1
from scheduler_core.model.device import DeviceName, QualifiedName
from scheduler_core.model.pool import Pool
from tangram.bench.objects import Json
from tangram.classes import device_classes
from tangram.machines import Machines, SimulatedNode
from tangram.program.throwaway import throwaway_folder

DRIVER: Final = "tangram.dev"
NODE: Final = "dgx-a100"
GPUS: Final = 8
MEMORY_SLICES: Final = 8
SMALL: Final = "1g.5gb"
PROFILE: Final = QualifiedName(f"{DRIVER}/profile")
FULL: Final = (
    (SMALL, Placement(0, 1)),
    (SMALL, Placement(1, 1)),
    ("2g.10gb", Placement(2, 2)),
    ("3g.20gb", Placement(4, 4)),
)
CLASSES: Final = list(device_classes(DRIVER))

_METADATA: Final[Json] = {
    "generation": 1,
    "creationTimestamp": "2026-11-21T08:00:00Z",
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "0", "controller": True}],
    "managedFields": [
        {"manager": "agent", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}
    ],
}


class Dgx:
    """The machine in every size, made once each."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._sizes: dict[tuple[str, int], tuple[Json, ...]] = {}

    def slices(self, times: int = 1) -> tuple[Json, ...]:
        """Return its v1 slices, with ``times`` the GPUs and NICs, all on one node."""
        return self._slices(NODE, times)

    def attached(self, folder: Path) -> SimulatedNode:
        """Return the machine that a folder holds."""
        return self._machines.attached(folder)

    @contextmanager
    def with_vfs(self, count: int) -> Iterator[Machine]:
        """Make the machine with ``count`` VFs on its NICs together; it lasts for the block."""
        document = yaml.safe_load(self._machines.text(NODE))
        nics = list(_nics_of(document["pci"]))
        for number, nic in enumerate(nics):
            share = (count + number) // len(nics)
            nic.update(vfs=share, total_vfs=share)
        with throwaway_folder() as folder:
            file = folder / f"{NODE}.yaml"
            file.write_text(yaml.safe_dump(document), encoding="utf-8")
            yield self._machines.simulated(str(file), folder / NODE).machine

    def pool(self, times: int = 1, machine: str = NODE) -> Pool:
        """Return the pool of the machine, or of another shipped one, decoded."""
        (pool,) = v1.pools(v1.decode_slice(one) for one in self._slices(machine, times))
        return pool

    def _slices(self, machine: str, times: int) -> tuple[Json, ...]:
        if (machine, times) not in self._sizes:
            self._sizes[machine, times] = self._made(machine, times)
        return self._sizes[machine, times]

    def _made(self, machine: str, times: int) -> tuple[Json, ...]:
        document = yaml.safe_load(self._machines.text(machine))
        document["pci"] = [part for copy in range(times) for part in _in_domain(document["pci"], copy)]
        with throwaway_folder() as folder:
            file = folder / f"{machine}.yaml"
            file.write_text(yaml.safe_dump(document), encoding="utf-8")
            readers = self._machines.simulated(str(file), folder / machine).machine.readers
            return v1_slices(describe(offered(discover(readers, machine)), DRIVER))


def named(slices: Sequence[Json], node: str, number: int) -> Iterator[Json]:
    """Yield the slices as another node's: its name, and UUIDs that no other node has."""
    text = json.dumps(slices).replace("GPU-", f"GPU-{number:04x}")
    for one in json.loads(text):
        spec = one["spec"]
        one["metadata"]["name"] = one["metadata"]["name"].replace(NODE, node)
        spec["nodeName"] = node
        spec["pool"]["name"] = node
        yield one


def as_server_sends(slices: Sequence[Json], node: str, number: int) -> tuple[bytes, ...]:
    """Return the slices of another node as JSON text of an API server: with all metadata, and UUIDs and
    serial numbers that no other node has.
    """
    found = []
    for index, one in enumerate(slices):
        uid = f"{number:08x}-0000-4000-8000-{index:012x}"
        document = one | {"metadata": one["metadata"] | _METADATA | {"uid": uid, "resourceVersion": uid[:8]}}
        text = json.dumps(document, separators=(",", ":")).replace(NODE, node)
        text = re.sub("GPU-[0-9a-f]{4}", f"GPU-{number:04x}", text)
        found.append(re.sub('(?<="cardID":{"string":")[0-9a-f]{4}', f"{number:04x}", text).encode())
    return tuple(found)


def small_partition(gpu: int, start: int) -> str:
    """Return the name of the ``1g.5gb`` of a GPU at one memory slice."""
    return partition_name(gpu, SMALL, Placement(start, 1))


def whole_gpus(share: float, chance: Random) -> Iterator[str]:
    """Yield what takes ``share`` of the GPUs in full: the GPU itself, or the partitions of one claim."""
    for gpu in chance.sample(range(GPUS), round(share * GPUS)):
        if chance.random() < 1 / 2:
            yield gpu_name(gpu)
        else:
            yield from (partition_name(gpu, profile, placement) for profile, placement in FULL)


def scattered(share: float, chance: Random, pool: Pool) -> Iterator[DeviceName]:
    """Yield partitions anywhere, as claims that came and went leave them: ``share`` of memory slices."""
    devices = [device for device in pool.devices if PROFILE in device.attributes]
    chance.shuffle(devices)
    ledger, used = Ledger(pool), 0
    for device in devices:
        if used >= share * GPUS * MEMORY_SLICES:
            return
        if ledger.admits(device.name):
            ledger.take(device.name, "another claim")
            used += sum(name.startswith("memory-slice-") for draw in device.draws for name in draw.amounts)
            yield device.name


def held(device: str, node: str = NODE) -> Json:
    """Return a device in the form of an input's ``allocated``."""
    return {"driver": DRIVER, "pool": node, "device": device}


def _nics_of(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the NICs that can have VFs, wherever they hang."""
    match tree:
        case {"kind": "nic", "total_vfs": _}:
            yield tree
        case dict():
            yield from _nics_of(list(tree.values()))
        case list():
            for each in tree:
                yield from _nics_of(each)
        case _:
            return


def _in_domain(tree: Any, copy: int) -> Any:
    """Return the PCI tree in another domain, with GPUs of other numbers and UUIDs."""
    match tree:
        case {"kind": "gpu", "minor": minor, "uuid": uuid, **rest}:
            new = {"kind": "gpu", "minor": minor + GPUS * copy, "uuid": f"{uuid[:-4]}{copy:04x}"}
            return _in_domain(rest, copy) | new
        case dict():
            return {key: _in_domain(value, copy) for key, value in tree.items()}
        case list():
            return [_in_domain(value, copy) for value in tree]
        case str():
            return re.sub(r"^(pci)?0000:", rf"\g<1>{copy:04x}:", tree)
        case _:
            return tree
