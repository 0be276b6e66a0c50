"""How the campaign of chaos sees what two containers have at once: by locks of what each of them sees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chaos import holder
from chaos.documents import FOLDER, MACHINE
from chaos.holder import Holder, Seen
from chaos.node_side import NodeSide

from agent.hardware.simulated import SimulatedMachine
from agent.hardware.types import MigSpec, Placement

VF, PF = "0000:0c:00.1", "0000:0c:00.0"


@pytest.fixture
def hold(tmp_path: Path, side: NodeSide) -> Callable[..., Holder]:
    """Be a container that sees these devices."""

    def start(pod: str, *seen: str, owner: str = "", **more: Any) -> Holder:
        found = Holder(*(tmp_path / one.lstrip("/") for one in (FOLDER, MACHINE)), pod, owner or pod)
        found.take(Seen(seen, **more))
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
    held.keep(Seen([uuid]), seconds=60)
    other.keep(Seen([kept]), seconds=0.01)

    assert told(side, "lost") == [("p", "")]


def test_shares_of_one_gpu_are_no_double_while_there_is_memory_for_all(
    hold: Callable[..., Holder], machine: SimulatedMachine, side: NodeSide
) -> None:
    gpu = str(machine.node.cards[0].uuid)

    for pod in ("a", "b"):
        hold(pod, shares={gpu: 20})
    assert told(side, "double") == []
    hold("c", shares={gpu: 1})

    assert told(side, "double") == [("c", f"{gpu}-memory")]


def test_a_share_and_the_whole_gpu_are_a_double_whoever_comes_first(
    hold: Callable[..., Holder], machine: SimulatedMachine, side: NodeSide
) -> None:
    first, second = (str(card.uuid) for card in machine.node.cards[:2])
    hold("whole", first)
    hold("share", shares={second: 4})
    assert told(side, "double") == []

    hold("late-share", shares={first: 4})
    hold("late-whole", second)

    assert {pod for pod, _ in told(side, "double")} == {"late-share", "late-whole"}


def test_a_device_node_that_two_containers_see_is_a_double(
    hold: Callable[..., Holder], machine: SimulatedMachine, side: NodeSide
) -> None:
    (low, _), (high, _) = half(machine, 0), half(machine, 4)
    hold("low", low, nodes=["nvidia-cap12"])
    hold("high", high, nodes=["nvidia-cap12"])

    assert told(side, "double") == [("high", "node-nvidia-cap12")]


def test_a_container_knows_its_share_its_device_and_the_nodes_that_are_its_own(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia-caps/nvidia-cap12", "vfio/vfio", "vfio/7", "infiniband/uverbs3"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    environment = {
        "TANGRAM_DEVICE_GPU_0_SHARED": "GPU-1",
        "TANGRAM_DEVICE_GPU_0_SHARED_MEMORY_BYTES": str(4 * 2**30),
        "TANGRAM_DEVICE_GPU_0_SHARED_MULTIPROCESSORS": "14",
        "TANGRAM_DEVICE_NIC_0000_19_00_0_VF_0": VF,
        "TANGRAM_ADMIN_DEVICE_GPU_1": "GPU-2",
    }

    seen = Seen.of(environment, tmp_path)

    assert seen == Seen([VF], {"GPU-1": 4}, ["7", "nvidia-cap12", "uverbs3"])


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
