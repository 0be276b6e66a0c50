"""What the simulated driver tells of a GPU's health. Pure: takes a GPU and the machine's troubles."""

from __future__ import annotations

from collections.abc import Iterable

from agent.hardware.health.types import FabricState, GpuVitals, Recovery, Slowdown
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.gpu_troubles.faults import GpuTrouble, GpuTroubleKind
from agent.hardware.simulated.health.limits import joins_fabric, remaps_rows


def vitals_of(card: Card, faults: Iterable[object]) -> GpuVitals:
    """Return how a GPU is, as the present faults say."""
    own = [fault for fault in faults if isinstance(fault, GpuTrouble) and fault.gpu == card.minor]
    values = {kind: [one.value for one in own if one.kind is kind] for kind in GpuTroubleKind}
    remaps = remaps_rows(card)
    down = {int(value or 0) for value in values[GpuTroubleKind.NVLINK_DOWN]}
    return GpuVitals(
        gpu=card.uuid,
        uncorrectable_ecc=sum(int(value or 0) for value in values[GpuTroubleKind.ECC]),
        is_remap_pending=bool(values[GpuTroubleKind.REMAP_PENDING]) if remaps else None,
        has_remap_failed=bool(values[GpuTroubleKind.REMAP_FAILED]) if remaps else None,
        slowdowns=frozenset(Slowdown(str(value)) for value in values[GpuTroubleKind.SLOWDOWN]),
        links_active=tuple(link for link in range(card.model.nvlinks) if link not in down),
        links_down=tuple(sorted(down)),
        fabric=_fabric(values[GpuTroubleKind.FABRIC]) if joins_fabric(card) else None,
        recovery=next((Recovery(str(value)) for value in values[GpuTroubleKind.RECOVERY]), Recovery.NONE),
    )


def _fabric(said: list[int | str | None]) -> FabricState:
    return FabricState(str(said[0])) if said else FabricState.COMPLETED
