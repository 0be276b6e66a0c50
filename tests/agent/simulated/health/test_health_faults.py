"""The health of a simulated GPU goes wrong as it was told, and heals as hardware heals."""

from __future__ import annotations

import pytest

from agent.hardware.errors import GivenUp, GpuLost
from agent.hardware.health.types import FabricState, GpuEventKind, Recovery
from agent.hardware.simulated import (
    GpuTrouble,
    GpuTroubleKind,
    InvalidFault,
    InvalidNodeFile,
    Lost,
    Raised,
    SimulatedMachine,
    load_node,
    node_text,
    parse_fault,
    parse_injected,
)
from agent.hardware.simulated.gpu_troubles.ring import ROOM

SPELT = {
    "gpu-0:ecc=2": GpuTrouble(0, GpuTroubleKind.ECC, 2),
    "gpu-1:remap-pending": GpuTrouble(1, GpuTroubleKind.REMAP_PENDING),
    "gpu-1:nvlink-down=3": GpuTrouble(1, GpuTroubleKind.NVLINK_DOWN, 3),
    "gpu-0:slowdown=hardware-thermal": GpuTrouble(0, GpuTroubleKind.SLOWDOWN, "hardware-thermal"),
    "gpu-0:recovery=gpu-reset": GpuTrouble(0, GpuTroubleKind.RECOVERY, "gpu-reset"),
    "gpu-0:fabric=failed": GpuTrouble(0, GpuTroubleKind.FABRIC, "failed"),
    "gpu-3:xid=79": Raised(3, GpuEventKind.XID, 79),
    "gpu-0:xid=94:gi=7:ci=0:1000": Raised(0, GpuEventKind.XID, 94, 7, 0, 1000),
    "gpu-0:xid=94:gi=7": Raised(0, GpuEventKind.XID, 94, 7),
    "gpu-0:xid=13:3": Raised(0, GpuEventKind.XID, 13, times=3),
    "machine:xid=48": Raised(None, GpuEventKind.XID, 48),
    "gpu-0:mig-changed": Raised(0, GpuEventKind.MIG_CHANGED),
    "gpu-0:unavailable": Raised(0, GpuEventKind.UNAVAILABLE),
}
HEALED_BY = {
    "reset": lambda host, uuid: host.reset_gpu(uuid),
    "reboot": lambda host, uuid: host.reboot(),
    "clear": lambda host, uuid: host.clear_faults(),
}


def inject(host: SimulatedMachine, *texts: str) -> None:
    host.inject(*(parse_injected(text) for text in texts))


def first(host: SimulatedMachine):
    return host.node.cards[0].uuid


@pytest.mark.parametrize("text", SPELT)
def test_a_trouble_and_an_event_are_spelt_one_way(text: str) -> None:
    assert parse_injected(text) == SPELT[text]
    assert str(SPELT[text]) == text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("gpu-0:ecc", "ecc takes a number"),
        ("gpu-0:ecc=many", "ecc takes a number"),
        ("gpu-0:ecc=-1", "ecc takes a number"),
        ("gpu-0:nvlink-down=", "nvlink-down takes a number"),
        ("gpu-0:remap-pending=1", "remap-pending takes nothing"),
        ("gpu-0:slowdown=tired", "slowdown must be one of hardware-thermal"),
        ("gpu-0:slowdown", "slowdown must be one of"),
        ("gpu-0:recovery=none", "recovery must be one of gpu-reset"),
        ("gpu-0:fabric=completed", "fabric must be one of not-supported"),
        ("machine:ecc=1", "about one GPU"),
        ("gpu-0:xid", "xid takes a number"),
        ("gpu-0:xid=79:0", "xid takes a number"),
        ("gpu-0:xid=79:ci=1", "xid takes a number"),
        ("gpu-0:xid=99999999999", "xid takes a number"),
        ("gpu-0:mig-changed=1", "mig-changed takes nothing"),
        ("nic-0:ecc=1", "must be"),
        ("machine:wait-events=1", "must be"),
        ("gpu-0:wait-events:timed-out", "aim at machine"),
    ],
)
def test_what_is_no_trouble_and_no_event_is_refused_with_the_rule(text: str, rule: str) -> None:
    with pytest.raises(InvalidFault) as refusal:
        parse_injected(text)

    assert rule in refusal.value.rule
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("node", "text", "rule"),
    [
        ("l40s", "gpu-0:nvlink-down=0", "the NVIDIA L40S has no NVLink"),
        ("a100x2", "gpu-0:nvlink-down=12", "has NVLinks 0 to 11"),
        ("a100x2", "gpu-0:fabric=failed", "joins no fabric"),
        ("l40s", "gpu-0:xid=94:gi=1", "the NVIDIA L40S has no MIG"),
        ("a100x2", "gpu-7:xid=79", "no gpu-7"),
        ("a100x2", "gpu-7:ecc=1", "no gpu-7"),
    ],
)
def test_what_a_gpu_cannot_have_is_refused_and_nothing_is_injected(machine, node, text, rule) -> None:
    host = machine(node)

    with pytest.raises(InvalidFault) as refusal:
        inject(host, "gpu-0:ecc=1", text)

    assert rule in refusal.value.rule
    assert host.faults() == ()


def test_an_event_is_no_fault_that_stays(machine) -> None:
    host = machine("a100x2")

    inject(host, "gpu-0:xid=31", "machine:xid=48")

    assert host.faults() == ()
    with pytest.raises(InvalidFault, match="happens once"):
        parse_fault("gpu-0:xid=31")


@pytest.mark.parametrize(
    ("event", "consequence"),
    [
        ("gpu-0:xid=79", Lost(0)),
        ("gpu-0:xid=63", GpuTrouble(0, GpuTroubleKind.REMAP_PENDING)),
        ("gpu-0:xid=64", GpuTrouble(0, GpuTroubleKind.REMAP_FAILED)),
        ("gpu-0:xid=48", GpuTrouble(0, GpuTroubleKind.ECC, 1)),
        ("gpu-0:xid=94:gi=7:2", GpuTrouble(0, GpuTroubleKind.ECC, 2)),
        ("gpu-0:xid=95", GpuTrouble(0, GpuTroubleKind.ECC, 1)),
    ],
)
def test_an_xid_has_the_consequence_that_it_tells_of(machine, event: str, consequence) -> None:
    host = machine("a100x2")

    inject(host, event)

    assert host.faults() == (consequence,)


def test_errors_of_memory_add_up(machine) -> None:
    host = machine("a100x2")

    inject(host, "gpu-0:ecc=2", "gpu-0:xid=48", "gpu-0:xid=95:3")

    assert host.gpus.vitals(first(host)).uncorrectable_ecc == 6


def test_a_gpu_has_one_recovery_and_one_state_of_its_fabric_and_any_number_of_links_down(machine) -> None:
    host = machine("hgx-h100")

    inject(host, "gpu-0:recovery=gpu-reset", "gpu-0:recovery=node-reboot", "gpu-0:fabric=in-progress")
    inject(host, "gpu-0:fabric=failed", "gpu-0:nvlink-down=4", "gpu-0:nvlink-down=2", "gpu-0:nvlink-down=4")

    vitals = host.gpus.vitals(first(host))
    assert (vitals.recovery, vitals.fabric) == (Recovery.REBOOT, FabricState.FAILED)
    assert vitals.links_down == (2, 4)
    assert len(host.faults()) == 4


@pytest.mark.parametrize("healed_by", ["reset", "reboot"])
def test_a_reset_mends_what_a_reset_mends(machine, healed_by: str) -> None:
    host = machine("hgx-h100")
    passing = ("gpu-0:ecc=2", "gpu-0:remap-pending", "gpu-0:nvlink-down=3", "gpu-0:recovery=gpu-reset")
    lasting = ("gpu-0:remap-failed", "gpu-0:slowdown=hardware-thermal")
    inject(host, *passing, "gpu-0:fabric=failed", *lasting)

    HEALED_BY[healed_by](host, first(host))

    assert tuple(str(fault) for fault in host.faults()) == lasting


def test_a_reset_of_one_gpu_leaves_the_troubles_of_others(machine) -> None:
    host = machine("a100x2")
    inject(host, "gpu-0:ecc=2", "gpu-1:ecc=3")

    host.reset_gpu(first(host))

    assert [str(fault) for fault in host.faults()] == ["gpu-1:ecc=3"]


def test_all_that_is_wrong_is_cleared(machine) -> None:
    host = machine("a100x2")
    healthy = host.gpus.vitals(first(host))
    inject(host, "gpu-0:ecc=2", "gpu-0:remap-failed", "gpu-0:slowdown=software-thermal")

    HEALED_BY["clear"](host, first(host))

    assert host.gpus.vitals(first(host)) == healthy


def test_a_model_has_no_values_for_parts_that_it_lacks(machine) -> None:
    host = machine("l40s")

    vitals = host.gpus.vitals(first(host))

    assert (vitals.links_active, vitals.links_down, vitals.fabric) == ((), (), None)


def test_a_node_file_can_start_with_troubles_but_not_with_events(machine) -> None:
    def node(fault: str) -> str:
        return node_text("a100x2").replace("\nnuma:", f"\nfaults: ['{fault}']\nnuma:", 1)

    assert machine("broken", node("gpu-1:ecc=3")).faults() == (GpuTrouble(1, GpuTroubleKind.ECC, 3),)
    for fault, rule in (("gpu-1:xid=79", "happens once"), ("gpu-1:fabric=failed", "joins no fabric")):
        with pytest.raises(InvalidNodeFile, match=rule):
            machine("impossible", node(fault))


def test_every_listener_hears_what_was_raised_after_it_began_in_whatever_process(tmp_path) -> None:
    host = SimulatedMachine.open(load_node("a100x2"), tmp_path)
    early = host.events()
    early.wait(0)
    inject(SimulatedMachine.attach(tmp_path), "gpu-0:xid=31")
    late = SimulatedMachine.attach(tmp_path).events()
    late.wait(0)
    inject(host, "gpu-0:xid=43")

    assert [event.xid for event in early.wait(0).events] == [31, 43]
    assert [event.xid for event in late.wait(0).events] == [43]


def test_who_is_too_slow_learns_that_events_were_lost(machine) -> None:
    host = machine("a100x2")
    slow = host.events()
    slow.wait(0)

    for number in range(ROOM + 1):
        inject(host, f"gpu-0:xid={1000 + number}")
    answer = slow.wait(0)

    assert answer.is_new_session
    assert len(answer.events) == ROOM
    assert not slow.wait(0).is_new_session


def test_waiting_looks_ten_times_a_second_and_no_longer_than_asked(machine, slept) -> None:
    source = machine("a100x2").events()
    source.wait(0)

    assert source.wait(0.35).events == ()

    assert slept == pytest.approx([0.1, 0.1, 0.1, 0.05])


def test_an_event_ends_the_waiting(tmp_path) -> None:
    hosts: list[SimulatedMachine] = []
    host = SimulatedMachine.open(
        load_node("a100x2"), tmp_path, sleep=lambda _: inject(hosts[0], "gpu-1:xid=31")
    )
    hosts.append(host)
    source = host.events()
    source.wait(0)

    (event,) = source.wait(3600).events

    assert event.xid == 31


def test_a_program_that_ends_waits_no_longer(machine) -> None:
    source = machine("a100x2").events(has_ended=lambda: True)
    source.wait(0)

    with pytest.raises(GivenUp):
        source.wait(3600)


def test_calls_about_health_can_be_made_to_fail(machine) -> None:
    host = machine("a100x2")
    inject(host, "gpu-0:vitals:gpu-lost:1")

    with pytest.raises(GpuLost):
        host.gpus.vitals(first(host))

    assert host.gpus.vitals(first(host)).uncorrectable_ecc == 0
