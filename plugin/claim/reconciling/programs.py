"""Which programs use what a claim that is over would give up. The machine is read, and nothing is changed.

No driver refuses to give up a GPU that is used whole, as it refuses to destroy a MIG instance in use. So
the driver's list of processes is asked before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from agent.hardware.clients.ports import Client, SeenClients
from agent.hardware.mps.ports import daemon_name
from agent.hardware.ports import Machine
from agent.hardware.types import GpuUuid
from plugin.claim.quarantine.census import Census
from plugin.claim.record import Record
from plugin.claim.steps import ClaimSteps
from plugin.kinds.used_whole import ClaimedWholeGpus
from plugin.machine.lock_target import GPU, LockTarget
from plugin.machine.texts import clients_text
from scheduler_core.model.claim import ClaimUid


def given_up(
    census: Census, uid: ClaimUid, boot_id: str, gpus: Collection[GpuUuid] = ()
) -> frozenset[GpuUuid]:
    """PURE: return the GPUs used whole that nobody has any more once a claim is undone.

    A GPU of which another claim has a part is not among them: whose programs run there cannot be told, and
    it is not given up. Nor are GPUs of MIG devices, and those that the claim may only look at.
    Shape: ``gpus`` the node's; those that its CDI document names are counted where no line of the claim's
           record says what it has.
    """
    alive = [record for record in census.holding if record.boot_id == boot_id]
    kept = [one for one in census.quarantined if one.may_hold_in(boot_id)]
    own = {gpu for record in alive if record.uid == uid for gpu in _used_whole(record)}
    told = {gpu for one in kept if one.uid == uid and one.record is None for gpu in one.uuids}
    own |= {gpu for gpu in gpus if gpu in told}
    others = {target.address for record in alive if record.uid != uid for target in record.lock_targets}
    others |= {gpu for one in kept if one.uid != uid for gpu in one.uuids}
    return frozenset(gpu for gpu in own if gpu not in others)


def programs_on(steps: ClaimSteps, uid: ClaimUid, boot_id: str) -> str:
    """Return the programs that use GPUs which a claim would give up, as text; empty where none is seen.

    Where the driver does not answer (a lost GPU, a call that hangs) none is seen: the claim would be kept for
    ever, and undoing it still fails where the GPU does not answer. A driver that has no list is not taken for
    an idle GPU: then programs that have it open count, and so does that they cannot be seen. The caller holds
    the locks of the claim and of its lock targets. Raises: StorageFailed.
    """
    snapshot = steps.node.snapshot
    found = []
    for gpu in sorted(given_up(steps.store.census(), uid, boot_id, snapshot.gpus.keys())):
        seen = steps.machine.clients.running_on(gpu)
        users = tuple(_users(seen, steps.machine, gpu))
        text = clients_text(users) if users else ""
        if seen.no_list and not users and not seen.is_complete:
            text = "which programs use it is unknown"
        if text:
            why = f" (the driver lists no programs: {seen.no_list})" if seen.no_list else ""
            found.append(f"{snapshot.text_of(LockTarget(GPU, gpu))}: {text}{why}")
    return "; ".join(found)


def users_of(machine: Machine, gpu: GpuUuid) -> Iterator[Client]:
    """Yield the programs on a GPU, without this driver's own and the server of its MPS daemon.

    The server stays after its last program has ended. The driver lists the programs beside it.
    """
    return _users(machine.clients.running_on(gpu), machine, gpu)


def _users(seen: SeenClients, machine: Machine, gpu: GpuUuid) -> Iterator[Client]:
    daemon = machine.mps.process(daemon_name(gpu)) if seen.found else None
    for one in seen.found:
        if not one.steps_aside and (daemon is None or one.parent != daemon):
            yield one


def _used_whole(record: Record) -> Iterator[GpuUuid]:
    for device in record.devices:
        if isinstance(device, ClaimedWholeGpus) and not device.has_admin_access:
            yield from device.members
