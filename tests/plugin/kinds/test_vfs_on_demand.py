"""VFs are made for the first claim and removed after the last: never under a claim, never somebody else's."""

from __future__ import annotations

from typing import Any

import pytest
from devices_of_kinds import VF_KINDS, example_of, told

from agent.hardware.types import Bdf
from agent.inventory.vfs.rules import VfRule, VfRules
from plugin.assembly import assemble
from plugin.base.errors import DeviceHeld, HardwareFailed, NotReady, PluginError, UnknownDevice
from plugin.kinds.nic_vf.rdma import RdmaVfKind
from plugin.kinds.table import AnyKind
from scheduler_core.model.claim import OpaqueConfig

PF = Bdf("0000:19:00.1")
NIC = "nic-0000-19-00-1"
FIRST, SECOND, THIRD = (f"{NIC}-vf-{index}" for index in range(3))
EACH_FORM = pytest.mark.parametrize("kind", VF_KINDS, ids=lambda kind: type(kind).__name__)


@pytest.fixture
def bench(vf_bench: Any) -> Any:
    """A machine with a NIC that gets three VFs on demand and can have four."""
    vf_bench.restart()
    return vf_bench


def by_hand(bench: Any, count: int) -> None:
    """Set the number as a person does, whatever is in use."""
    bench.simulated.set_vfs(PF, 0)
    bench.simulated.set_vfs(PF, count)


def record(bench: Any, uid: str = "u1") -> Any:
    ((device,),) = (found.devices for found in bench.records() if found.claim_uid == uid)
    return device


def in_form(bench: Any, kind: AnyKind, uid: str, device: str) -> Any:
    configs = example_of(kind).configs if uid == "u1" else ()  # no two VFs of a NIC may have one MAC
    return bench.driver.prepare(bench.claim(uid, device, configs=configs))


def changes(bench: Any) -> list[tuple[Any, ...]]:
    """Have the calls that change the number of VFs told from now on."""
    calls: list[Any] = []
    machine = told(bench.machine, calls.append, lambda _: None)
    bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)
    return calls


@EACH_FORM
def test_the_first_claim_makes_all_of_them_and_the_last_one_removes_them(bench: Any, kind: AnyKind) -> None:
    assert bench.vfs() == 0

    in_form(bench, kind, "u1", SECOND)
    assert bench.vfs() == 3
    in_form(bench, kind, "u2", FIRST)
    bench.unprepare("u1")
    assert bench.vfs() == 3
    bench.unprepare("u2")

    assert bench.vfs() == 0
    assert bench.leftovers() == []


def test_a_claim_that_comes_while_they_exist_changes_their_number_no_more(bench: Any) -> None:
    bench.prepare("u1", FIRST)
    calls = changes(bench)

    bench.prepare("u2", SECOND)
    bench.unprepare("u1")

    assert "set_vf_count" not in calls


def test_the_container_is_told_the_address_that_the_vf_has_once_it_is_made(bench: Any) -> None:
    bench.prepare("u1", SECOND)

    assert record(bench).status_data["pciAddress"] == "0000:19:00.7"
    assert bench.machine.nics.reader.virtual_function(PF, 1) == "0000:19:00.7"
    assert "0000:19:00.7" in bench.document("u1").read_text()


def test_the_record_says_that_its_vf_was_made_for_claims(bench: Any) -> None:
    bench.prepare("u1", SECOND)

    assert record(bench).on_demand == 3
    assert '"on_demand":3' in (bench.options.claims_dir / "u1.json").read_text()


def test_a_plugin_that_starts_anew_finds_what_was_made_and_removes_it_after_the_last_claim(
    bench: Any,
) -> None:
    bench.prepare("u1", FIRST)
    bench.prepare("u2", SECOND)
    bench.restart()
    assert bench.vfs() == 3

    bench.unprepare("u1")
    assert bench.vfs() == 3
    bench.restart()
    bench.unprepare("u2")

    assert bench.leftovers() == []
    assert bench.vfs() == 0


def test_several_of_one_claim_are_made_at_once_and_removed_at_once(bench: Any) -> None:
    calls = changes(bench)
    bench.prepare("u1", FIRST, THIRD)
    bench.unprepare("u1")

    assert calls.count("set_vf_count") == 2
    assert bench.vfs() == 0


def test_the_whole_nic_is_excluded_while_one_is_in_use_and_free_when_none_is(bench: Any) -> None:
    bench.prepare("u1", FIRST)
    with pytest.raises(DeviceHeld, match="claim-u1"):
        bench.prepare("u2", NIC)
    bench.unprepare("u1")

    bench.prepare("u2", NIC)

    with pytest.raises(DeviceHeld, match="claim-u2"):
        bench.prepare("u3", SECOND)
    assert bench.vfs() == 0


def test_a_probe_that_comes_late_is_awaited(bench: Any) -> None:
    bench.inject("nic-1:late-rdma=3")

    bench.prepare("u1", SECOND)

    assert 0 < bench.clock.now < 5


def test_a_probe_that_never_comes_takes_the_vfs_back(bench: Any) -> None:
    bench.inject("nic-1:no-rdma")

    with pytest.raises(NotReady, match="has made no RDMA device"):
        bench.prepare("u1", SECOND)

    assert bench.vfs() == 0
    assert bench.records() == ()


def test_autoprobe_stays_as_it_is_and_vfio_takes_a_vf_without_a_driver(bench: Any) -> None:
    bench.machine.nics.functions.set_autoprobe(PF, False)
    vfio = OpaqueConfig(
        driver="tangram.dev",
        parameters={"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", "mode": "vfio"},
    )

    with pytest.raises(NotReady, match="it has no driver"):
        bench.prepare("u1", SECOND)
    bench.driver.prepare(bench.claim("u1", SECOND, configs=(vfio,)))

    assert bench.machine.nics.reader.binding(Bdf("0000:19:00.7")).driver == "vfio-pci"
    assert bench.machine.nics.reader.binding(Bdf("0000:19:00.6")).driver is None


@pytest.mark.parametrize(
    ("fault", "reason", "remedy"),
    [
        ("no-space", "no interrupt vectors or bus numbers left", "the operator asks for fewer VFs"),
        ("in-use", "their number changes only by way of 0", "remove its VFs first"),
        ("no-permission", "EPERM", "run as root"),
        ("hardware-fault", "EIO", ""),
    ],
)
def test_what_the_kernel_refuses_is_told_with_who_acts_and_leaves_nothing(
    bench: Any, fault: str, reason: str, remedy: str
) -> None:
    # Elsewhere EBUSY and ENOSPC reached people as bare numbers.
    bench.inject(f"nic-1:set-vfs:{fault}:1")

    with pytest.raises(HardwareFailed, match=reason) as refusal:
        bench.prepare("u1", SECOND)

    assert f"set the number of VFs to 3 on PF {PF}" in str(refusal.value)
    assert remedy in str(refusal.value)
    assert bench.leftovers() == []
    assert bench.prepare("u1", SECOND)


def test_fewer_than_asked_are_used_as_far_as_they_go(bench: Any) -> None:
    bench.inject("nic-1:fewer-vfs=2")

    bench.prepare("u1", SECOND)
    with pytest.raises(NotReady, match="its driver made 2 VFs of 3; the operator asks for fewer"):
        bench.prepare("u2", THIRD)
    assert bench.vfs() == 2
    bench.unprepare("u1")

    assert bench.vfs() == 0
    assert bench.leftovers() == []


def test_fewer_than_asked_without_the_wanted_one_are_taken_back(bench: Any) -> None:
    bench.inject("nic-1:fewer-vfs=2")

    with pytest.raises(NotReady, match="its driver made 2 VFs of 3"):
        bench.prepare("u1", THIRD)

    assert bench.vfs() == 0
    assert bench.leftovers() == []


@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_number_that_somebody_set_by_hand_is_used_and_never_removed(bench: Any, count: int) -> None:
    by_hand(bench, count)

    bench.prepare("u1", FIRST)
    bench.unprepare("u1")
    bench.restart()

    assert bench.vfs() == count


def test_a_vf_beyond_a_number_that_was_set_by_hand_is_refused_with_who_acts(bench: Any) -> None:
    by_hand(bench, 1)

    with pytest.raises(NotReady, match=r"has 1 VFs that somebody else made.*the operator removes") as refusal:
        bench.prepare("u1", SECOND)

    assert refusal.value.retry
    assert bench.vfs() == 1
    assert bench.leftovers() == []


def test_a_number_that_was_set_by_hand_under_a_claim_stays_when_the_claim_ends(bench: Any) -> None:
    bench.prepare("u1", FIRST)
    by_hand(bench, 4)

    bench.unprepare("u1")

    assert bench.vfs() == 4
    assert bench.leftovers() == []


def test_vfs_that_vanished_under_a_claim_are_made_again_when_it_is_asked_for_again(bench: Any) -> None:
    first = bench.prepare("u1", SECOND)
    by_hand(bench, 0)

    assert bench.prepare("u1", SECOND) == first
    assert bench.vfs() == 3
    bench.unprepare("u1")
    assert bench.vfs() == 0


def test_after_a_reboot_nothing_is_left_and_the_claim_gets_them_anew(bench: Any) -> None:
    bench.prepare("u1", SECOND)
    bench.simulated.set_vfs(PF, 0)  # the kernel starts without VFs
    bench.simulated.reboot()
    bench.restart()
    assert bench.records() == ()

    assert bench.prepare("u1", SECOND)
    bench.unprepare("u1")

    assert bench.vfs() == 0
    assert bench.leftovers() == []


def test_what_somebody_made_after_a_reboot_is_not_taken_for_ours(bench: Any) -> None:
    bench.prepare("u1", SECOND)
    bench.simulated.reboot()
    by_hand(bench, 3)
    bench.restart()

    bench.prepare("u1", SECOND)
    bench.unprepare("u1")

    assert bench.vfs() == 3


@pytest.mark.parametrize("rules", [None, VfRules({PF: VfRule(2, on_demand=True)}), VfRules({PF: None})])
def test_other_rules_change_nothing_for_a_claim_that_runs(bench: Any, rules: VfRules | None) -> None:
    first = bench.prepare("u1", FIRST)
    bench.with_rules(rules)

    assert bench.prepare("u1", FIRST) == first
    assert bench.vfs() == 3
    bench.unprepare("u1")

    assert bench.vfs() == 0
    assert bench.leftovers() == []


def test_a_record_that_cannot_be_read_keeps_the_vfs_since_its_container_may_run(bench: Any) -> None:
    bench.prepare("u1", FIRST)
    bench.prepare("u2", SECOND)
    (bench.options.claims_dir / "u2.json").write_text("{}\n")

    bench.unprepare("u1")

    assert bench.vfs() == 3


def test_a_nic_whose_vfs_cannot_be_removed_now_is_left_to_the_next_call(bench: Any) -> None:
    bench.prepare("u1", FIRST)
    bench.inject("nic-1:set-vfs:in-use:1")

    with pytest.raises(HardwareFailed, match="a program still uses one of its VFs") as refusal:
        bench.unprepare("u1")
    assert refusal.value.retry
    assert bench.vfs() == 3
    bench.unprepare("u1")

    assert bench.vfs() == 0
    assert bench.leftovers() == []


@pytest.mark.parametrize("fault", ["nic-1:set-vfs:no-space:1", "nic-1:no-rdma"])
def test_no_kind_is_ever_called_with_a_vf_that_does_not_exist(
    bench: Any, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    asked: list[tuple[str, bool]] = []

    def watched(name: str, real: Any) -> Any:
        def call(self: Any, context: Any, devices: Any, *more: Any) -> None:
            asked.extend((name, device.is_made) for device in devices)
            real(self, context, devices, *more)

        return call

    for name in ("refuse_occupied", "set_up", "take_down"):
        monkeypatch.setattr(RdmaVfKind, name, watched(name, getattr(RdmaVfKind, name)))
    bench.inject(fault)

    with pytest.raises(PluginError):
        bench.prepare("u1", FIRST)
    bench.simulated.clear_faults()
    bench.prepare("u1", FIRST)
    bench.unprepare("u1")

    assert set(asked) == {("refuse_occupied", True), ("set_up", True), ("take_down", True)}


def test_a_vf_that_no_rule_offers_is_unknown(bench: Any) -> None:
    with pytest.raises(UnknownDevice):
        bench.prepare("u1", f"{NIC}-vf-3")


def test_a_file_that_cannot_be_read_leaves_the_vfs_alone(bench: Any) -> None:
    bench.prepare("u1", FIRST)
    (bench.options.made_vfs_dir / f"{PF}.json").write_text("{")

    bench.unprepare("u1")

    assert bench.vfs() == 3


def test_the_nics_of_the_rules_do_not_wait_for_each_other(bench: Any) -> None:
    bench.inject("nic-1:set-vfs:no-space")

    with pytest.raises(HardwareFailed):
        bench.prepare("u1", FIRST)

    assert bench.prepare("u2", "nic-0000-19-00-0-vf-0")
