"""Any order of claims, faults, restarts, reboots and meddling: what was promised always holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import functions_of
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
from short_folders import short_folder

from agent.hardware.simulated.nic_state import KERNEL_DRIVER, SettingState
from agent.hardware.types import Bdf
from plugin.base.errors import PluginError
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedComputeInstance, ClaimedMigDevice
from plugin.kinds.nic_vf.claimed import ClaimedVf, RecordedBinding
from plugin.kinds.rdma_nic import ClaimedRdmaNic
from plugin.kinds.whole_gpus.shared_gpu import ClaimedGpuShare
from plugin.telling.ports import NoObserver
from scheduler_core.model.claim import OpaqueConfig


@dataclass(frozen=True)
class Scene:
    """A machine and what may happen there.

    Shape: ``claimed`` gives the devices of a claim; ``calls`` and ``errors`` what may be refused, by device;
           ``pf`` the NIC whose ``vfs`` functions somebody may make anew.
    """

    node: str
    claimed: st.SearchStrategy[Sequence[str]]
    calls: Mapping[str, tuple[str, ...]]
    errors: Mapping[str, tuple[str, ...]]
    pf: Bdf | None = None
    vfs: int = 0


GPU_CALLS = (
    "set-mig-mode",
    "create-gpu-instance",
    "create-compute-instance",
    "destroy-compute-instance",
    "destroy-gpu-instance",
)
NIC_CALLS = ("override-driver", "unbind", "probe", "read-rdma", "read-vf-settings", "set-vf-settings")
GPUS = Scene(
    node="a100x2",
    claimed=st.lists(
        st.sampled_from(
            (
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
        ),
        min_size=1,
        max_size=3,
        unique=True,
    ),
    calls={"gpu-0": GPU_CALLS},
    errors={"gpu-0": ("in-use", "hardware-fault", "insufficient-resources", "timed-out", "not-found")},
)
VF_0, VF_1 = "nic-0000-19-00-0-vf-0", "nic-0000-19-00-0-vf-1"
NICS = Scene(
    node="a30x4",
    claimed=st.sampled_from(
        (
            (VF_0,),
            (VF_1,),
            (VF_0, VF_1),
            (VF_0, "gpu-0-mig-2g-12gb-2-3"),
            (VF_1, "nic-0000-19-00-1", "gpu-1-shared"),
            ("nic-0000-19-00-0", "gpu-0"),
        )
    ),
    calls={"nic-0": NIC_CALLS},
    errors={"nic-0": ("in-use", "hardware-fault", "timed-out", "not-supported")},
    pf=Bdf("0000:19:00.0"),
    vfs=2,
)
VF_CONFIGS = (
    None,
    {"trust": True, "vlan": {"id": 7, "qos": 1}},
    {"mode": "vfio"},
    {"mode": "vfio", "linkState": "enable", "maxTxRate": 500},
)
LOOKS = st.sampled_from(["look-1", "look-2"])
UIDS = st.sampled_from(["u1", "u2", "u3", "u4"])


def claims_over(make: Any, scene: Scene) -> type[RuleBasedStateMachine]:  # noqa: C901 - one class in a function
    class Claims(RuleBasedStateMachine):
        """The driver against a model that knows what every successful call promised."""

        def __init__(self) -> None:
            super().__init__()
            self.temporary = short_folder()
            self.bench = make(Path(self.temporary.name), node=scene.node)
            self.promised: dict[str, tuple[str, ...]] = {}
            self.configs: dict[str, tuple[OpaqueConfig, ...]] = {}
            self.looks: dict[str, Sequence[str]] = {}

        @initialize()
        def start(self) -> None:
            self.bench.restart()

        @rule(uid=UIDS, devices=scene.claimed, config=st.sampled_from(VF_CONFIGS))
        def prepare(self, uid: str, devices: Sequence[str], config: Mapping[str, Any] | None) -> None:
            wanted = self.promised.get(uid, tuple(devices))
            if uid not in self.promised:
                self.configs[uid] = configs_of(wanted, config)
            try:
                answer = self.bench.driver.prepare(self.bench.claim(uid, *wanted, configs=self.configs[uid]))
            except PluginError:
                return
            assert tuple(device.device for device in answer) == wanted
            self.promised[uid] = wanted

        @rule(uid=LOOKS, devices=scene.claimed)
        def look_at(self, uid: str, devices: Sequence[str]) -> None:
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
        def look(self) -> None:
            self.bench.driver.looks(NoObserver()).look()

        @rule()
        def reboot(self) -> None:
            self.bench.simulated.reboot()
            self.bench.restart()
            self.promised.clear()

        @rule(data=st.data(), struck=st.sampled_from(sorted(scene.calls)), times=st.integers(1, 2))
        def break_something(self, data: st.DataObject, struck: str, times: int) -> None:
            call = data.draw(st.sampled_from(scene.calls[struck]))
            error = data.draw(st.sampled_from(scene.errors[struck]))
            self.bench.inject(f"{struck}:{call}:{error}:{times}")

        @precondition(lambda _: scene.pf is not None)
        @rule(count=st.integers(1, 3))
        def let_rdma_devices_come_late(self, count: int) -> None:
            self.bench.inject(f"nic-0:late-rdma={count}")

        @precondition(lambda _: scene.pf is not None)
        @rule()
        def make_the_vfs_anew(self) -> None:
            for count in (0, scene.vfs):
                self.bench.simulated.set_vfs(scene.pf, count)

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

        @invariant()
        def no_nic_is_held_beside_its_vfs_and_no_function_twice(self) -> None:
            held = self.own_devices()
            nics = [one.pf_bdf for one in held if isinstance(one, ClaimedRdmaNic)]
            vfs = [one for one in held if isinstance(one, ClaimedVf)]
            assert len(set(nics)) == len(nics)
            assert len({one.vf_bdf for one in vfs}) == len(vfs)
            assert not set(nics) & {one.pf_bdf for one in vfs}

        @invariant()
        def what_a_vf_has_of_a_claim_is_in_the_record_of_that_claim(self) -> None:
            held = {str(one.vf_bdf): one for one in self.own_devices() if isinstance(one, ClaimedVf)}
            for bdf, function in functions_of(self.bench.simulated).items():
                if function.setting != SettingState():
                    assert held[bdf].original is not None
                if (function.driver, function.override) != (KERNEL_DRIVER, None):
                    assert held[bdf].before == RecordedBinding(driver=KERNEL_DRIVER, override=None)

        def own_devices(self) -> list[Any]:
            held = [device for record in self.bench.records() for device in record.devices]
            return [device for device in held if not device.has_admin_access]

        def teardown(self) -> None:
            self.bench.simulated.clear_faults()
            self.bench.restart()
            for uid in ("u1", "u2", "u3", "u4", "look-1", "look-2"):
                self.bench.unprepare(uid)
            leftovers = self.bench.leftovers()
            self.temporary.cleanup()
            assert leftovers == []

    return Claims


def configs_of(devices: Sequence[str], config: Mapping[str, Any] | None) -> tuple[OpaqueConfig, ...]:
    """A configuration is given to claims that have a VF."""
    if config is None or not any("-vf-" in device for device in devices):
        return ()
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", **config}
    return (OpaqueConfig(driver="tangram.dev", parameters=parameters),)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scene", [GPUS, NICS], ids=lambda scene: scene.node)
def test_in_any_order_of_events_every_promise_holds_and_nothing_is_left(
    linked_bench_in: Any, scene: Scene
) -> None:
    run_state_machine_as_test(
        claims_over(linked_bench_in, scene),
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
