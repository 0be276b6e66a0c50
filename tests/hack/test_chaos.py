"""What the campaign of chaos sees by: locks of containers, counted claims, the stream of pods."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chaos import holder
from chaos.books import Books
from chaos.holder import Holder
from chaos.node_side import NodeSide
from chaos.pods import FOLDER, KINDS, MACHINE, NEVER_RUNS
from chaos.report import Kill, Report
from chaos.stream import Come, Go, Stream, one_of_each
from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import MigSpec, Placement
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.slices import v1_slices

VF, PF = "0000:0c:00.1", "0000:0c:00.0"


@pytest.fixture
def machine(tmp_path: Path) -> SimulatedMachine:
    return SimulatedMachine.open(load_node("dgx-a100"), tmp_path / MACHINE.lstrip("/"))


@pytest.fixture
def side(machine: SimulatedMachine, tmp_path: Path) -> NodeSide:
    found = NodeSide(tmp_path)
    found.prepare()
    return found


@pytest.fixture
def hold(tmp_path: Path, side: NodeSide) -> Callable[..., Holder]:
    """Be a container that sees these devices."""

    def start(pod: str, *seen: str, owner: str = "") -> Holder:
        found = Holder(*(tmp_path / one.lstrip("/") for one in (FOLDER, MACHINE)), pod, owner or pod)
        found.take(seen)
        return found

    return start


def half(machine: SimulatedMachine, start: int) -> tuple[str, Callable[[], None]]:
    """Cut half of the first GPU off; return the partition's UUID and how to take it away."""
    gpus, gpu = machine.gpus, machine.node.cards[0].uuid
    gpus.set_mig_mode(gpu, enabled=True)
    (profile,) = [one for one in gpus.profiles(gpu) if one.name == "3g.20gb"]
    gi_id = gpus.create_gpu_instance(MigSpec(gpu, profile.profile_id, Placement(start, 4)))
    made = gpus.create_compute_instance(gpu, gi_id)

    def take_away() -> None:
        gpus.destroy_compute_instance(gpu, gi_id, made.ci_id)
        gpus.destroy_gpu_instance(gpu, gi_id)

    return str(made.uuid), take_away


def slices_of(machine: SimulatedMachine, *numbers: int) -> list[str]:
    return [f"{machine.node.cards[0].uuid}-slice-{number}" for number in numbers]


def told(side: NodeSide, kind: str) -> list[tuple[str, str]]:
    """Return pod and hardware part of each new event of this kind; containers write the events."""
    return [(one["pod"], one.get("unit", "")) for one in side.new_events() if one["kind"] == kind]


def test_a_second_container_that_sees_a_gpu_is_a_double(
    hold: Callable[..., Holder], machine: SimulatedMachine, side: NodeSide
) -> None:
    gpu = str(machine.node.cards[0].uuid)

    hold("first", gpu)
    assert told(side, "double") == []
    hold("second", gpu)

    assert side.locked() == slices_of(machine, *range(8))
    assert told(side, "double") == [("second", unit) for unit in slices_of(machine, *range(8))]


def test_partitions_of_one_gpu_are_no_double_and_one_that_has_the_slices_of_another_is(
    hold: Callable[..., Holder], machine: SimulatedMachine, side: NodeSide
) -> None:
    (low, take_away), (high, _) = half(machine, 0), half(machine, 4)
    hold("low", low)
    hold("high", high)
    assert side.locked() == slices_of(machine, *range(8))
    assert told(side, "double") == []

    take_away()
    again, _ = half(machine, 0)
    hold("again", again)

    assert told(side, "double") == [("again", unit) for unit in slices_of(machine, 0, 1, 2, 3)]


def test_pods_of_one_claim_share_what_they_see_and_nobody_else_may(
    hold: Callable[..., Holder], machine: SimulatedMachine, side: NodeSide
) -> None:
    uuid, _ = half(machine, 0)

    for pod in ("a", "b"):
        hold(pod, uuid, owner="claim")
    assert told(side, "double") == []
    hold("c", uuid)

    assert {pod for pod, _ in told(side, "double")} == {"c"}


def test_a_whole_nic_is_all_its_vfs(hold: Callable[..., Holder], side: NodeSide) -> None:
    hold("vf", VF)
    hold("other-vf", "0000:12:00.1")
    hold("nic", PF)

    assert told(side, "double") == [("nic", VF)]


def test_hardware_that_goes_away_while_it_is_in_use_is_told(
    hold: Callable[..., Holder], machine: SimulatedMachine, side: NodeSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holder, "LOOK_S", 0.001)
    uuid, take_away = half(machine, 0)
    kept, _ = half(machine, 4)
    held, other = hold("p", uuid), hold("q", kept)

    take_away()
    held.keep([uuid], seconds=60)
    other.keep([kept], seconds=0.01)

    assert told(side, "lost") == [("p", "")]


def test_a_killed_container_holds_nothing(tmp_path: Path, machine: SimulatedMachine, side: NodeSide) -> None:
    folder, files = (tmp_path / one.lstrip("/") for one in (FOLDER, MACHINE))
    program = (sys.executable, "-I", "-S", folder / "holder.py", folder, files, "p", "p", "600")
    gpu = {"TANGRAM_DEVICE_GPU_0": str(machine.node.cards[0].uuid)}
    with subprocess.Popen([str(one) for one in program], env=gpu) as process:
        while not side.new_events():
            assert process.poll() is None
        held = side.locked()
        process.kill()

    assert held == slices_of(machine, *range(8))
    assert side.locked() == []


def test_what_a_claim_left_on_the_node_is_named(
    hold: Callable[..., Holder], machine: SimulatedMachine, side: NodeSide, tmp_path: Path
) -> None:
    assert list(side.left()) == []
    uuid, _ = half(machine, 0)
    held = hold("p", uuid)
    record = tmp_path / "var/lib/kubelet/plugins/tangram.dev/claims/c1"
    document = tmp_path / "run/cdi/tangram.dev-claim_c1.json"
    for path in (record, document):
        path.parent.mkdir(parents=True)
        path.touch()

    left = "; ".join(side.left())

    for one in ("record c1", document.name, "MIG instance gpu0/gi", "not as before", "slice-0 is held"):
        assert one in left
    assert held


def test_a_log_with_a_traceback_is_found_and_kept_when_the_kubelet_has_removed_it(
    side: NodeSide, tmp_path: Path
) -> None:
    log = tmp_path / "var/log/pods/tangram-system_tangram-x_uid/agent/0.log"
    log.parent.mkdir(parents=True)
    log.write_text("INFO\nTraceback (most recent call last):\n")
    (found,) = side.tracebacks()
    log.unlink()

    assert side.tracebacks(keep=tmp_path / "kept") == [found]
    assert "Traceback" in (tmp_path / "kept/tangram-system_tangram-x_uid_agent_0.log").read_text()


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    machine = SimulatedMachine.open(load_node("dgx-a100"), tmp_path_factory.mktemp("machine"))
    return Books.of(v1_slices(describe(discover(simulated_hardware(machine).readers, "n"), "tangram.dev")))


def claim(name: str, *devices: str) -> dict[str, Any]:
    results = [{"device": one} for one in devices]
    return {"metadata": {"name": name}, "status": {"allocation": {"devices": {"results": results}}}}


def test_claims_that_fit_beside_each_other_are_no_mistake(books: Books) -> None:
    claims = [claim("a", "gpu-0"), claim("b", "gpu-1-mig-3g-20gb-0-3", "gpu-1-mig-3g-20gb-4-7"), claim("c")]

    assert books.mistakes(claims) == []


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        (("gpu-0", "gpu-0"), "device gpu-0 is held by claims c0, c1"),
        (("gpu-0", "gpu-0-mig-1g-5gb-0"), "memory-slice-0"),
        (("gpu-0-mig-3g-20gb-0-3", "gpu-0-mig-1g-5gb-3"), "memory-slice-3"),
        (("gpu-99",), "device gpu-99 is held and not published"),
    ],
)
def test_claims_that_exclude_each_other_are_a_mistake(
    books: Books, devices: tuple[str, ...], said: str
) -> None:
    claims = [claim(f"c{number}", one) for number, one in enumerate(devices)]

    assert said in "; ".join(books.mistakes(claims))


@given(seed=st.integers(0, 2**32), most=st.integers(1, 12))
def test_the_stream_is_its_seeds_keeps_its_bound_and_lets_go_what_came(seed: int, most: int) -> None:
    stream, again = Stream(seed, KINDS, most), Stream(seed, KINDS, most)
    there: set[str] = set()
    for _ in range(60):
        event = stream.next()
        assert again.next() == event
        match event:
            case Come(arrival):
                assert arrival.name not in there
                there.add(arrival.name)
            case Go(arrival, is_half):
                assert arrival.name in there
                there -= set() if is_half else {arrival.name}
        assert there == {one.name for one in stream.there}
        assert len(there) <= most


@pytest.mark.parametrize("kind", KINDS)
def test_the_objects_of_an_arrival_belong_together(kind: str) -> None:
    stream = Stream(0, [kind], 5)
    event = stream.next()
    assert isinstance(event, Come)
    named = {
        one["resourceClaimName"]
        for pod in event.arrival.objects.pods
        for one in pod["spec"]["resourceClaims"]
        if "resourceClaimName" in one
    }

    assert named == set(event.arrival.claims)
    assert event.arrival.pods


def test_after_the_campaign_every_kind_that_can_run_runs_once() -> None:
    assert {one.kind for one in one_of_each(KINDS, "after")} == set(KINDS) - NEVER_RUNS


def test_a_report_with_a_problem_is_not_well_and_says_it_once() -> None:
    report = Report(1)
    report.came.update(["gpu", "gpu", "gang"])
    report.kills += [Kill(at_s=1.0, parts=("agent", "plugin"), back_s=0.5)]
    assert report.document()["is_well"]
    for _ in range(2):
        report.problem("the lock of gpu-0 is held")

    assert not report.is_well
    assert [one for one in report.lines() if "PROBLEM" in one] == ["PROBLEM: the lock of gpu-0 is held"]
    document = json.loads(json.dumps(report.document()))
    assert document["problems"] == ["the lock of gpu-0 is held"]
    assert document["came"] == {"gpu": 2, "gang": 1}
    assert document["killed"] == {"agent": 1, "plugin": 1}
