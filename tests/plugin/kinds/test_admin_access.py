"""Admin access: a claim looks at devices, whoever has them, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from devices_of_kinds import WITH_ADMIN_ACCESS, example_of, told
from made_up_kind import VfKind, vf

from plugin.assembly import assemble
from plugin.base.errors import ClaimUnusable, NotReady
from plugin.claim.states import State
from plugin.kinds.table import AnyKind

SMALL, HALF, OTHER_HALF = "gpu-0-mig-1g-5gb-2", "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-3g-20gb-0-3"
EACH_KIND = pytest.mark.parametrize("kind", WITH_ADMIN_ACCESS, ids=lambda kind: type(kind).__name__)


@pytest.fixture
def changes(linked_bench: Any) -> list[str]:
    """The calls that change the machine from now on."""
    calls: list[str] = []

    def watch() -> None:
        machine = told(linked_bench.machine, calls.append, lambda _: None)
        clock = linked_bench.clock
        linked_bench.driver = assemble(machine, linked_bench.options, clock=clock, sleep=clock.sleep)

    watch()
    return calls


def edits(bench: Any, uid: str, index: int = 0) -> Any:
    return json.loads(bench.document(uid).read_text())["devices"][index]["containerEdits"]


def paths(bench: Any, uid: str) -> list[str]:
    shared = json.loads(bench.document(uid).read_text())["containerEdits"]
    return [node["path"] for each in (shared, edits(bench, uid)) for node in each["deviceNodes"]]


@EACH_KIND
def test_a_device_that_another_claim_has_is_given_without_any_change(
    linked_bench: Any, changes: list[str], kind: AnyKind
) -> None:
    device = example_of(kind).device
    linked_bench.prepare("owner", device)
    before = linked_bench.instances()
    changes.clear()

    answer = linked_bench.look_at("monitor", device)
    again = linked_bench.look_at("monitor", device)
    linked_bench.unprepare("monitor")

    assert [one.device for one in answer] == [device]
    assert again == answer
    assert changes == []
    assert linked_bench.instances() == before
    assert [record.claim_uid for record in linked_bench.records()] == ["owner"]


@EACH_KIND
def test_a_device_that_is_looked_at_can_be_had_and_given_back(linked_bench: Any, kind: AnyKind) -> None:
    device = example_of(kind).device
    linked_bench.prepare("owner", device)
    linked_bench.look_at("monitor", device)

    linked_bench.unprepare("owner")
    linked_bench.prepare("next", device)
    linked_bench.unprepare("next")

    linked_bench.unprepare("monitor")
    assert linked_bench.leftovers() == []


@EACH_KIND
def test_containers_are_told_that_it_is_admin_access(linked_bench: Any, kind: AnyKind) -> None:
    device = example_of(kind).device
    linked_bench.prepare("owner", device)

    linked_bench.look_at("monitor", device)

    (own,), (looked_at,) = edits(linked_bench, "owner")["env"], edits(linked_bench, "monitor")["env"]
    assert own.startswith("TANGRAM_DEVICE_")
    assert looked_at == own.replace("TANGRAM_DEVICE_", "TANGRAM_ADMIN_DEVICE_")


def test_a_monitor_sees_the_mig_instances_of_a_gpu_by_numbers_that_need_no_file(bench: Any) -> None:
    bench.prepare("owner", HALF, SMALL)

    bench.look_at("monitor", "gpu-0")

    mine = paths(bench, "owner")
    nodes = edits(bench, "monitor")["deviceNodes"]
    capabilities = [node for node in nodes if "nvidia-caps" in node["path"]]
    assert {"/dev/nvidiactl", "/dev/nvidia0"} <= set(paths(bench, "monitor"))
    assert set(mine) <= set(paths(bench, "monitor"))
    assert len(capabilities) == 1 + 2 * 2, "the monitor's own, and a GI and a CI each"
    assert all({"type", "major", "minor"} <= node.keys() for node in capabilities)
    assert not any("hostPath" in node for node in capabilities)


def test_a_gpu_without_mig_is_looked_at_by_its_own_node(bench_of: Callable[..., Any]) -> None:
    bench = bench_of("l40s")

    bench.look_at("monitor", "gpu-0", "gpu-1")

    assert "/dev/nvidia0" in paths(bench, "monitor")
    bench.unprepare("monitor")
    assert bench.leftovers() == []


def test_a_mig_partition_is_looked_at_through_its_instance(bench: Any) -> None:
    bench.prepare("owner", HALF)

    bench.look_at("monitor", HALF)

    (owner, monitor) = sorted(bench.records(), key=lambda record: record.claim_uid == "monitor")
    assert monitor.devices[0].mig_uuid == owner.devices[0].mig_uuid
    assert paths(bench, "monitor") == paths(bench, "owner")


@pytest.mark.parametrize("elsewhere", [(), (OTHER_HALF,), (SMALL,)])
def test_a_mig_partition_that_does_not_exist_now_is_refused_and_not_created(
    bench: Any, elsewhere: tuple[str, ...]
) -> None:
    for device in elsewhere:
        bench.prepare("owner", device)
    before = (bench.instances(), bench.is_in_mig_mode(), bench.records())

    with pytest.raises(NotReady, match=rf"{HALF}: its instance does not exist now, .*retried") as refusal:
        bench.look_at("monitor", HALF)

    assert refusal.value.retry
    assert (bench.instances(), bench.is_in_mig_mode(), bench.records()) == before
    assert not bench.document("monitor").exists()


def test_a_refused_look_succeeds_once_a_claim_has_the_partition(bench: Any) -> None:
    with pytest.raises(NotReady):
        bench.look_at("monitor", HALF)
    bench.prepare("owner", HALF)

    assert bench.look_at("monitor", HALF)


def test_own_devices_of_a_refused_claim_are_not_even_begun(linked_bench: Any, changes: list[str]) -> None:
    bench = linked_bench
    own, other = bench.claim("mixed", "gpu-1-mig-3g-20gb-4-7"), bench.claim("mixed", HALF, admin_access=True)
    mixed = type(own)(ref=own.ref, uid=own.uid, results=(*own.results, *other.results))

    with pytest.raises(NotReady):
        bench.driver.prepare(mixed)

    assert changes == []
    assert bench.leftovers() == []


def test_a_claim_may_have_one_device_and_look_at_another(bench: Any) -> None:
    own, other = bench.claim("mixed", SMALL), bench.claim("mixed", "gpu-0", admin_access=True)
    mixed = type(own)(ref=own.ref, uid=own.uid, results=(*own.results, *other.results))

    bench.driver.prepare(mixed)

    (record,) = bench.records()
    mine = [node["path"] for node in edits(bench, "mixed", 0)["deviceNodes"]]
    assert [device.has_admin_access for device in record.devices] == [False, True]
    assert set(mine) <= {node["path"] for node in edits(bench, "mixed", 1)["deviceNodes"]}
    bench.unprepare("mixed")
    assert bench.leftovers() == []


def test_an_instance_that_was_created_anew_is_the_one_that_the_next_look_finds(bench: Any) -> None:
    bench.prepare("owner", HALF)
    first = bench.look_at("monitor", HALF)
    bench.unprepare("owner")
    bench.prepare("next", HALF)

    assert bench.look_at("monitor", HALF) == first

    (created,) = bench.instances()
    (monitor,) = [record for record in bench.records() if record.claim_uid == "monitor"]
    assert monitor.devices[0].mig_uuid == created.compute_instances[0].uuid
    assert monitor.state is State.COMPLETED


def test_an_instance_of_somebody_else_can_be_looked_at_and_stays_reported_as_foreign(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (spec,) = {device.spec for record in _held(bench, HALF) for device in record.devices}
    gpus = bench.simulated.gpus
    gpus.set_mig_mode(spec.parent, enabled=True)
    gpus.create_compute_instance(spec.parent, gpus.create_gpu_instance(spec))

    bench.look_at("monitor", HALF)
    bench.restart()
    bench.unprepare("monitor")

    assert "no claim created GI" in caplog.text
    assert len(bench.instances()) == 1


def test_the_end_of_a_look_leaves_a_mode_alone_that_somebody_turned_on(bench: Any) -> None:
    bench.simulated.gpus.set_mig_mode(bench.uuid(0), enabled=True)
    bench.look_at("monitor", "gpu-0")

    bench.unprepare("monitor")

    assert bench.is_in_mig_mode()


def test_after_a_reboot_a_look_is_forgotten_and_a_mode_that_outlived_it_stays(bench: Any) -> None:
    bench.look_at("monitor", "gpu-1")
    bench.simulated.reboot()
    bench.simulated.gpus.set_mig_mode(bench.uuid(1), enabled=True)

    bench.restart()

    assert bench.records() == ()
    assert bench.is_in_mig_mode(1)


def test_a_look_waits_for_no_claim_that_works_on_the_gpu(bench: Any) -> None:
    bench.prepare("owner", HALF)
    (target,) = bench.records()[0].lock_targets

    with bench.driver._locks.hold(target.name, "GPU", "a test"):
        assert bench.another_driver().prepare(bench.claim("monitor", "gpu-0", HALF, admin_access=True))

    assert bench.clock.slept == []


def test_a_kind_without_admin_access_refuses_it_by_name() -> None:
    nothing: Any = None

    with pytest.raises(ClaimUnusable, match="device vf-1: this version gives no admin access"):
        VfKind({}, []).find_for_admin(nothing, [vf(1)])


def _held(bench: Any, device: str) -> Any:
    bench.prepare("first", device)
    records = bench.records()
    bench.unprepare("first")
    return records


def test_what_claims_share_of_a_gpu_is_not_looked_at(linked_bench: Any) -> None:
    with pytest.raises(ClaimUnusable, match="admin access is to a GPU, not to the shares"):
        linked_bench.look_at("monitor", "gpu-0-shared")
