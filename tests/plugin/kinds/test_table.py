"""A kind that is added to a table: its devices are prepared beside those of the others, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from devices_of_kinds import modes_of, told, vfs_of, waiting_of
from made_up_kind import NIC, ClaimedVf, VfKind, vf

from agent.hardware.errors import InUse
from agent.inventory.model import NodeDevices
from agent.inventory.published import NicVf
from plugin.claim.plan import resolve
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Common, Foreign, Wanted
from plugin.kinds.mig_partition.kind import MigPartitionKind
from plugin.kinds.nics import NicVfKind
from plugin.kinds.setup import DeviceSetup
from plugin.kinds.table import KindTable
from plugin.kinds.whole_gpus.whole_gpu import WholeGpuKind
from plugin.machine.context import Context
from plugin.machine.node import Node

HALF, OTHER_GPU = "gpu-0-mig-3g-20gb-4-7", "gpu-1"


@pytest.fixture
def happened() -> list[str]:
    """What happens to the machine, in order."""
    return []


@pytest.fixture
def kind(happened: list[str]) -> VfKind:
    return VfKind({"f0": "mlx5_core", "f1": "iavf"}, happened)


@pytest.fixture
def setup(kind: VfKind) -> DeviceSetup:
    return DeviceSetup(KindTable(WholeGpuKind(), MigPartitionKind(), kind))


@pytest.fixture
def context(bench: Any, happened: list[str]) -> Context:
    node = Node(bench.machine.readers, bench.node, "tangram.dev").snapshot
    machine = told(bench.machine, happened.append, lambda _: None)
    return Context(
        machine, node, Path("/"), waiting_of(bench), tuple, vfs_of(bench), modes_of(bench, machine=machine)
    )


@pytest.fixture
def gpu_devices(bench: Any, context: Context) -> tuple[Claimed, ...]:
    claim = bench.claim("u1", HALF, OTHER_GPU)
    return resolve(claim, context.node.devices, "boot-1").devices


def forget(_: Sequence[Claimed]) -> None:
    """Note nothing."""


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_devices_of_several_kinds_are_set_up_in_one_order_and_taken_down_in_reverse(
    setup: DeviceSetup,
    context: Context,
    happened: list[str],
    gpu_devices: Sequence[Claimed],
    order: Sequence[int],
) -> None:
    devices = [(*gpu_devices, vf(0), vf(1))[place] for place in order]
    vfs = [str(device.function) for device in devices if isinstance(device, ClaimedVf)]

    found = setup.set_up(context, devices, forget)
    made, happened[:] = list(happened), []
    setup.take_down(context, found)

    drivers = {"f0": "mlx5_core", "f1": "iavf"}
    assert [device.as_planned() for device in found] == devices
    points = MigPartitionKind.crash_points
    assert made == [*points.setting_up, *(f"bind {name} vfio-pci" for name in vfs)]
    assert happened == [*(f"bind {name} {drivers[name]}" for name in reversed(vfs)), *points.taking_down]


def test_a_fact_is_noted_before_the_deed_beside_all_that_is_known_of_the_other_devices(
    setup: DeviceSetup, context: Context, kind: VfKind, gpu_devices: Sequence[Claimed]
) -> None:
    notes: list[tuple[list[Claimed], dict[str, str]]] = []

    found = setup.set_up(
        context, [vf(1), *gpu_devices], lambda devices: notes.append((list(devices), dict(kind.drivers)))
    )

    of_gi, of_vf = notes
    assert of_gi[0][0] == vf(1)
    assert of_vf == (list(found), {"f0": "mlx5_core", "f1": "iavf"})
    assert kind.drivers["f1"] == "vfio-pci"


def test_a_device_that_cannot_be_undone_keeps_the_kinds_before_it_as_they_are(
    bench: Any, setup: DeviceSetup, context: Context, kind: VfKind, gpu_devices: Sequence[Claimed]
) -> None:
    stuck = msgspec.structs.replace(vf(0), driver="stuck")
    found = setup.set_up(context, [stuck, *gpu_devices], forget)

    with pytest.raises(InUse):
        setup.take_down(context, found)
    still_there = len(bench.instances())
    setup.take_down(context, [msgspec.structs.replace(stuck, driver="iavf"), *found[1:]])

    assert still_there == 1
    assert bench.leftovers() == []


def test_what_no_device_of_a_claim_is_gets_reported_by_every_kind(
    bench: Any, setup: DeviceSetup, context: Context, kind: VfKind, gpu_devices: Sequence[Claimed]
) -> None:
    found = setup.set_up(context, [vf(0), vf(1), *gpu_devices], forget)
    node = Node(bench.machine.readers, bench.node, "tangram.dev").snapshot

    assert list(setup.foreign(node, found)) == []
    assert list(setup.foreign(node, found[1:])) == [Foreign(f"NIC {NIC}", "f0")]
    assert [one.where for one in setup.foreign(node, found[:2])] == [f"GPU {bench.uuid(0)}"]


def test_the_targets_of_all_kinds_have_one_order_and_each_is_locked_once(
    gpu_devices: Sequence[Claimed], bench: Any
) -> None:
    devices = [vf(1), *gpu_devices, vf(0)]

    targets = sorted({target for device in devices for target in device.lock_targets})

    gpus = sorted([bench.uuid(0), bench.uuid(1)])
    assert [target.name for target in targets] == [*(f"gpu-{uuid}" for uuid in gpus), f"nic-{NIC}"]


def test_the_first_row_that_takes_a_device_prepares_it_and_the_first_of_its_type_watches_it(
    kind: VfKind, dgx_devices: NodeDevices
) -> None:
    rest = NicVfKind()
    table = KindTable(kind, rest)
    vfs = [device for device in dgx_devices.by_name.values() if isinstance(device, NicVf)]
    common = Common(requests=("r",), pool="n", device="d", cdi_id="x")

    taken = {device.vf.index: table.of_wanted(Wanted(device, common)) for device in vfs}

    assert len(taken) > 2
    assert all((row is kind) == (index == 1) for index, row in taken.items())
    assert all(table.of_published(device) is kind for device in vfs)
