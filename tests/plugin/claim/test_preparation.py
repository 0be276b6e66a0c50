"""A claim is on the disk before anything is done for it; one that comes to nothing leaves nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.hardware.simulated.calls import Calls
from plugin.base.errors import UnknownDevice
from plugin.claim.plan import placeholder
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"


def test_that_a_claim_is_coming_is_durable_before_the_hardware_is_touched(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    fsync, change = os.fsync, Calls.change

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        happened.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def changed(calls: Calls, *call: Any) -> Any:
        happened.append("hardware")
        return change(calls, *call)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Calls, "change", changed)
    bench.prepare("u1", HALF)

    of_the_claim = [one for one in happened if one in {"u1.json", "claims", "hardware"}]
    assert of_the_claim[:3] == ["u1.json", "claims", "hardware"]


def test_a_claim_that_is_opened_and_not_prepared_leaves_nothing(bench: Any) -> None:
    uid, ref = ClaimUid("u1"), ClaimRef("default", "claim-u1")

    with bench.driver.opened(uid, ref):
        (record,) = bench.records()
    with pytest.raises(UnknownDevice), bench.driver.opened(uid, ref) as preparation:
        bench.driver.finish(preparation, bench.claim("u1", "gpu-9"))

    assert (record.state, record.devices) == (State.STARTED, ())
    assert bench.leftovers() == []


def test_a_process_that_dies_before_it_knows_the_devices_leaves_a_claim_that_can_be_prepared(
    bench: Any,
) -> None:
    wanted = placeholder(
        ClaimUid("u1"), ClaimRef("default", "claim-u1"), "tangram.dev", bench.machine.boot.boot_id()
    )
    RecordStore(bench.options.claims_dir).save(wanted)

    assert bench.prepare("u1", HALF)

    RecordStore(bench.options.claims_dir).save(msgspec.structs.replace(wanted, claim_uid="u2"))
    bench.restart()
    assert [record.uid for record in bench.records()] == ["u1"]
