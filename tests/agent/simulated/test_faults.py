"""A machine misbehaves as it was told, no more and no longer."""

from __future__ import annotations

import pytest

from agent.hardware import errors
from agent.hardware.errors import GpuLost, InUse, TimedOut
from agent.hardware.simulated import (
    Call,
    Fail,
    Held,
    InvalidFault,
    Kill,
    Lost,
    Moment,
    NoFabricManager,
    SimulatedMachine,
    Slow,
    load_node,
    node_text,
    parse_fault,
)
from agent.hardware.simulated.faults import REFUSALS
from agent.hardware.types import Gpu, Unreadable

SPELT = {
    "gpu-3:lost": Lost(3),
    "gpu-0:in-use": Held(0),
    "gpu-0:create-compute-instance:in-use:1": Fail(Call.CREATE_COMPUTE_INSTANCE, 0, "in-use", 1),
    "gpu-0:create-gpu-instance:timed-out": Fail(Call.CREATE_GPU_INSTANCE, 0, "timed-out"),
    "machine:versions:driver-missing": Fail(Call.VERSIONS, None, "driver-missing"),
    "gpu-1:create-gpu-instance:slow=2.5": Slow(Call.CREATE_GPU_INSTANCE, 1, 2.5),
    "gpu-1:mig-mode:slow=10:3": Slow(Call.MIG_MODE, 1, 10, 3),
    "gpu-0:destroy-gpu-instance:kill-after:1": Kill(Call.DESTROY_GPU_INSTANCE, 0, Moment.AFTER),
    "gpu-1:mig-mode:slow=0.00001": Slow(Call.MIG_MODE, 1, 0.00001),
    "gpu-1:mig-mode:slow=123456.789": Slow(Call.MIG_MODE, 1, 123456.789),
    "machine:set-mig-mode:kill-before:2": Kill(Call.SET_MIG_MODE, None, Moment.BEFORE, 2),
    "machine:no-fabric-manager": NoFabricManager(),
    "machine:activate-partition:fabric-unavailable:1": Fail(Call.ACTIVATE, None, "fabric-unavailable", 1),
}


@pytest.mark.parametrize("text", SPELT)
def test_a_fault_is_spelt_one_way(text: str) -> None:
    assert parse_fault(text) == SPELT[text]
    assert str(SPELT[text]) == text


def test_a_process_dies_once_unless_told_otherwise() -> None:
    assert parse_fault("gpu-0:destroy-gpu-instance:kill-after") == parse_fault(
        "gpu-0:destroy-gpu-instance:kill-after:1"
    )


def test_every_error_of_the_driver_can_be_injected() -> None:
    classes = {
        error
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.HardwareError)
    }
    of_nics_alone = {errors.AlreadyTaken}
    of_its_process = {
        errors.DriverLetGo,
        errors.GivenUp,
        errors.LibraryMissing,
        errors.SessionEnded,
        errors.SteppedAside,
        errors.Unanswered,
    }

    assert set(REFUSALS.values()) == classes - of_nics_alone - of_its_process - {errors.HardwareError}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "must be"),
        ("gpu-0", "must be"),
        ("gpu-0:gone", "must be"),
        ("gpu0:lost", "must be"),
        ("machine:lost", "one GPU"),
        ("gpu-0:create:in-use", "the call must be one of versions, gpus"),
        ("gpu-0:mig-mode:broken", "the effect must be one of not-supported"),
        ("gpu-0:mig-mode:slow", "takes seconds"),
        ("gpu-0:mig-mode:in-use=3", "takes seconds"),
        ("gpu-0:mig-mode:in-use:0", "must be"),
        ("gpu-0:versions:driver-missing", "aim at machine"),
    ],
)
def test_what_is_no_fault_is_refused_with_the_rule(text: str, rule: str) -> None:
    with pytest.raises(InvalidFault) as refusal:
        parse_fault(text)

    assert rule in refusal.value.rule
    assert "\n" not in str(refusal.value)


def test_a_fault_of_a_gpu_that_is_not_there_is_refused(machine) -> None:
    with pytest.raises(InvalidFault) as refusal:
        machine("a100x2").inject(Lost(2))

    assert "no gpu-2" in refusal.value.rule


def test_a_fault_that_cannot_be_spelt_is_refused(machine) -> None:
    with pytest.raises(InvalidFault):
        machine("a100x2").inject(Fail(Call.MIG_MODE, 0, "nonsense"))


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("gpu-0:lost", "gpu-00:lost"),
        ("gpu-1:in-use", "gpu-001:in-use"),
        ("gpu-0:mig-mode:timed-out", "gpu-0:mig-mode:timed-out"),
        ("gpu-0:mig-mode:slow=2.50", "gpu-0:mig-mode:slow=2.5"),
    ],
)
def test_a_fault_that_holds_already_is_kept_once(machine, first: str, again: str) -> None:
    host = machine("a100x2")
    host.inject(parse_fault(first))

    host.inject(parse_fault(again))

    assert host.faults() == (parse_fault(first),)


def test_a_node_file_that_names_a_fault_twice_has_it_once(machine) -> None:
    text = node_text("a100x2").replace("\nnuma:", "\nfaults: ['gpu-1:lost', 'gpu-01:lost']\nnuma:", 1)

    assert machine("broken", text).faults() == (Lost(1),)


def test_faults_with_a_number_of_times_add_up(machine) -> None:
    host = machine("a100x2")
    for _ in range(2):
        host.inject(Fail(Call.MIG_MODE, 0, "timed-out", 1))

    for _ in range(2):
        with pytest.raises(TimedOut):
            host.gpus.mig_mode(host.node.cards[0].uuid)

    assert host.faults() == ()


def test_a_call_fails_as_often_as_it_was_told(machine) -> None:
    host = machine("a100x2")
    uuid = host.node.cards[0].uuid
    host.inject(Fail(Call.MIG_MODE, 0, "timed-out", 2))

    for _ in range(2):
        with pytest.raises(TimedOut):
            host.gpus.mig_mode(uuid)

    assert host.gpus.mig_mode(uuid) is not None
    assert host.faults() == ()


def test_a_failing_call_names_the_fault_and_changes_nothing(cut, machine) -> None:
    cutter = cut()
    gi_id = cutter.create("1g.5gb", 0)
    machine().inject(parse_fault("gpu-0:create-compute-instance:in-use:1"))

    with pytest.raises(InUse) as refusal:
        cutter.gpus.create_compute_instance(cutter.uuid, gi_id)

    assert refusal.value.reason == "fault gpu-0:create-compute-instance:in-use:1 was injected"
    assert cutter.gpus.gpu_instances(cutter.uuid)[0].compute_instances == ()


def test_a_fault_without_a_number_stays_until_it_is_cleared(machine) -> None:
    host = machine("a100x2")
    uuid = host.node.cards[0].uuid
    host.inject(Fail(Call.PROFILES, 0, "not-supported"))

    for _ in range(3):
        with pytest.raises(errors.NotSupported):
            host.gpus.profiles(uuid)
    host.clear_faults()

    assert host.gpus.profiles(uuid)


def test_a_fault_of_one_gpu_leaves_the_others_alone(machine) -> None:
    host = machine("a100x2")
    host.inject(Fail(Call.MIG_MODE, 0, "timed-out"))

    assert host.gpus.mig_mode(host.node.cards[1].uuid) is not None


def test_a_fault_of_the_machine_strikes_every_gpu(machine) -> None:
    host = machine("a100x2")
    host.inject(Fail(Call.MIG_MODE, None, "timed-out"))

    for card in host.node.cards:
        with pytest.raises(TimedOut):
            host.gpus.mig_mode(card.uuid)


def test_a_slow_call_sleeps_in_the_caller_and_then_does_its_work(cut, machine, slept) -> None:
    cutter = cut()
    machine().inject(Slow(Call.CREATE_GPU_INSTANCE, 0, 2.5, 1))

    cutter.create("1g.5gb", 0)
    cutter.create("1g.5gb", 1)

    assert slept == [2.5]
    assert len(cutter.gpus.gpu_instances(cutter.uuid)) == 2


def test_a_sleeping_call_does_not_keep_the_machine_locked(tmp_path) -> None:
    seen = []

    def look(seconds: float) -> None:
        other = SimulatedMachine.attach(tmp_path)
        other.clear_faults()
        seen.append(other.gpus.set_mig_mode(other.node.cards[1].uuid, True))

    host = SimulatedMachine.open(load_node("a100x2"), tmp_path, sleep=look)
    host.inject(Slow(Call.SET_MIG_MODE, 0, 60.0))

    host.gpus.set_mig_mode(host.node.cards[0].uuid, True)

    assert len(seen) == 1
    assert all(host.gpus.mig_mode(card.uuid).current for card in host.node.cards)


def test_a_lost_gpu_stands_as_unreadable_among_its_neighbours(machine) -> None:
    host = machine("dgx-a100")
    host.inject(Lost(3))

    gpus = host.gpus.gpus()

    lost = gpus[3]
    assert isinstance(lost, Unreadable)
    assert "GPU 3" in lost.what
    assert host.node.cards[3].site.bdf in lost.hints
    assert sum(isinstance(gpu, Gpu) for gpu in gpus) == 7


def test_every_call_on_a_lost_gpu_says_so(cut, machine) -> None:
    cutter = cut()
    gi_id, _ = cutter.partition("1g.5gb", 0)
    machine().inject(Lost(0))
    gpus, uuid = cutter.gpus, cutter.uuid
    calls = [
        lambda: gpus.mig_mode(uuid),
        lambda: gpus.profiles(uuid),
        lambda: gpus.gpu_instances(uuid),
        lambda: gpus.set_mig_mode(uuid, False),
        lambda: gpus.create_gpu_instance(cutter.spec("1g.5gb", 1)),
        lambda: gpus.create_compute_instance(uuid, gi_id),
        lambda: gpus.destroy_compute_instance(uuid, gi_id, 0),
        lambda: gpus.destroy_gpu_instance(uuid, gi_id),
    ]

    for call in calls:
        with pytest.raises(GpuLost) as refusal:
            call()
        assert "operator" in str(refusal.value)


@pytest.mark.parametrize("healed_by", ["reset", "reboot", "clear"])
def test_a_lost_gpu_comes_back(machine, healed_by: str) -> None:
    host = machine("a100x2")
    host.inject(Lost(0))
    uuid = host.node.cards[0].uuid

    {"reset": lambda: host.reset_gpu(uuid), "reboot": host.reboot, "clear": host.clear_faults}[healed_by]()

    assert all(isinstance(gpu, Gpu) for gpu in host.gpus.gpus())


def test_one_gpu_of_the_list_can_fail_to_be_read(machine) -> None:
    host = machine("a100x2")
    host.inject(parse_fault("gpu-1:gpus:hardware-fault:1"))

    first, second = host.gpus.gpus()

    assert isinstance(first, Gpu)
    assert isinstance(second, Unreadable)
    assert all(isinstance(gpu, Gpu) for gpu in host.gpus.gpus())


def test_the_list_itself_can_fail(machine) -> None:
    host = machine("a100x2")
    host.inject(parse_fault("machine:gpus:driver-missing:1"))

    with pytest.raises(errors.DriverMissing):
        host.gpus.gpus()

    assert len(host.gpus.gpus()) == 2


def test_the_faults_of_calls_outlive_a_reboot_and_clients_do_not(machine) -> None:
    host = machine("a100x2")
    fault = Fail(Call.MIG_MODE, 0, "timed-out", 1)
    for each in (Held(0), fault, Lost(1)):
        host.inject(each)

    host.reboot()

    assert host.faults() == (fault,)


def test_a_node_file_can_start_with_faults(machine) -> None:
    text = node_text("a100x2").replace("\nnuma:", "\nfaults: ['gpu-1:lost']\nnuma:", 1)

    assert machine("broken", text).faults() == (Lost(1),)
