"""PURE: an allocated claim and the node's devices to what has to be prepared.

Deterministic and free of effects, so that restoring after a restart is calling it again. Results of
other drivers and of other pools are not ours and are passed over; everything of ours that cannot be
prepared is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.hardware.types import GpuUuid
from agent.inventory.model import GpuPartition, MigPartition, NicVf, NodeDevices, WholeGpu, WholeNic
from plugin.base.errors import ClaimUnusable, UnknownDevice
from plugin.claim.record import HeldDevice, HeldGpu, HeldGpus, HeldPartition, Record, checked_uid
from plugin.claim.states import State
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceName

PreparableDevice = WholeGpu | GpuPartition | MigPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDevice:
    """One device to prepare.

    Shape: ``requests`` are base names: ``req`` for a result of ``req/sub``.
    """

    requests: tuple[str, ...]
    pool: str
    name: DeviceName
    device: PreparableDevice

    @property
    def gpus(self) -> tuple[GpuUuid, ...]:
        """Return the GPUs that the device is, or the one that it is cut from."""
        match self.device:
            case GpuPartition(gpus=gpus):
                return tuple(gpu.uuid for gpu in gpus)
            case WholeGpu(gpu=gpu) | MigPartition(gpu=gpu):
                return (gpu.uuid,)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparePlan:
    """What one claim needs on this node. Shape: ``devices`` in the order of the results, may be empty."""

    ref: ClaimRef
    uid: ClaimUid
    devices: tuple[PlannedDevice, ...]

    @property
    def gpus(self) -> frozenset[GpuUuid]:
        """Return the GPUs that the claim touches."""
        return frozenset(gpu for device in self.devices for gpu in device.gpus)


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One device of the answer, as the kubelet wants it."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_ids: tuple[str, ...]


def resolve(claim: AllocatedClaim, node: NodeDevices) -> PreparePlan:
    """Return what to prepare for ``claim`` on a node.

    Raises: UnknownDevice; ClaimUnusable for devices of a kind that cannot be prepared, shared or named
            twice, parameters for this driver, or a UID that cannot be used.
    """
    uid = checked_uid(claim.uid or "", claim.ref)
    driver = node.pool.id.driver
    ours = [
        result
        for result in claim.results
        if result.device.driver == driver and result.device.pool == node.pool.id.name
    ]
    _refuse_parameters(claim, driver)
    _refuse_sharing(claim, ours)
    _refuse_twins(claim, ours)
    return PreparePlan(
        ref=claim.ref, uid=uid, devices=tuple(_planned(claim, result, node) for result in ours)
    )


def wanted(uid: ClaimUid, ref: ClaimRef, driver: str, boot_id: str) -> Record:
    """Return the record of a claim that the kubelet wants, before anything is known of it."""
    return Record(
        claim_uid=uid,
        namespace=ref.namespace,
        name=ref.name,
        driver=driver,
        boot_id=boot_id,
        state=State.STARTED,
        devices=(),
    )


def started(plan: PreparePlan, driver: str, boot_id: str) -> Record:
    """Return the record that announces the work, before any of it is done."""
    return Record(
        claim_uid=plan.uid,
        namespace=plan.ref.namespace,
        name=plan.ref.name,
        driver=driver,
        boot_id=boot_id,
        state=State.STARTED,
        devices=tuple(_held(device, plan.uid, driver) for device in plan.devices),
    )


def matches(record: Record, plan: PreparePlan) -> bool:
    """Whether a record is of this very allocation; a claim may have been allocated anew since."""
    wanted = tuple(_held(device, plan.uid, record.driver) for device in plan.devices)
    return wanted == tuple(_without_instance(device) for device in record.devices)


def answer(record: Record) -> tuple[PreparedDevice, ...]:
    """Return what the kubelet is told: the same for the same record, however often it asks."""
    return tuple(
        PreparedDevice(device.requests, device.pool, device.device, (device.cdi_id,))
        for device in record.devices
    )


def cdi_device_name(uid: ClaimUid, device: str) -> str:
    """Return the name of a device within its claim's CDI document; unique, since runtimes cache them."""
    return f"{uid}-{device}"


def _refuse_parameters(claim: AllocatedClaim, driver: str) -> None:
    if any(config.driver == driver for config in claim.configs):
        raise ClaimUnusable(
            "prepare",
            f"claim {claim.ref}",
            f"it has opaque parameters for {driver}, which takes none",
            "the user removes them from the claim, or the administrator from the class",
        )


def _refuse_sharing(claim: AllocatedClaim, results: Iterable[AllocatedDevice]) -> None:
    """Refuse what would let one claim's undoing take a device from another claim that still uses it."""
    for result in results:
        if result.admin_access or result.share_id is not None:
            reason = "this version prepares no admin access and no shares of a device"
            subject = f"device {result.device} of claim {claim.ref}"
            raise ClaimUnusable("prepare", subject, reason, "the user asks for a device of their own")


def _refuse_twins(claim: AllocatedClaim, results: Iterable[AllocatedDevice]) -> None:
    seen: set[DeviceName] = set()
    for result in results:
        if result.device.device in seen:
            reason = f"its allocation names device {result.device} twice"
            raise ClaimUnusable("prepare", f"claim {claim.ref}", reason, "allocate the claim anew")
        seen.add(result.device.device)


def _planned(claim: AllocatedClaim, result: AllocatedDevice, node: NodeDevices) -> PlannedDevice:
    subject = f"device {result.device} of claim {claim.ref}"
    match node.by_name.get(result.device.device):
        case WholeGpu() | GpuPartition() | MigPartition() as device:
            return PlannedDevice(
                requests=(result.request.partition("/")[0],),
                pool=result.device.pool,
                name=result.device.device,
                device=device,
            )
        case WholeNic():
            raise _of_no_use(subject, "a NIC (physical function)")
        case NicVf():
            raise _of_no_use(subject, "a NIC's virtual function")
        case None:
            raise UnknownDevice("prepare", subject, _why_unknown(result.device.device, node))


def _why_unknown(name: DeviceName, node: NodeDevices) -> str:
    told = (sentence for sentence in node.left_out if sentence.startswith(f"{name}: "))
    return next(told, "this node has no such device")


def _of_no_use(subject: str, kind: str) -> ClaimUnusable:
    reason = f"it is {kind}, a kind that this version cannot prepare"
    return ClaimUnusable("prepare", subject, reason, "the user asks for a GPU or a partition instead")


def _held(planned: PlannedDevice, uid: ClaimUid, driver: str) -> HeldDevice:
    cdi_id = f"{driver}/claim={cdi_device_name(uid, planned.name)}"
    match planned.device:
        case WholeGpu(gpu=gpu):
            return HeldGpu(
                requests=planned.requests,
                pool=planned.pool,
                device=planned.name,
                cdi_id=cdi_id,
                gpu_uuid=gpu.uuid,
            )
        case GpuPartition(gpus=gpus):
            return HeldGpus(
                requests=planned.requests,
                pool=planned.pool,
                device=planned.name,
                cdi_id=cdi_id,
                gpu_uuids=tuple(gpu.uuid for gpu in gpus),
            )
        case MigPartition() as partition:
            return HeldPartition(
                requests=planned.requests,
                pool=planned.pool,
                device=planned.name,
                cdi_id=cdi_id,
                parent_uuid=partition.spec.parent,
                profile_id=partition.spec.profile_id,
                start=partition.placement.start,
                size=partition.placement.size,
            )


def _without_instance(device: HeldDevice) -> HeldDevice:
    return device.with_gpu_instance(None) if isinstance(device, HeldPartition) else device
