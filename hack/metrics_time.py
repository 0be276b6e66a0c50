"""Measure how long the plugin's page of metrics takes: 100 prepared claims with 300 MIG devices.

``hack/metrics_time.py`` prints processor time: of the first page of all, of one where nothing has changed, of
one after a claim has changed, and of one after a claim has changed and the node was read anew. The records
are real files in a folder that is removed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

from agent.hardware.types import Placement
from agent.inventory.published import MigPartition
from plugin.base.in_flight import CallsInFlight
from plugin.base.metrics import Metrics
from plugin.claim.figures.figures import Figures
from plugin.claim.record import Record
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from scheduler_core.model.claim import ClaimUid

CLAIMS, DEVICES, PAGES = 100, 3, 60


def main() -> int:
    """Measure and print; return 0."""
    with tempfile.TemporaryDirectory() as folder:
        store = RecordStore(Path(folder))
        for number in range(CLAIMS):
            store.save(a_record(number))
        boot: Any = SimpleNamespace(boot_id=lambda: "boot")
        steps: Any = SimpleNamespace(store=store, machine=SimpleNamespace(boot=boot), node=a_node())
        metrics = Metrics()
        figures, calls = Figures(steps, metrics), CallsInFlight(time.monotonic)

        def page() -> float:
            began = time.thread_time()
            figures.refresh()
            metrics.text_with(calls)
            return 1000 * (time.thread_time() - began)

        note(figures, 0, "pod-0")
        first = page()
        same = [page() for _ in range(PAGES)]
        changed, read_anew = [], []
        for turn in range(PAGES):
            note(figures, turn % CLAIMS, f"pod-{turn}")
            changed.append(page())
        for turn in range(PAGES):
            note(figures, turn % CLAIMS, f"later-{turn}")
            steps.node = a_node()
            read_anew.append(page())
        size = len(metrics.text())
    print(f"page of {size} bytes, {CLAIMS * DEVICES} devices of {CLAIMS} claims")
    print(f"the first one: {first:.2f} ms")
    for what, times in (
        ("nothing has changed", same),
        ("a claim has changed", changed),
        ("a claim has changed, and the node was read anew", read_anew),
    ):
        print(f"{what}: median {median(times):.2f} ms, longest {max(times):.2f} ms")
    return 0


def a_node() -> SimpleNamespace:
    """Return a node that was read anew and has the devices of all records."""
    profile: Any = SimpleNamespace(name="1g.5gb")
    numbered: Any = None
    devices = [device for number in range(CLAIMS) for device in a_record(number).devices]
    by_name = {one.device: MigPartition(numbered, profile, Placement(0, 1)) for one in devices}
    by_hardware = {one.hardware: one.device for one in devices}
    known = SimpleNamespace(by_hardware=by_hardware, by_name=by_name)
    return SimpleNamespace(last=SimpleNamespace(devices=known))


def a_record(number: int) -> Record:
    """Return the record of a prepared claim."""
    uid = uid_of(number)
    devices = tuple(
        ClaimedMigPartition(
            requests=("r",),
            pool="node-1",
            device=f"gpu-{place}-mig-1g-5gb-{number}",
            cdi_id=f"k8s.tangram.dev/claim={uid}-{place}",
            parent_uuid=f"GPU-{number:036d}",
            profile_id=19,
            start=0,
            size=1,
            gi_id=7,
            ci_id=0,
            mig_uuid=f"MIG-{number:034d}{place}",
        )
        for place in range(DEVICES)
    )
    return Record(
        claim_uid=uid,
        namespace="default",
        name=f"claim-{number}",
        driver="tangram.dev",
        boot_id="boot",
        state=State.COMPLETED,
        devices=devices,
    )


def note(figures: Figures, number: int, pod: str) -> None:
    """Let a pod have a claim."""
    reserved = [{"resource": "pods", "name": pod}]
    claim = {"metadata": {"uid": uid_of(number)}, "status": {"reservedFor": reserved}}
    figures.pods.note(ClaimUid(uid_of(number)), claim)


def uid_of(number: int) -> str:
    """Return the UID of a claim."""
    return f"0b7a0f6e-51f9-4a34-9f4a-{number:012d}"


if __name__ == "__main__":
    sys.exit(main())
