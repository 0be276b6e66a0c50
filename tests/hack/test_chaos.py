"""What the campaign of chaos counts, and what comes and goes: claims, the stream of pods, the report."""

from __future__ import annotations

import json
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest
from chaos import killer
from chaos.api_side import ApiSide
from chaos.books import Books
from chaos.documents import Drawn
from chaos.killer import Killer
from chaos.parts import PARTS, missing_of, parts_of
from chaos.pods import KINDS, NEVER_RUNS, kinds_of, objects
from chaos.report import Kill, Report
from chaos.stream import Come, Go, Stream, one_of_each
from hypothesis import given
from hypothesis import strategies as st
from launcher.client import ControlError

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.slices import v1_slices
from kube_api import KubeApi, Resource


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


def share(name: str, device: str, memory: str) -> dict[str, Any]:
    one = claim(name, device)
    (result,) = one["status"]["allocation"]["devices"]["results"]
    result["consumedCapacity"] = {"tangram.dev/memory": memory}
    return one


def test_shares_are_a_mistake_only_beyond_the_memory_of_their_gpu() -> None:
    device = {
        "name": "gpu-0-shared",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "40Gi"}},
    }
    books = Books.of([{"spec": {"devices": [device]}}])
    claims = [share("a", "gpu-0-shared", "20Gi"), share("b", "gpu-0-shared", "20Gi")]

    assert books.mistakes(claims) == []
    (mistake,) = books.mistakes([*claims, share("c", "gpu-0-shared", "1Mi")])
    assert mistake.startswith("device gpu-0-shared: ")


@pytest.mark.parametrize("has_controller", [True, False])
def test_each_cluster_has_kinds_of_pods_and_parts_of_its_own(has_controller: bool) -> None:
    kinds, parts = kinds_of(has_controller=has_controller), parts_of(has_controller=has_controller)

    assert ("gang" in kinds, "leader" in parts) == (has_controller, has_controller)
    assert ("share" in kinds) != has_controller
    assert {"plugin", "agent", "kubelet", "containerd", "scheduler", "apiserver"} <= set(parts) <= set(PARTS)


@pytest.mark.parametrize("kind", kinds_of(has_controller=False))
def test_no_pod_waits_at_a_gate_that_nobody_opens(kind: str) -> None:
    drawn = Drawn(name="x", is_gated=True, lasts_s=1.0, grace_s=0, has_controller=False)

    assert all(pod["spec"]["schedulingGates"] == [] for pod in objects(kind, drawn).pods)


@given(pick=st.integers(0, 2**32 - 1))
def test_a_random_claim_is_its_picks_and_fits_on_the_machine_beside_one_of_each_kind(pick: int) -> None:
    drawn = Drawn(name="x", is_gated=False, lasts_s=1.0, grace_s=0, has_controller=False, pick=pick)
    found = objects("mixed", drawn)

    (wanted,) = (one["spec"]["devices"]["requests"] for one in found.claims)
    classes = [one["exactly"]["deviceClassName"] for one in wanted]
    assert found == objects("mixed", drawn)
    assert 1 <= len(wanted) <= 3
    assert classes.count("gpu.tangram.dev") <= 1


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


class LateParts:
    """Parts of which none starts before the third try; ``works`` is set once one has started."""

    def __init__(self, absent: int = 0) -> None:
        self.tries = 0
        self.absent = absent
        self.works = Event()

    def kill(self, names: tuple[str, ...]) -> tuple[str, ...]:
        self.absent -= 1
        return () if self.absent >= 0 else names

    def mend(self, names: tuple[str, ...]) -> None:
        self.tries += 1
        if self.tries < 3:
            raise ControlError("cannot start kubelet: it ended (1)")
        self.works.set()


def test_a_part_that_does_not_run_has_its_turn_later_in_the_same_round() -> None:
    parts, report = LateParts(absent=2), Report(1)
    parts.tries = 2
    found = Killer(
        parts,  # type: ignore[arg-type]
        ["plugin"],
        seed=1,
        pause_s=(0.0, 0.0),
        calm_s=3600.0,
        report=report,
        say=lambda _: None,
    )

    with found.at_work():
        while not found.rounds:
            parts.works.wait()

    assert [kill.parts for kill in report.kills] == [(), (), ("plugin",)]


def test_a_part_that_ends_where_another_one_is_not_ready_is_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(killer, "_PAUSE_S", 0.0)
    parts, report, said = LateParts(), Report(1), list[str]()
    found = Killer(
        parts,  # type: ignore[arg-type]
        ["kubelet"],
        seed=1,
        pause_s=(0.0, 0.0),
        calm_s=0.0,
        report=report,
        say=said.append,
    )

    with found.at_work():
        parts.works.wait()

    assert report.problems == []
    assert said.count("cannot start kubelet: it ended (1)") == 2
    assert report.kills[0].parts == ("kubelet",)


class Deployments:
    """An API server with a controller of two replicas, while pods of the version before are ending."""

    def get(self, resource: Resource, name: str, namespace: str) -> Any:
        assert (resource.kind, name, namespace) == ("Deployment", "tangram-controller", "tangram-system")
        return SimpleNamespace(document={"spec": {"replicas": 2}, "status": {"replicas": 4}})


def test_as_many_controllers_are_expected_as_are_wanted_and_not_those_that_are_ending() -> None:
    def expected(*, has_controller: bool) -> dict[str, int]:
        return ApiSide(cast("KubeApi", Deployments()), "chaos-1", has_controller=has_controller).programs()

    assert expected(has_controller=True) == {"agent": 1, "plugin": 1, "controller": 2}
    assert expected(has_controller=False) == {"agent": 1, "plugin": 1}


def test_a_program_is_back_when_as_many_run_as_before_the_kills() -> None:
    expected = {"agent": 1, "controller": 2}
    assert missing_of(expected, {"agent": 1, "controller": 1}) == ["controller: 1 of 2"]
    assert missing_of(expected, {"controller": 2}) == ["agent: 0 of 1"]
    assert missing_of(expected, {"agent": 2, "controller": 2}) == []  # one that its runtime has forgotten
