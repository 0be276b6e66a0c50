"""What the NVML adapter does beyond the common contract: where drivers surprise."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pynvml
import pytest
from fake_nvml import FakeLibrary

from agent.hardware.errors import GpuLost, HardwareFault, InUse, NotSupported
from agent.hardware.nvml import Nvml
from agent.hardware.simulated import Held, Lost, SimulatedMachine, load_node
from agent.hardware.types import Gpu, GpuUuid, MigMode, MigSpec, ModeChange, Placement, Unreadable

Library = Callable[..., FakeLibrary]


@pytest.fixture
def start(tmp_path: Path) -> Callable[[str], SimulatedMachine]:
    return lambda name: SimulatedMachine.open(load_node(name), tmp_path)


def first(machine: SimulatedMachine) -> GpuUuid:
    return machine.node.cards[0].uuid


def create(machine: SimulatedMachine, gpus: Nvml, name: str) -> None:
    (profile,) = (profile for profile in gpus.profiles(first(machine)) if profile.name == name)
    gpus.set_mig_mode(first(machine), True)
    gi_id = gpus.create_gpu_instance(MigSpec(first(machine), profile.profile_id, profile.placements[0]))
    gpus.create_compute_instance(first(machine), gi_id)


def test_it_sees_the_gpus_that_the_machine_has(start, nvml_over) -> None:
    for_all = start("dgx-a100").gpus

    gpus = nvml_over(for_all)

    assert gpus.gpus() == for_all.gpus()
    assert gpus.versions() == for_all.versions()


def test_a_model_without_mig_has_neither_mode_nor_profiles(start, nvml_over) -> None:
    machine = start("l40s")
    gpus = nvml_over(machine.gpus)

    assert gpus.gpus() == machine.gpus.gpus()
    assert gpus.mig_mode(first(machine)) is None
    assert gpus.profiles(first(machine)) == ()
    assert gpus.gpu_instances(first(machine)) == ()
    with pytest.raises(NotSupported):
        gpus.set_mig_mode(first(machine), True)


def test_a_gpu_in_a_virtual_machine_says_so_and_keeps_its_mode_pending(start, nvml_over) -> None:
    machine = start("a100x2-passthrough")
    gpus = nvml_over(machine.gpus)

    change = gpus.set_mig_mode(first(machine), True)

    assert all(isinstance(gpu, Gpu) and gpu.is_passthrough for gpu in gpus.gpus())
    assert change is ModeChange.PENDING_RESET


def test_a_gpu_in_use_keeps_its_mode_pending(start, nvml_over) -> None:
    machine = start("a100x2")
    machine.inject(Held(0))

    assert nvml_over(machine.gpus).set_mig_mode(first(machine), True) is ModeChange.PENDING_IN_USE


def test_an_activation_status_of_another_kind_is_a_refusal(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)

    def odd(device, mode, status) -> int:
        status._obj.value = pynvml.NVML_ERROR_UNKNOWN
        return pynvml.NVML_SUCCESS

    pynvml.nvmlLib.nvmlDeviceSetMigMode = odd

    with pytest.raises(HardwareFault, match=r"turn MIG on .* UNKNOWN \(999\)"):
        gpus.set_mig_mode(first(machine), True)


def test_a_lost_gpu_leaves_its_neighbours_readable(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    machine.inject(Lost(1))

    healthy, lost = gpus.gpus()

    assert healthy == machine.gpus.gpus()[0]
    assert isinstance(lost, Unreadable)
    assert "GPU_IS_LOST" in lost.reason
    with pytest.raises(GpuLost):
        gpus.gpu_instances(machine.node.cards[1].uuid)


def test_mig_is_not_even_asked_off_while_instances_exist(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    create(machine, gpus, "1g.5gb")
    pynvml.nvmlLib.nvmlDeviceSetMigMode = lambda *arguments: pytest.fail("the driver was asked")

    with pytest.raises(InUse, match=r"1 GPU instance\(s\)"):
        gpus.set_mig_mode(first(machine), False)


def test_an_old_driver_that_tells_no_names_gives_the_same_profiles(start, nvml_over) -> None:
    machine = start("hgx-h100")
    gpus = nvml_over(machine.gpus)
    pynvml.nvmlLib.tells_names = False

    assert gpus.profiles(first(machine)) == machine.gpus.profiles(first(machine))


def test_a_driver_that_knows_fewer_profiles_offers_those(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    pynvml.nvmlLib.known_constants = pynvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2

    names = [profile.name for profile in gpus.profiles(first(machine))]

    assert names == ["1g.5gb", "1g.5gb+me", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]


def gpu_instance(machine, gpus, name: str) -> int:
    (profile,) = (found for found in gpus.profiles(first(machine)) if found.name == name)
    gpus.set_mig_mode(first(machine), True)
    return gpus.create_gpu_instance(MigSpec(first(machine), profile.profile_id, profile.placements[0]))


def test_a_double_memory_1g_gets_all_its_multiprocessors(start, nvml_over) -> None:
    machine = start("hgx-h100")
    gpus = nvml_over(machine.gpus)

    create(machine, gpus, "1g.20gb")

    assert pynvml.nvmlLib.created_compute_profiles == [pynvml.NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1]


@pytest.mark.parametrize("reported", [98, 108])
def test_a_7g_survives_a_second_profile_that_creation_refuses(start, nvml_over, reported: int) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    library = pynvml.nvmlLib
    nvl = pynvml.NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE_NVL
    rows = library.models["NVIDIA A100-SXM4-40GB"]["gpu_instance_profiles"]
    (row,) = (row for row in rows if row["name"] == "7g.40gb")
    whole = [ci for ci in row["compute_instance_profiles"] if ci["default"]]
    row["compute_instance_profiles"] = whole
    whole.append(whole[0] | {"nvml_profile_id": nvl, "multiprocessors": reported, "default": False})
    library.refused_compute_profiles = {nvl}

    create(machine, gpus, "7g.40gb")

    assert library.created_compute_profiles == [pynvml.NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE]
    assert len(gpus.gpu_instances(first(machine))[0].compute_instances) == 1


def test_a_driver_that_cannot_place_compute_instances_is_told_to_the_operator(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    gi_id = gpu_instance(machine, gpus, "3g.20gb")
    pynvml.nvmlLib.places_cis = False

    with pytest.raises(NotSupported, match="install a newer driver"):
        gpus.create_compute_instance(first(machine), gi_id, Placement(0, 1))

    assert gpus.gpu_instances(first(machine))[0].compute_instances == ()


def test_a_narrow_compute_instance_is_of_the_profile_of_its_width(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    gi_id = gpu_instance(machine, gpus, "4g.20gb")

    gpus.create_compute_instance(first(machine), gi_id, Placement(2, 2))

    assert pynvml.nvmlLib.created_compute_profiles == [pynvml.NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE]
    (found,) = gpus.gpu_instances(first(machine))[0].compute_instances
    assert found.place == Placement(2, 2)


def test_a_gi_that_offers_no_compute_profile_cannot_be_filled(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    library = pynvml.nvmlLib
    for row in library.models["NVIDIA A100-SXM4-40GB"]["gpu_instance_profiles"]:
        row["compute_instance_profiles"].clear()

    with pytest.raises(NotSupported, match="no compute instance profile"):
        create(machine, gpus, "1g.5gb")


def test_a_gi_that_vanishes_while_listed_is_left_out(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    library = pynvml.nvmlLib
    create(machine, gpus, "3g.20gb")
    (smallest,) = (p for p in gpus.profiles(first(machine)) if p.name == "1g.5gb")
    gi_id = gpus.create_gpu_instance(MigSpec(first(machine), smallest.profile_id, Placement(6, 1)))
    listing = library.nvmlDeviceGetGpuInstances

    def list_then_destroy(*arguments) -> int:
        code = listing(*arguments)
        if any(instance.gi_id == gi_id for instance in machine.gpus.gpu_instances(first(machine))):
            machine.gpus.destroy_gpu_instance(first(machine), gi_id)
        return code

    library.nvmlDeviceGetGpuInstances = list_then_destroy

    assert [instance.placement.size for instance in gpus.gpu_instances(first(machine))] == [4]


def test_an_address_that_is_none_makes_one_gpu_unreadable(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    library = pynvml.nvmlLib
    spelt = library.nvmlDeviceGetPciInfo_v3

    def odd(device, info) -> int:
        code = spelt(device, info)
        if info._obj.busId.startswith("00000000:07"):
            info._obj.busId = b"somewhere"
        return code

    library.nvmlDeviceGetPciInfo_v3 = odd

    odd_one, healthy = gpus.gpus()

    assert isinstance(odd_one, Unreadable)
    assert "'somewhere' is not a PCI address" in odd_one.reason
    assert isinstance(healthy, Gpu)


def test_a_closed_session_is_closed_once(start, library_over) -> None:
    library = library_over(start("a100x2").gpus)

    with Nvml.open() as gpus:
        during = library.sessions
        assert len(gpus.gpus()) == 2

    assert (during, library.sessions) == (1, 0)


def test_a_slow_gpu_delays_its_own_callers_and_nobody_else(start, nvml_over) -> None:
    machine = start("a100x2")
    gpus = nvml_over(machine.gpus)
    slow, quick = (card.uuid for card in machine.node.cards)
    asked, answer = Event(), Event()
    set_mode = pynvml.nvmlLib.nvmlDeviceSetMigMode

    def wait_on_the_first(device, mode, status) -> int:
        if not asked.is_set():
            asked.set()
            answer.wait()
        return set_mode(device, mode, status)

    pynvml.nvmlLib.nvmlDeviceSetMigMode = wait_on_the_first

    with ThreadPoolExecutor() as pool:
        first_call = pool.submit(gpus.set_mig_mode, slow, True)
        asked.wait()
        second_call = pool.submit(gpus.set_mig_mode, slow, False)
        change = gpus.set_mig_mode(quick, True)
        waited = (first_call.done(), second_call.done())
        answer.set()

    assert change is ModeChange.ACTIVE
    assert waited == (False, False)
    assert gpus.mig_mode(slow) == MigMode(False, False)


@pytest.mark.parametrize("question", ["nvmlDeviceGetBrand", "nvmlDeviceGetMemoryInfo"])
def test_what_a_gpu_does_not_tell_is_unknown_and_takes_no_gpu_away(
    start, nvml_over, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = nvml_over(start("l40s").gpus)
    (before, *_) = gpus.gpus()

    def refuse(*_: object) -> object:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    monkeypatch.setattr(pynvml, question, refuse)
    (gpu, *_) = gpus.gpus()

    field = {"nvmlDeviceGetBrand": "brand", "nvmlDeviceGetMemoryInfo": "memory_bytes"}[question]
    assert gpu == replace(before, **{field: None})
