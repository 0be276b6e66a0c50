"""The deed: a record made real on the machine, and undone again.

Records enter, records that know more leave, for the caller to write down; the id of a GI is written down
here, before anything is made in it. Nothing is decided here about the life of a claim. The caller holds the
locks of the claim and of its GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.hardware.ports import Machine
from agent.hardware.types import Gpu, GpuUuid
from agent.inventory.model import GpuPartition, MigPartition, WholeGpu
from plugin.cdi import document as cdi
from plugin.cdi.folder import CdiFolder
from plugin.claim.plan import PlannedDevice, PreparePlan
from plugin.claim.record import HeldPartition, Record
from plugin.claim.record_store import RecordStore
from plugin.machine import mig
from plugin.machine import mig_mode as mode
from plugin.machine.injection import injection, refuse_dead
from plugin.machine.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Everything that is done to one machine.

    Shape: ``host_root`` where the host's files are seen from here.
    """

    machine: Machine
    node: Node
    store: RecordStore
    cdi: CdiFolder
    host_root: Path

    def refuse_occupied(self, plan: PreparePlan) -> None:
        """Check, before the intention is recorded, that nobody else's instances are in the way.

        What is found later at a recorded placement, without a CI, is then ours.
        Raises: PlacementTaken; HardwareError.
        """
        for planned in plan.devices:
            match planned.device:
                case WholeGpu() | GpuPartition():
                    pass  # making it whole looks, and leaves nothing that would have to be told apart
                case MigPartition(gpu=gpu) as partition:
                    mig.refuse_occupied(self.machine.gpus, gpu, partition.spec)

    def do(self, record: Record, plan: PreparePlan) -> Record:
        """Make every device real and its CDI document stand on disk; what is so already stays.

        Postcondition: every instance is alive by its UUID, every device node is there or can be made, the
        document on disk is the one that was meant.
        Raises: PluginError, HardwareError.
        """
        for planned in plan.devices:
            record = self._realise(record, planned)
        injections = [
            injection(self.machine, record.uid, held, host_root=self.host_root) for held in record.devices
        ]
        self.cdi.ensure(record.uid, cdi.document(record.driver, injections))
        for held in record.devices:
            refuse_dead(self.machine, held)
        return record

    def undo(self, record: Record) -> None:
        """Take everything back; what is gone already is no error. The record itself stays.

        The document goes first, so that no container starts with what is about to vanish.
        Raises: HardwareError, StorageFailed. A second call goes on from there.
        """
        self.cdi.remove(record.uid)
        for held in reversed(record.devices):
            if isinstance(held, HeldPartition):
                mig.destroy(self.machine.gpus, held)
        self.rest(record.gpus)

    def rest(self, gpus: Iterable[GpuUuid]) -> None:
        """Turn MIG mode off where nothing is cut any more, best effort."""
        for uuid in sorted(gpus):
            gpu = self.node.picture.gpu(uuid)
            if gpu is not None:
                mode.rest(self.machine.gpus, gpu)

    def _realise(self, record: Record, planned: PlannedDevice) -> Record:
        match planned.device:
            case WholeGpu(gpu=gpu):
                mode.make_whole(self.machine.gpus, gpu)
                return record
            case GpuPartition(gpus=gpus):
                mode.make_whole(self.machine.gpus, *gpus)
                return record
            case MigPartition(gpu=gpu):
                return self._realise_partition(record, _held(record, planned), gpu)

    def _realise_partition(self, record: Record, held: HeldPartition, gpu: Gpu) -> Record:
        def note(gi_id: int | None) -> None:
            self.store.note(record.with_device(held.with_gpu_instance(gi_id)))

        mode.turn_on(self.machine.gpus, gpu)
        return record.with_device(held.with_instance(mig.realise(self.machine.gpus, gpu, held, note)))


def _held(record: Record, planned: PlannedDevice) -> HeldPartition:
    """Return what a record says of a MIG partition of its plan."""
    held = (one for one in record.devices if isinstance(one, HeldPartition))
    return next(one for one in held if one.device == planned.name)
