"""A claim that is over keeps its whole GPUs while programs use them: else the next claim runs beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from damaged_files import flip, places
from devices_of_kinds import example_of
from gpu_programs import CLIENT, DAEMON, Started, ended, programs, said
from told_cluster import Cluster

from agent.hardware.clients.open_files import processes_with
from agent.hardware.mps.ports import daemon_name
from plugin.base.errors import DeviceHeld
from plugin.claim.reconciling.programs import programs_on
from plugin.claim.reconciling.standing import ASK_S, GRACE_S
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind
from plugin.kinds.used_whole import WholeGpusKind
from plugin.telling.ports import NoObserver
from plugin.telling.reports import Reports
from scheduler_core.model.claim import ClaimUid

LOOKS = 1 + int(GRACE_S / ASK_S)
"""How many looks at the API server end a claim that is over."""
OF_WHOLE_GPUS = [kind for kind in KINDS.preparable if isinstance(kind, WholeGpusKind)]
Look = Callable[[], bool]


def named(kind: AnyKind) -> str:
    return type(kind).__name__


@pytest.fixture
def started() -> Iterator[Started]:
    with programs() as start:
        yield start


@dataclass
class Over:
    """A node whose claims no pod has any more, as the API server says it."""

    bench: Any
    claims: Any
    look_later: Look
    start: Started

    def prepare(self, uid: str, kind: AnyKind) -> None:
        example = example_of(kind)
        self.bench.driver.prepare(self.bench.claim(uid, example.device, configs=example.configs))

    def program(self, gpu: int = 0, *names: str) -> Any:
        found = self.start(CLIENT, self.bench.simulated.directory, gpu, *(names or ("train",)))
        for _ in names or ("train",):
            assert said(found)
        return found

    def look_for_long(self) -> None:
        """Look as often as ends a claim that is over, and once more."""
        for _ in range(2 + LOOKS):
            self.look_later()

    def uids(self) -> list[str]:
        return [record.uid for record in self.bench.records()]


@pytest.fixture
def over(linked_bench: Any, claims: Any, look_later: Look, started: Started) -> Over:
    return Over(linked_bench, claims, look_later, started)


@pytest.fixture
def bench(linked_bench: Any) -> Any:
    return linked_bench


@pytest.mark.parametrize("kind", OF_WHOLE_GPUS, ids=named)
def test_a_pod_that_was_forced_away_and_still_computes_keeps_its_gpu_from_the_next_claim(
    over: Over, kind: AnyKind
) -> None:
    over.prepare("u1", kind)
    program = over.program()
    document = over.bench.document("u1").read_bytes()

    over.look_for_long()

    assert over.uids() == ["u1"]
    assert over.bench.document("u1").read_bytes() == document
    with pytest.raises(DeviceHeld):
        over.bench.prepare("u2", "gpu-0")
    ended(program)
    over.look_later()
    assert over.bench.leftovers() == []
    over.bench.prepare("u2", "gpu-0")


def test_it_is_told_once_which_programs_use_which_gpu(
    over: Over, heard: Any, caplog: pytest.LogCaptureFixture
) -> None:
    over.bench.prepare("u1", "gpu-0")
    program = over.program()

    over.look_for_long()

    (line,) = (line for line in caplog.messages if "programs still use" in line)
    gpu = f"GPU 0 ({over.bench.uuid(0)}): train ({program.pid})"
    acts = "it is kept until they end; if nobody needs them, the operator ends them"
    why = f"the API server has no claim of its name, but programs still use {gpu}; {acts}"
    assert line == f"claim default/claim-u1 (u1): {why}"
    assert heard.said == [("in-use", "u1", why)]
    assert "tangram_plugin_claims_over_in_use 1.0" in over.bench.driver.metrics.text()


def test_an_event_on_the_claim_names_the_programs(over: Over, cluster: Cluster, reports: Reports) -> None:
    over.bench.prepare("u1", "gpu-0")
    program = over.program()

    for _ in range(2 + LOOKS):
        over.bench.clock.now += ASK_S
        over.bench.driver.looks(reports, over.claims).look()

    ((uid, reason, text),) = cluster.warnings
    assert (uid, reason) == ("u1", "DeviceInUse")
    assert f"train ({program.pid})" in text


def test_a_claim_that_is_kept_for_its_programs_counts_as_nothing_that_failed(over: Over) -> None:
    over.bench.prepare("u1", "gpu-0")
    program = over.program()
    over.look_for_long()
    assert over.look_later(), "the next look has time"
    assert "repair_failures_total{" not in over.bench.driver.metrics.text()

    ended(program)
    over.look_later()

    text = over.bench.driver.metrics.text()
    assert 'repairs_total{kind="end"} 1' in text
    assert "tangram_plugin_claims_over_in_use 0.0" in text


def test_the_end_of_the_pod_undoes_the_claim_whatever_runs_on_its_gpu(over: Over) -> None:
    """The kubelet ends the containers before it says so; what runs then is none of the pod's."""
    over.bench.prepare("u1", "gpu-0")
    over.program()
    over.look_for_long()

    over.bench.unprepare("u1")

    assert over.bench.leftovers() == []


def test_a_program_on_one_of_two_linked_gpus_keeps_both(over: Over) -> None:
    over.bench.prepare("u1", "gpus-0-1")
    program = over.program(1)
    over.look_for_long()
    assert over.uids() == ["u1"]

    ended(program)
    over.look_later()

    assert over.uids() == []


def test_a_program_on_another_gpu_keeps_nothing(over: Over) -> None:
    over.bench.prepare("u1", "gpu-0")
    over.program(1)

    over.look_for_long()

    assert over.uids() == []


def test_programs_of_other_claims_on_a_shared_gpu_do_not_keep_one_that_is_over_for_ever(over: Over) -> None:
    over.bench.prepare("u1", "gpu-0-shared")
    over.bench.prepare("u2", "gpu-0-shared")
    over.claims.have("u2", "gpu-0-shared")
    over.program()

    over.look_for_long()

    assert over.uids() == ["u2"]


def test_the_last_claim_of_a_shared_gpu_is_kept_for_the_programs_there(over: Over) -> None:
    over.bench.prepare("u1", "gpu-0-shared")
    over.bench.prepare("u2", "gpu-0-shared")
    over.program()

    over.look_for_long()

    assert len(over.uids()) == 1


def test_a_claim_that_only_looks_at_a_gpu_gives_up_nothing_and_is_undone(over: Over) -> None:
    over.bench.look_at("u1", "gpu-0")
    over.program()

    over.look_for_long()

    assert over.uids() == []


def test_a_driver_without_process_lists_is_not_taken_for_an_idle_gpu(
    over: Over, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def sees_all(proc: Path, node: Path) -> tuple[frozenset[int], bool]:
        return processes_with(proc, node)[0], True  # as on a node, whoever runs this test

    monkeypatch.setattr("agent.hardware.clients.adapter.processes_with", sees_all)
    over.bench.prepare("u1", "gpu-0")
    program = over.program()
    for form in ("v2", "v3"):
        over.bench.inject(f"machine:nvmlDeviceGetComputeRunningProcesses_{form}:function-not-found")

    over.look_for_long()
    kept = over.uids()
    ended(program)
    over.look_for_long()

    assert kept == ["u1"]
    assert (
        f"train ({program.pid}) (the driver lists no programs: NVML answered FUNCTION_NOT_FOUND"
        in caplog.text
    )
    assert over.uids() == []


def test_programs_that_can_neither_be_listed_nor_seen_keep_a_claim_and_are_told(
    over: Over, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    over.bench.prepare("u1", "gpu-0")
    over.bench.inject("gpu-0:processes:not-supported")
    monkeypatch.setattr("agent.hardware.clients.adapter.processes_with", lambda *_: (frozenset(), False))

    over.look_for_long()

    assert over.uids() == ["u1"]
    assert "which programs use it is unknown (the driver lists no programs: " in caplog.text


@pytest.mark.parametrize("fault", ["gpu-0:processes:timed-out", "gpu-0:processes:gpu-lost"])
def test_where_the_driver_cannot_list_programs_a_claim_that_is_over_is_undone_as_before(
    over: Over, fault: str
) -> None:
    over.bench.prepare("u1", "gpu-0")
    over.program()
    over.bench.inject(fault)

    over.look_for_long()

    assert over.uids() == []


def test_the_server_of_an_mps_daemon_keeps_no_claim_and_a_program_beside_it_does(over: Over) -> None:
    """The server stays after its last program has ended. It is a child of the daemon."""
    bench, name = over.bench, daemon_name(over.bench.uuid(0))
    over.bench.prepare("u1", "gpu-0-mps")
    pipe = bench.machine.mps.folders(name).pipe
    client = (bench.simulated.directory, 0, "nvidia-cuda-mps")
    daemon = over.start(DAEMON, CLIENT, *client, CUDA_MPS_PIPE_DIRECTORY=str(pipe))
    server, _, _ = said(daemon).partition(" ")

    steps = bench.driver.looks(NoObserver()).repairer.steps

    def used() -> str:
        return programs_on(steps, ClaimUid("u1"), bench.machine.boot.boot_id())

    assert f"nvidia-cuda-mps ({server})" in used(), "a process of any other daemon is a program"
    numbered = pipe / "nvidia-cuda-mps-control.pid"
    before = numbered.read_text()
    numbered.write_text(f"{daemon.pid}\n")
    assert used() == ""

    program = over.program()

    assert used() == f"GPU 0 ({bench.uuid(0)}): train ({program.pid})"
    numbered.write_text(before)


def test_a_claim_in_quarantine_that_is_over_is_kept_for_its_programs_too(over: Over) -> None:
    over.bench.prepare("u1", "gpu-0")
    file = over.bench.options.claims_dir / "u1.json"
    data = file.read_bytes()
    file.write_bytes(flip(data, places(data)[-2]))
    program = over.program()
    over.look_for_long()
    assert [one.uid for one in over.bench.driver.quarantined()] == ["u1"]

    ended(program)
    over.look_later()

    assert over.bench.driver.quarantined() == ()
    assert over.bench.leftovers() == [f"{file}.corrupt"]


def test_a_pod_that_gets_the_claim_again_is_told_of_anew_when_that_is_over(over: Over, heard: Any) -> None:
    over.bench.prepare("u1", "gpu-0")
    over.program()
    over.look_for_long()
    over.bench.prepare("u1", "gpu-0")

    over.look_for_long()

    assert [one[0] for one in heard.said] == ["in-use", "in-use"]
