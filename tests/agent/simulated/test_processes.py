"""Real processes on one machine: they see each other, and may be killed at any moment."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.hardware.driver_root import DriverRoot
from agent.hardware.simulated import SimulatedMachine, parse_fault
from agent.hardware.simulated.state import GpuState, StateFile
from agent.hardware.simulated.store import with_gpu

PARTITIONS = """
import sys
from pathlib import Path
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.types import MigSpec, Placement

machine = SimulatedMachine.attach(Path(sys.argv[1]))
uuid = machine.node.cards[0].uuid
print("ready", flush=True)
sys.stdin.readline()
for start in map(int, sys.argv[2].split(",")):
    gi_id = machine.gpus.create_gpu_instance(MigSpec(uuid, 19, Placement(start, 1)))
    print(machine.gpus.create_compute_instance(uuid, gi_id).uuid, flush=True)
"""

FOR_EVER = """
import sys
from pathlib import Path
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.types import MigSpec, Placement

machine = SimulatedMachine.attach(Path(sys.argv[1]))
uuid = machine.node.cards[0].uuid
while True:
    gi_id = machine.gpus.create_gpu_instance(MigSpec(uuid, 19, Placement(0, 1)))
    print(machine.gpus.create_compute_instance(uuid, gi_id).uuid, flush=True)
    machine.gpus.destroy_compute_instance(uuid, gi_id, 0)
    machine.gpus.destroy_gpu_instance(uuid, gi_id)
"""


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    )


def shown_to_containers(machine: SimulatedMachine) -> bool:
    """Whether the tree shows exactly the instances that exist."""
    mig = machine.root / "proc/driver/nvidia/capabilities/gpu0/mig"
    instances = machine.gpus.gpu_instances(machine.node.cards[0].uuid)
    for instance in instances:
        if instance.compute_instances:
            DriverRoot(machine.root).instance_nodes(0, instance.gi_id, 0)
    return sorted(folder.name for folder in mig.iterdir()) == sorted(f"gi{each.gi_id}" for each in instances)


def test_two_processes_that_cut_one_gpu_at_once_see_each_other(cut, tmp_path: Path) -> None:
    cutter = cut()
    processes = [started(PARTITIONS, str(tmp_path / "a100x2"), starts) for starts in ("0,2,4", "1,3,5,6")]
    for process in processes:
        assert process.stdout.readline() == "ready\n"

    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    made = [line for process in processes for line in process.communicate()[0].split()]

    seen = [ci.uuid for gi in cutter.gpus.gpu_instances(cutter.uuid) for ci in gi.compute_instances]
    assert len(made) == len(set(made)) == 7
    assert set(seen) == set(made)


@pytest.mark.parametrize(
    ("fault", "gis", "cis"),
    [
        ("gpu-0:create-gpu-instance:kill-before", 0, 0),
        ("gpu-0:create-gpu-instance:kill-after", 1, 0),
        ("gpu-0:create-compute-instance:kill-before", 1, 0),
        ("gpu-0:create-compute-instance:kill-after", 1, 1),
    ],
)
def test_a_process_dies_where_it_was_told_and_the_next_one_lives(
    cut, machine, tmp_path: Path, fault: str, gis: int, cis: int
) -> None:
    cutter, host = cut(), machine()
    host.inject(parse_fault(fault))

    process = started(PARTITIONS, str(tmp_path / "a100x2"), "0")
    process.communicate("\n")

    instances = cutter.gpus.gpu_instances(cutter.uuid)
    assert process.returncode == -signal.SIGKILL
    assert len(instances) == gis
    assert sum(len(instance.compute_instances) for instance in instances) == cis
    assert host.faults() == ()
    assert shown_to_containers(SimulatedMachine.attach(host.directory))


@pytest.mark.parametrize("after", [1, 2, 5, 9])
def test_a_process_killed_at_any_moment_leaves_the_machine_readable(cut, tmp_path: Path, after: int) -> None:
    cutter = cut()
    with started(FOR_EVER, str(tmp_path / "a100x2")) as process:
        uuids = [process.stdout.readline() for _ in range(after)]
        process.kill()

    host = SimulatedMachine.attach(tmp_path / "a100x2")

    assert shown_to_containers(host)
    for instance in host.gpus.gpu_instances(cutter.uuid):
        for compute_instance in instance.compute_instances:
            host.gpus.destroy_compute_instance(cutter.uuid, instance.gi_id, compute_instance.ci_id)
        host.gpus.destroy_gpu_instance(cutter.uuid, instance.gi_id)
    assert f"{cutter.partition('1g.5gb', 0)[1]}\n" not in uuids
    assert shown_to_containers(host)


def test_a_tree_that_fell_behind_is_rendered_anew(cut, machine) -> None:
    cutter, host = cut(), machine()
    cutter.partition("1g.5gb", 0)
    files = StateFile(host.directory)
    state = files.read()
    emptied = with_gpu(state, cutter.uuid, GpuState(mig_current=True, mig_pending=True))
    files.write(replace(emptied, revision=state.revision + 1))
    assert not shown_to_containers(host)

    SimulatedMachine.attach(host.directory)

    assert shown_to_containers(host)


def test_threads_of_one_process_lose_no_change(cut) -> None:
    cutter = cut()

    with ThreadPoolExecutor(7) as pool:
        made = list(pool.map(lambda start: cutter.partition("1g.5gb", start), range(7)))

    assert len({uuid for _, uuid in made}) == 7
    assert len(cutter.gpus.gpu_instances(cutter.uuid)) == 7
