"""The devices in a Koordinator Device object as a pool, and their use by pods as allocated claims.

A GPU or card is a shareable device whose capacities are its percentages and bytes. A VF is a separate device
with its card as attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.annotations.errors import InvalidNode
from scheduler_core.frontends.pods.amounts import Amounts
from scheduler_core.frontends.pods.exclusive import exclusive_of
from scheduler_core.frontends.pods.hints import FPGA, GPU, RDMA, Exclusive
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.device import AttributeValue, Device, DeviceId, DeviceName, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.taints import Taint

DRIVER: Final = "koordinator.sh"
LABELS: Final = "labels.koordinator.sh/"
TYPES: Final = {GPU: "gpu", RDMA: "nic", FPGA: "fpga"}
_ROOT: Final = QualifiedName("resource.kubernetes.io/pcieRoot")
_NUMA: Final = QualifiedName("resource.kubernetes.io/numaNode")
_ADDRESS: Final = QualifiedName("resource.kubernetes.io/pciBusID")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedVf:
    """A virtual function of a card."""

    bus_id: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedDevice:
    """A device of the node.

    Shape: ``pcie`` and ``numa`` are None where the topology is unknown; ``total`` by resource name.
    """

    kind: str
    minor: int
    pcie: str | None = None
    numa: int | None = None
    bus_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    is_healthy: bool = True
    total: Amounts = field(default_factory=dict)
    vfs: tuple[ReportedVf, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedUse:
    """What a pod uses of a device. Shape: ``amounts`` is None for all of it; ``vfs`` are bus ids."""

    kind: str
    minor: int
    amounts: Amounts | None = None
    vfs: tuple[str, ...] = ()
    exclusive: Exclusive | None = None


def pool_of(node: str, devices: Sequence[ReportedDevice], numas: Sequence[int] | None = None) -> Pool:
    """Return the pool of a node.

    Shape: with ``numas`` only devices of these NUMA nodes, and those of none (-1), may be allocated.
    Raises: InvalidNode for two devices of one type and minor.
    """
    flat = [one for device in devices for one in _devices(device, numas)]
    seen: set[str] = set()
    for one in flat:
        if one.name in seen:
            rule = "is listed twice: devices of one type have different minors"
            raise InvalidNode(f"Node {node}", "devices", one.name, rule)
        seen.add(one.name)
    here = tuple(replace(one, nodes=OnNode(node)) for one in flat)
    return Pool(id=PoolId(DRIVER, node), devices=here, seen_from=(OnNode(node),))


def held(
    node: str, uses: Sequence[ReportedUse], devices: Sequence[ReportedDevice]
) -> tuple[AllocatedClaim, ...]:
    """Return the claims of pods, one per use."""
    totals = {(one.kind, one.minor): one.total for one in devices}
    return tuple(
        AllocatedClaim(
            ref=ClaimRef("in-use", str(number)),
            results=tuple(_results(node, use, totals.get((use.kind, use.minor), {}))),
            exclusive=(exclusive_of(use.kind, use.exclusive, DRIVER),) if use.exclusive else (),
        )
        for number, use in enumerate(uses)
    )


def card_name(kind: str, minor: int) -> DeviceName:
    """Return the name of a device in the pool."""
    return DeviceName(f"{kind}-{minor}")


def _results(node: str, use: ReportedUse, total: Amounts) -> Iterator[AllocatedDevice]:
    name = card_name(use.kind, use.minor)
    share = total if use.amounts is None else use.amounts
    amounts = {key: Quantity.of(share[key]) for key in share if key in total}
    yield AllocatedDevice(use.kind, DeviceId(DRIVER, node, name), share_id="share", consumed=amounts)
    for bus_id in use.vfs:
        yield AllocatedDevice(use.kind, DeviceId(DRIVER, node, vf_name(name, bus_id)))


def _devices(device: ReportedDevice, numas: Sequence[int] | None) -> Iterator[Device]:
    name, taints = card_name(device.kind, device.minor), tuple(_taints(device, numas))
    place = {_ROOT: device.pcie, _NUMA: device.numa if device.numa != -1 else None}
    common: dict[QualifiedName, AttributeValue | None] = {
        qualified("pfPciAddress", DRIVER): name,
        qualified("uuid", DRIVER): name,
        **place,
    }
    yield Device(
        name=name,
        attributes=_known(
            common
            | {
                qualified("type", DRIVER): TYPES[device.kind],
                qualified("minor", DRIVER): device.minor,
                _ADDRESS: device.bus_id,
            }
            | _labels(device.labels)
        ),
        capacity={QualifiedName(key): Quantity.of(amount) for key, amount in device.total.items()},
        taints=taints,
        is_shareable=True,
    )
    for number, vf in enumerate(device.vfs):
        own: dict[QualifiedName, AttributeValue | None] = {
            qualified("type", DRIVER): "vf",
            qualified("vfIndex", DRIVER): number,
            _ADDRESS: vf.bus_id,
        }
        attributes = _known(common | own | _labels(vf.labels))
        yield Device(name=vf_name(name, vf.bus_id), attributes=attributes, taints=taints)


def _taints(device: ReportedDevice, numas: Sequence[int] | None) -> Iterator[Taint]:
    if not device.is_healthy or not any(device.total.values()):
        yield Taint(f"{DRIVER}/unhealthy")
    if numas is not None and device.numa != -1 and device.numa not in numas:
        yield Taint(f"{DRIVER}/outside-numa-affinity")


def vf_name(card: DeviceName, bus_id: str) -> DeviceName:
    """Return the name of a VF in the pool."""
    return DeviceName(f"{card}-vf-{bus_id}")


def _labels(labels: Mapping[str, str]) -> dict[QualifiedName, AttributeValue | None]:
    return {QualifiedName(LABELS + key): value for key, value in labels.items()}


def _known(
    values: Mapping[QualifiedName, AttributeValue | None],
) -> dict[QualifiedName, AttributeValue]:
    return {name: value for name, value in values.items() if value is not None}
