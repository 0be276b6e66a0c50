"""The repairs at the start: what a crash, a reboot or somebody else left.

Takes a repairer; nobody calls yet, so each repair waits for its locks. One that fails is logged and left to
the next look, or the next call for its claim: it never stops the start.
"""

from __future__ import annotations

import logging
from functools import partial

from agent.hardware.errors import HardwareError
from plugin.base.errors import PluginError
from plugin.base.metrics import Metrics
from plugin.claim.reconciling.repairer import Repairer
from plugin.claim.reconciling.repairs import Keep, Repair, ReportForeign, repairs
from plugin.claim.reconciling.told import ToldKept, ToldOnce
from plugin.machine.lock_target import GPU, LockTarget
from plugin.machine.node import NodeSnapshot
from plugin.machine.texts import gpu_text

_log = logging.getLogger(__name__)


def repair_at_start(
    repairer: Repairer, kept: ToldKept, errors: ToldOnce, metrics: Metrics
) -> tuple[Repair, ...]:
    """Repair, count and return what was due. Shape: ``kept`` and ``errors`` are those of the looks.

    Raises: HardwareError, StorageFailed: nothing can be read.
    """
    steps, store = repairer.steps, repairer.steps.store
    boot_id = steps.machine.boot.boot_id()
    snapshot = steps.node.read_for_repairs()
    foreign = partial(steps.setup.foreign, snapshot)
    documents = steps.cdi.claims() | steps.metadata.claims(errors.tell)
    errors.end_look()
    census = store.census()
    found = repairs(census, foreign, documents, boot_id)
    staying = {repair.uid for repair in found if isinstance(repair, Keep)}
    kept.new(one for one in census.quarantined if one.uid in staying)
    for repair in found:
        _make(repair, repairer, boot_id, metrics)
    _settle_modes(repairer, snapshot)
    for record in store.census().records if steps.metadata.is_wanted else ():
        try:
            repairer.write_metadata(record.uid, boot_id)
        except PluginError as error:
            _log.error("claim %s: its metadata is not written: %s", record.uid, error)
    return found


def _make(repair: Repair, repairer: Repairer, boot_id: str, metrics: Metrics) -> None:
    match repair:
        case ReportForeign(found=found):
            _log.warning("%s: no claim created %s; it stays", found.where, found.what)
            return
        case Keep():
            return
        case _:
            kind = repair.kind
    try:
        if repairer.settle(repair.uid, boot_id):
            metrics.count("repairs_total", kind=kind)
    except (PluginError, HardwareError) as error:
        metrics.count("repair_failures_total", kind=kind)
        _log.error("repair %s failed and is tried again: %s", repair, error)


def _settle_modes(repairer: Repairer, node: NodeSnapshot) -> None:
    """Turn modes off that this driver turned on and no claim uses, and forget those that a reboot turned off.

    A claim's own end does it, too, but a refusal is only logged, and then nobody speaks of the GPU any more.
    """
    steps = repairer.steps
    for gpu in (gpu for gpu in node.gpus.values() if steps.made_modes.has(gpu)):
        try:
            with repairer.locks.targets([LockTarget(GPU, gpu.uuid)], "settle the MIG mode"):
                steps.mig_modes.turn_off_if_unused(gpu)
        except (PluginError, HardwareError) as error:
            _log.warning("%s: its MIG mode stays as it is: %s", gpu_text(gpu), error)
