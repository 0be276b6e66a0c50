"""PURE: an allocated claim and the node's devices to what has to be prepared.

Takes a claim; returns a record in the state ``started``, in which no instance is known yet: plan and record
are the same type. Results of other drivers are skipped, and those of other nodes' pools beside some of this
node's; a claim whose devices of this driver are all elsewhere is refused. Every device of this driver that
cannot be prepared is refused by name. The same input gives the same plan, also after a restart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import UNSET

from agent.inventory.model import NodeDevices
from agent.inventory.names import gpu_name
from agent.inventory.options.left_out import why_not_in_modes
from agent.inventory.published import MpsGpu, PublishedDevice, SharedGpu
from plugin.base.claim_uid import checked_uid
from plugin.base.errors import ClaimUnusable, DeviceUnusable, NoSuchDevice, UnknownDevice
from plugin.cdi import names
from plugin.claim.members import NO_POOLS, Pools, gpus_here, is_of_many_nodes
from plugin.claim.metadata import metadata_ids
from plugin.claim.modes.offered import refuse_unoffered
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Common, PreparableKind, Wanted
from plugin.kinds.registry import KINDS
from plugin.machine.share import Share
from scheduler_core.frontends.configuration.check import config_problems, read_configs, type_of
from scheduler_core.frontends.configuration.merge import counting, with_defaults
from scheduler_core.frontends.configuration.preparable import NO_ADMIN_SHARE, NO_SHARE, has_share
from scheduler_core.frontends.configuration.values import Config
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceName

_SCHEDULED: Final = "the user leaves out spec.nodeName of the pod: the scheduler finds the claim's node"
_OTHER_MODES: Final = (
    "the administrator gives agent and plugin the same option, then the user makes the claim anew"
)


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One device of the kubelet's answer."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_ids: tuple[str, ...]
    share_id: str | None = None


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


def resolve(claim: AllocatedClaim, node: NodeDevices, boot_id: str, pools: Pools = NO_POOLS) -> Record:
    """Return what to prepare for ``claim`` on a node.

    Shape: devices in the order of the results; none where no result is of this driver; ``pools`` has the
           members of devices of several nodes.
    Raises: UnknownDevice; DeviceUnusable for devices of a kind that cannot be prepared; ClaimUnusable if all
            devices are of other nodes, one is named twice and not in shares, a configuration is wrong or
            cannot be prepared, or the UID cannot be used.
    """
    uid = checked_uid(claim.uid or "", claim.ref)
    driver = node.pool.id.driver
    ours = _for_this_node(claim, node)
    _refuse_configuration(claim, node)
    _refuse_configured(claim, driver, ours)
    start = msgspec.structs.replace(
        placeholder(uid, claim.ref, driver, boot_id), pod_claim_name=claim.pod_claim_name or UNSET
    )
    configs = _configs(claim, node)
    shares = Counter[DeviceName]()
    devices = []
    for result in ours:
        shares[result.device.device] += 1
        published = _published(start, result, pools, node)
        config, number = configs.get(_key(result), (None, 0)), shares[result.device.device]
        devices.append(_claimed(start, result, published, node, config=config, share_number=number))
    _refuse_twins(claim, ours)  # behind what each device is refused for: admin access to shares comes twice
    return start.with_devices(devices)


def is_same_allocation(record: Record, plan: Record) -> bool:
    """Whether a record is of the plan's allocation. A claim may have been allocated anew since."""
    return len(record.devices) == len(plan.devices) and all(
        device.as_planned().says_the_same(planned)
        for device, planned in zip(record.devices, plan.devices, strict=True)
    )


def answer(record: Record, *, has_metadata: bool) -> tuple[PreparedDevice, ...]:
    """Return the kubelet's answer: the same for the same record, however often it asks.

    Shape: ``has_metadata`` whether the first device of each request brings the request's metadata file.
    """
    files = metadata_ids(record) if has_metadata else {}
    return tuple(
        PreparedDevice(
            device.requests,
            device.pool,
            device.device,
            (device.cdi_id, *(id_ for request in device.requests if (id_ := files.pop(request, "")))),
            None if device.share is None else device.share.id,
        )
        for device in record.devices
    )


def _for_this_node(claim: AllocatedClaim, node: NodeDevices) -> list[AllocatedDevice]:
    """Return what this node may prepare. The kubelet runs a pod that names its node wherever its claim is.

    Raises: ClaimUnusable where the claim has devices of this driver and this node may prepare none of them:
            the pod would run without any.
    """
    driver, here = node.pool.id.driver, node.pool.id.name
    of_driver = [one for one in claim.results if one.device.driver == driver]
    ours = [one for one in of_driver if one.device.pool == here or is_of_many_nodes(one)]
    if of_driver and not ours:
        elsewhere = ", ".join(sorted({one.device.pool for one in of_driver}))
        reason = f"its devices are allocated on {elsewhere}, this is {here}"
        raise ClaimUnusable("prepare", f"claim {claim.ref}", reason, _SCHEDULED)
    return ours


def _refuse_configuration(claim: AllocatedClaim, node: NodeDevices) -> None:
    for problem in config_problems(claim, node.pool.id.driver, node.pool):
        remedy = "the user corrects the claim, or the administrator its class"
        raise ClaimUnusable("prepare", f"claim {claim.ref}", str(problem), remedy)


def _refuse_configured(claim: AllocatedClaim, driver: str, ours: Iterable[AllocatedDevice]) -> None:
    """Refuse a configuration for a device of several nodes: each node would carry it out for itself."""
    if not claim.configs:
        return
    given = read_configs(claim.configs, driver, [one.request for one in claim.results]).given
    for one in ours:
        named = any(each.requests and each.is_for(one.request) for each in given)
        if is_of_many_nodes(one) and (named or counting(given, one.request, "gpu") is not None):
            reason = f"device {one.device} is of several nodes, and takes no configuration"
            remedy = "the user corrects the claim, or the administrator its class"
            raise ClaimUnusable("prepare", f"claim {claim.ref}", reason, remedy)


def _key(result: AllocatedDevice) -> tuple[DeviceName, str | None]:
    """Return a key that is unique among the results of a claim on this node."""
    return result.device.device, result.share_id


def _refuse_twins(claim: AllocatedClaim, results: Iterable[AllocatedDevice]) -> None:
    """Refuse a device that is there twice. Schedulers give a claim several shares of one device."""
    seen: dict[DeviceName, set[str | None]] = {}
    for result in results:
        shares = seen.setdefault(result.device.device, set())
        if result.share_id in shares or (shares and None in {*shares, result.share_id}):
            reason = f"its allocation names device {result.device} twice"
            raise ClaimUnusable("prepare", f"claim {claim.ref}", reason, "allocate the claim again")
        shares.add(result.share_id)


def _configs(
    claim: AllocatedClaim, node: NodeDevices
) -> Mapping[tuple[DeviceName, str | None], tuple[Config, int]]:
    """Return the configuration of each result for which the claim or its class gave one. It is right.

    Shape: with the device's place among those that have the same configuration.
    """
    if not claim.configs:
        return {}
    driver = node.pool.id.driver
    given = read_configs(claim.configs, driver, [one.request for one in claim.results]).given
    wanted = {one.device.device for one in claim.results}
    types = {device.name: type_of(device, driver) for device in node.pool.devices if device.name in wanted}
    found: dict[tuple[DeviceName, str | None], tuple[Config, int]] = {}
    counts = Counter[tuple[bool, int]]()
    for one in claim.results:
        if one.device.driver != driver or one.device.pool != node.pool.id.name:
            continue
        chosen = counting(given, one.request, types.get(one.device.device, ""))
        if chosen is not None:
            place = (chosen.from_class, chosen.index)
            found[_key(one)] = with_defaults(chosen.config), counts[place]
            counts[place] += 1
    return found


def _published(start: Record, result: AllocatedDevice, pools: Pools, node: NodeDevices) -> PublishedDevice:
    """Return what of a device is on this node."""
    subject = f"device {result.device} of claim {start.ref}"
    if is_of_many_nodes(result):
        return gpus_here(result, subject, pools, node)
    published = node.by_name.get(result.device.device)
    if published is None:
        raise _unknown(result.device.device, subject, node)
    return published


def _claimed(
    start: Record,
    result: AllocatedDevice,
    published: PublishedDevice,
    node: NodeDevices,
    *,
    config: tuple[Config | None, int],
    share_number: int,
) -> Claimed:
    subject = f"device {result.device} of claim {start.ref}"
    name = result.device.device
    request, _, alternative = result.request.partition("/")
    common = Common(
        requests=(request,),
        pool=result.device.pool,
        device=name,
        cdi_id=names.device_id(start.driver, start.uid, name, share_number),
        admin_access=True if result.admin_access else UNSET,
        alternative=alternative or UNSET,
    )
    share = _share(result, published, node, subject)
    wanted = Wanted(published, common, share, *config)
    refuse_unoffered(wanted, subject)
    kind = KINDS.of_wanted(wanted)
    if not isinstance(kind, PreparableKind):
        raise DeviceUnusable("prepare", subject, kind.why_unprepared, "the user asks for another device")
    claimed: Claimed = kind.plan(wanted)
    return msgspec.structs.replace(claimed, pci_addresses=kind.pci_addresses(published) or UNSET)


def _share(
    result: AllocatedDevice, published: PublishedDevice, node: NodeDevices, subject: str
) -> Share | None:
    """Return the share of a result. Only a device that is published for it has shares, and always has."""
    remedy = "allocate the claim anew"
    if not isinstance(published, SharedGpu | MpsGpu):
        if has_share(result):
            raise ClaimUnusable("prepare", subject, NO_SHARE, remedy)
        return None
    if result.admin_access:
        raise ClaimUnusable("prepare", subject, NO_ADMIN_SHARE, "the user asks for the GPU")
    if result.share_id is None or not result.consumed:
        reason = "its allocation does not say which share of it the claim has"
        raise ClaimUnusable("prepare", subject, reason, remedy)
    share = Share.of_result(result.share_id, result.consumed, result.device.driver)
    unknown = share.amounts.keys() - node.capacity(result.device.device).keys()
    if unknown:
        reason = f"its share is of {min(unknown)}, which the device does not have"
        raise ClaimUnusable("prepare", subject, reason, remedy)
    return share


def _unknown(name: DeviceName, subject: str, node: NodeDevices) -> UnknownDevice:
    told = [sentence for sentence in node.left_out if sentence.startswith(f"{name}: ")]
    withheld = [str(one) for one in node.withheld if one.device == name]
    unlisted = [str(one) for one in node.unlisted if gpu_name(one.number) == name]
    for reason in (*unlisted, *told, *withheld):
        return UnknownDevice("prepare", subject, reason)
    reason = why_not_in_modes(name, node.modes)
    if reason:
        return UnknownDevice("prepare", subject, reason, _OTHER_MODES)
    return NoSuchDevice("prepare", subject, "this node has no such device")
