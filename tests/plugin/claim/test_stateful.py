"""Any order of claims, faults, restarts, reboots and meddling: what was promised always holds."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from plugin.base.errors import PluginError
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedComputeInstance, ClaimedMigDevice
from plugin.kinds.shared_gpu import ClaimedGpuShare

DEVICES = (
    "gpu-0",
    "gpu-0-mig-1g-5gb-0",
    "gpu-0-mig-1g-5gb-2",
    "gpu-0-mig-2g-10gb-2-3",
    "gpu-0-mig-3g-20gb-4-7",
    "gpu-0-mig-7g-40gb-0-7",
    "gpu-0-mig-1c-3g-20gb-4-7-ci-0",
    "gpu-0-mig-1c-3g-20gb-4-7-ci-2",
    "gpu-0-mig-2c-3g-20gb-4-7-ci-0-1",
    "gpu-0-mig-1c-2g-10gb-4-5-ci-1",
    "gpu-1",
    "gpu-1-mig-3g-20gb-0-3",
    "gpus-0-1",
    "gpu-0-shared",
    "gpu-1-shared",
)
CALLS = (
    "set-mig-mode",
    "create-gpu-instance",
    "create-compute-instance",
    "destroy-compute-instance",
    "destroy-gpu-instance",
)
ERRORS = ("in-use", "hardware-fault", "insufficient-resources", "timed-out", "not-found")
LOOKS = st.sampled_from(["look-1", "look-2"])
UIDS = st.sampled_from(["u1", "u2", "u3", "u4"])


def claims_over(make: Any) -> type[RuleBasedStateMachine]:  # noqa: C901 - one class in a function
    class Claims(RuleBasedStateMachine):
        """The driver against a model that knows what every successful call promised."""

        def __init__(self) -> None:
            super().__init__()
            self.temporary = TemporaryDirectory(prefix="tg-", dir="/tmp")
            self.bench = make(Path(self.temporary.name))
            self.promised: dict[str, tuple[str, ...]] = {}
            self.looks: dict[str, list[str]] = {}
            self.mode_was_refused = False

        @initialize()
        def start(self) -> None:
            self.bench.restart()

        @rule(uid=UIDS, devices=st.lists(st.sampled_from(DEVICES), min_size=1, max_size=3, unique=True))
        def prepare(self, uid: str, devices: list[str]) -> None:
            wanted = self.promised.get(uid, tuple(devices))
            try:
                answer = self.bench.prepare(uid, *wanted)
            except PluginError:
                return
            assert tuple(device.device for device in answer) == wanted
            self.promised[uid] = wanted

        @rule(uid=LOOKS, devices=st.lists(st.sampled_from(DEVICES), min_size=1, max_size=3, unique=True))
        def look_at(self, uid: str, devices: list[str]) -> None:
            before = [self.bench.instances(minor) for minor in (0, 1)]
            with suppress(PluginError):
                self.bench.look_at(uid, *self.looks.setdefault(uid, devices))
            assert [self.bench.instances(minor) for minor in (0, 1)] == before

        @rule(uid=LOOKS)
        def look_away(self, uid: str) -> None:
            before = [self.bench.instances(minor) for minor in (0, 1)]
            self.bench.unprepare(uid)
            self.looks.pop(uid, None)
            assert [self.bench.instances(minor) for minor in (0, 1)] == before

        @rule(uid=UIDS)
        def unprepare(self, uid: str) -> None:
            try:
                self.bench.unprepare(uid)
            except PluginError:
                self.promised.pop(uid, None)  # it may have been undone in part
                return
            self.promised.pop(uid, None)
            assert not self.bench.document(uid).exists()

        @rule()
        def restart(self) -> None:
            self.bench.restart()

        @rule()
        def reboot(self) -> None:
            self.bench.simulated.reboot()
            self.bench.restart()
            self.promised.clear()

        @rule(call=st.sampled_from(CALLS), error=st.sampled_from(ERRORS), times=st.integers(1, 2))
        def break_something(self, call: str, error: str, times: int) -> None:
            self.mode_was_refused |= call == "set-mig-mode"
            self.bench.inject(f"gpu-0:{call}:{error}:{times}")

        @rule(uid=UIDS)
        def empty_the_cdi_folder(self, uid: str) -> None:
            self.bench.document(uid).unlink(missing_ok=True)

        @precondition(lambda self: self.bench.instances())
        @rule(data=st.data())
        def destroy_an_instance_from_outside(self, data: st.DataObject) -> None:
            self.bench.simulated.clear_faults()
            instance = data.draw(st.sampled_from(self.bench.instances()))
            gpus = self.bench.simulated.gpus
            for compute in instance.compute_instances:
                gpus.destroy_compute_instance(instance.parent, instance.gi_id, compute.ci_id)
            gpus.destroy_gpu_instance(instance.parent, instance.gi_id)

        @invariant()
        def every_promised_claim_has_a_completed_record(self) -> None:
            completed = {
                record.claim_uid: tuple(device.device for device in record.devices)
                for record in self.bench.records()
                if record.state is State.COMPLETED
            }
            assert self.promised.items() <= completed.items()

        @invariant()
        def no_instance_exists_that_no_record_speaks_of(self) -> None:
            held = self.own_devices()
            specs = {device.spec for device in held if isinstance(device, ClaimedMigDevice)}
            existing = {instance.spec for minor in (0, 1) for instance in self.bench.instances(minor)}
            assert existing <= specs

        @invariant()
        def no_mig_device_is_two_claims(self) -> None:
            held = self.own_devices()
            uuids = [one.mig_uuid for one in held if isinstance(one, ClaimedMigDevice) and one.mig_uuid]
            assert len(set(uuids)) == len(uuids)

        @invariant()
        def no_compute_slice_is_held_twice(self) -> None:
            parts = [one for one in self.own_devices() if isinstance(one, ClaimedComputeInstance)]
            slices = [
                (one.spec, at)
                for one in parts
                for at in range(one.place.start, one.place.start + one.place.size)
            ]
            assert len(set(slices)) == len(slices)

        @invariant()
        def no_gpu_is_held_whole_twice_and_none_in_two_ways(self) -> None:
            held = self.own_devices()
            whole = [gpu for one in held if isinstance(one.hardware, frozenset) for gpu in one.hardware]
            cut = {one.gpu for one in held if isinstance(one, ClaimedMigDevice)}
            shared = {one.gpu for one in held if isinstance(one, ClaimedGpuShare)}
            assert not set(whole) & (cut | shared)
            assert not cut & shared
            assert len(set(whole)) == len(whole)

        def own_devices(self) -> list[Any]:
            held = [device for record in self.bench.records() for device in record.devices]
            return [device for device in held if not device.has_admin_access]

        def teardown(self) -> None:
            self.bench.simulated.clear_faults()
            self.bench.restart()
            for uid in ("u1", "u2", "u3", "u4", "look-1", "look-2"):
                self.bench.unprepare(uid)
            leftovers = self.bench.leftovers()
            if self.mode_was_refused:  # turning it off is best effort: nobody tries again
                leftovers = [left for left in leftovers if "MIG mode" not in left]
            self.temporary.cleanup()
            assert leftovers == []

    return Claims


@pytest.mark.timeout(300)
def test_in_any_order_of_events_every_promise_holds_and_nothing_is_left(linked_bench_in: Any) -> None:
    run_state_machine_as_test(
        claims_over(linked_bench_in),
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
