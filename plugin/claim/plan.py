"""PURE: an allocated claim and the node's devices to what has to be prepared.

A claim enters; a record in the state ``started`` leaves, in which no instance is known yet: plan and record
are the same type. Results of other drivers and other pools are skipped. Every device of this driver that
cannot be prepared is refused by name. The same input gives the same plan, also after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.inventory.model import NodeDevices
from plugin.base.claim_uid import checked_uid
from plugin.base.errors import ClaimUnusable, UnknownDevice
from plugin.cdi import names
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Common, PreparableKind, Wanted
from plugin.kinds.registry import KINDS
from scheduler_core.frontends.configuration.check import config_problems, read_configs, type_of
from scheduler_core.frontends.configuration.merge import counting, with_defaults
from scheduler_core.frontends.configuration.preparable import NO_SHARING
from scheduler_core.frontends.configuration.values import Config
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceName


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One device of the kubelet's answer."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_ids: tuple[str, ...]


def placeholder(uid: ClaimUid, ref: ClaimRef, driver: str, boot_id: str) -> Record:
    """Return the record of a claim that the kubelet asked for, before its devices are known."""
    return Record(
        claim_uid=uid,
        namespace=ref.namespace,
        name=ref.name,
        driver=driver,
        boot_id=boot_id,
        state=State.STARTED,
        devices=(),
    )


def resolve(claim: AllocatedClaim, node: NodeDevices, boot_id: str) -> Record:
    """Return what to prepare for ``claim`` on a node.

    Shape: devices in the order of the results; none where no result is of this driver and pool.
    Raises: UnknownDevice; ClaimUnusable for devices of a kind that cannot be prepared, shared or named
            twice, a configuration that is wrong or cannot be prepared, or a UID that cannot be used.
    """
    uid = checked_uid(claim.uid or "", claim.ref)
    driver, pool = node.pool.id.driver, node.pool.id.name
    ours = [one for one in claim.results if one.device.driver == driver and one.device.pool == pool]
    _refuse_configuration(claim, node)
    _refuse_sharing(claim, ours)
    _refuse_twins(claim, ours)
    start = placeholder(uid, claim.ref, driver, boot_id)
    configs = _configs(claim, node)
    return start.with_devices(_claimed(start, result, node, configs) for result in ours)


def is_same_allocation(record: Record, plan: Record) -> bool:
    """Whether a record is of the plan's allocation. A claim may have been allocated anew since."""
    return plan.devices == tuple(device.as_planned() for device in record.devices)


def answer(record: Record) -> tuple[PreparedDevice, ...]:
    """Return the kubelet's answer: the same for the same record, however often it asks."""
    return tuple(
        PreparedDevice(device.requests, device.pool, device.device, (device.cdi_id,))
        for device in record.devices
    )


def _refuse_configuration(claim: AllocatedClaim, node: NodeDevices) -> None:
    for problem in config_problems(claim, node.pool.id.driver, node.pool):
        remedy = "the user corrects the claim, or the administrator its class"
        raise ClaimUnusable("prepare", f"claim {claim.ref}", str(problem), remedy)


def _refuse_sharing(claim: AllocatedClaim, results: Iterable[AllocatedDevice]) -> None:
    """Refuse shared devices: unpreparing one claim would take the device from another that still uses it."""
    for result in results:
        if result.admin_access or result.share_id is not None:
            subject = f"device {result.device} of claim {claim.ref}"
            raise ClaimUnusable("prepare", subject, NO_SHARING, "the user asks for a device of their own")


def _refuse_twins(claim: AllocatedClaim, results: Iterable[AllocatedDevice]) -> None:
    seen: set[DeviceName] = set()
    for result in results:
        if result.device.device in seen:
            reason = f"its allocation names device {result.device} twice"
            raise ClaimUnusable("prepare", f"claim {claim.ref}", reason, "allocate the claim anew")
        seen.add(result.device.device)


def _configs(claim: AllocatedClaim, node: NodeDevices) -> Mapping[DeviceName, Config]:
    """Return the configuration of each device for which the claim or its class gave one. It is right."""
    if not claim.configs:
        return {}
    driver = node.pool.id.driver
    given = read_configs(claim.configs, driver, [one.request for one in claim.results]).given
    types = {device.name: type_of(device, driver) for device in node.pool.devices}
    found = (
        (one.device.device, counting(given, one.request, types.get(one.device.device, "")))
        for one in claim.results
        if one.device.driver == driver and one.device.pool == node.pool.id.name
    )
    return {name: with_defaults(chosen.config) for name, chosen in found if chosen is not None}


def _claimed(
    start: Record, result: AllocatedDevice, node: NodeDevices, configs: Mapping[DeviceName, Config]
) -> Claimed:
    subject = f"device {result.device} of claim {start.ref}"
    name = result.device.device
    published = node.by_name.get(name)
    if published is None:
        raise UnknownDevice("prepare", subject, _why_unknown(name, node))
    common = Common(
        requests=(result.request.partition("/")[0],),
        pool=result.device.pool,
        device=name,
        cdi_id=names.device_id(start.driver, start.uid, name),
    )
    wanted = Wanted(published, common, configs.get(name))
    kind = KINDS.of_wanted(wanted)
    if not isinstance(kind, PreparableKind):
        raise ClaimUnusable("prepare", subject, kind.why_unprepared, "the user asks for another device")
    claimed: Claimed = kind.plan(wanted)
    return claimed


def _why_unknown(name: DeviceName, node: NodeDevices) -> str:
    told = (sentence for sentence in node.left_out if sentence.startswith(f"{name}: "))
    return next(told, "this node has no such device")
