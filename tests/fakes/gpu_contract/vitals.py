"""What holds of the vitals of every GPU: they are true when they are read.

Fixtures: ``machine``, a simulated machine with NVLinks and a fabric and without faults; ``hardware``, an
adapter over it; ``uuid``, its first GPU.
"""

from __future__ import annotations

import pytest

from agent.hardware.errors import GpuLost, NotFound
from agent.hardware.health.types import FabricState, GpuVitals, Recovery, Slowdown
from agent.hardware.ports import Gpus
from agent.hardware.types import GpuUuid
from gpu_contract.events import raise_events

NOBODY = GpuUuid("GPU-00000000-0000-0000-0000-000000000000")


def test_nothing_is_wrong_with_a_healthy_gpu(hardware: Gpus, uuid: GpuUuid) -> None:
    assert hardware.vitals(uuid) == GpuVitals(
        gpu=uuid,
        uncorrectable_ecc=0,
        is_remap_pending=False,
        has_remap_failed=False,
        links_active=tuple(range(18)),
        fabric=FabricState.COMPLETED,
        recovery=Recovery.NONE,
    )


@pytest.mark.parametrize(
    ("faults", "value"),
    [
        ("ecc=2", {"uncorrectable_ecc": 2}),
        ("remap-pending", {"is_remap_pending": True}),
        ("remap-failed", {"has_remap_failed": True}),
        ("slowdown=hardware-thermal", {"slowdowns": frozenset({Slowdown.HARDWARE_THERMAL})}),
        ("slowdown=hardware-power-brake", {"slowdowns": frozenset({Slowdown.HARDWARE_POWER_BRAKE})}),
        ("slowdown=software-thermal", {"slowdowns": frozenset({Slowdown.SOFTWARE_THERMAL})}),
        ("nvlink-down=3", {"links_down": (3,)}),
        *((f"recovery={one}", {"recovery": one}) for one in Recovery if one is not Recovery.NONE),
        *((f"fabric={one}", {"fabric": one}) for one in FabricState if one is not FabricState.COMPLETED),
    ],
)
def test_what_is_wrong_with_one_gpu_is_read_of_that_gpu_alone(
    machine, hardware: Gpus, uuid: GpuUuid, faults: str, value: dict[str, object]
) -> None:
    raise_events(machine, f"gpu-{machine.node.cards[0].minor}:{faults}")

    found, other = hardware.vitals(uuid), hardware.vitals(machine.node.cards[1].uuid)

    assert {name: getattr(found, name) for name in value} == value
    assert {name: getattr(other, name) for name in value} != value


def test_a_link_that_is_down_is_not_active(machine, hardware: Gpus, uuid: GpuUuid) -> None:
    raise_events(machine, "gpu-0:nvlink-down=3", "gpu-0:nvlink-down=17")

    found = hardware.vitals(uuid)

    assert found.links_down == (3, 17)
    assert sorted(found.links_active + found.links_down) == list(range(18))


def test_a_lost_gpu_cannot_be_read(machine, hardware: Gpus, uuid: GpuUuid) -> None:
    raise_events(machine, "gpu-0:lost")

    with pytest.raises(GpuLost):
        hardware.vitals(uuid)


def test_vitals_of_a_gpu_that_is_not_there_are_not_found(hardware: Gpus) -> None:
    with pytest.raises(NotFound):
        hardware.vitals(NOBODY)
