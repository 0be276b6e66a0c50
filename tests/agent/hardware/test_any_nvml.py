"""Whatever the driver answers about one GPU, others and the NICs are read as ever, and nothing is endless."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pynvml
import pytest
from campaign import ROUND, in_rounds
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_nvml import OF_A_GPU, OF_THE_NODE, Odd, OddLibrary

from agent.hardware.errors import HardwareError
from agent.hardware.nvml import Nvml
from agent.hardware.open import simulated_hardware
from agent.hardware.ports import Readers
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import MigSpec
from agent.inventory import describe, discover, offered
from agent.inventory.model import NodeDevices


@dataclass(repr=False)
class Driven:
    """A node and the library of its driver. Every GPU has a MIG partition; the odd one is the first."""

    library: OddLibrary
    readers: Readers
    whole: NodeDevices = field(init=False)

    def __post_init__(self) -> None:
        self.whole = self.described()

    def described(self) -> NodeDevices:
        return describe(offered(discover(self.readers, "node-1")))


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    machine = SimulatedMachine.open(load_node("a30x4"), tmp_path_factory.mktemp("machine"))
    for card in machine.node.cards:
        machine.gpus.set_mig_mode(card.uuid, enabled=True)
        profile = machine.gpus.profiles(card.uuid)[-1]
        spec = MigSpec(card.uuid, profile.profile_id, profile.placements[0])
        machine.gpus.create_compute_instance(card.uuid, machine.gpus.create_gpu_instance(spec))
    library = OddLibrary(machine.gpus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pynvml, "nvmlLib", library)
        pynvml._nvmlGetFunctionPointer_cache.clear()
        with Nvml.open() as gpus:
            yield Driven(library, replace(simulated_hardware(machine).readers, gpus=gpus))
    pynvml._nvmlGetFunctionPointer_cache.clear()


# An example of several long texts is printed at length, if at all: that is no failure of what is tried.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

TEXTS = st.one_of(st.binary(max_size=40), st.sampled_from([b"", b"\xff\xfe", b"x" * 4096, b"MIG ", b"\n"]))
NUMBERS = st.one_of(st.integers(-3, 9), st.sampled_from([-(2**63), 2**31, 2**32 - 1, 2**64 - 1, 10**23]))
CODES = st.one_of(st.integers(1, 30), st.sampled_from([999, -1, 10**6]))
ANSWERS: st.SearchStrategy[Odd] = st.one_of(TEXTS, NUMBERS, CODES.map(lambda code: (code,)))


@in_rounds
@given(odd=st.dictionaries(st.sampled_from(OF_A_GPU), ANSWERS, max_size=4))
@settings(max_examples=ROUND)
def test_whatever_is_answered_about_one_gpu_the_other_one_and_the_nics_stay_as_they_are(
    driven: Driven, before: int, odd: dict[str, Odd]
) -> None:
    driven.library.odd = odd

    found = {device.name: device for device in driven.described().pool.devices}

    others = [device for device in driven.whole.pool.devices if not device.name.startswith("gpu-0")]
    assert [device.name for device in others if found.get(device.name) != device] == []


@in_rounds
@given(odd=st.dictionaries(st.sampled_from((*OF_THE_NODE, *OF_A_GPU)), ANSWERS, max_size=4))
@settings(max_examples=ROUND)
def test_whatever_is_answered_about_the_node_the_nics_stay_as_they_are(
    driven: Driven, before: int, odd: dict[str, Odd]
) -> None:
    whole = {device.name for device in driven.whole.pool.devices if "nic" in device.name}
    driven.library.odd = odd

    assert whole
    assert whole <= {device.name for device in driven.described().pool.devices}


@pytest.mark.parametrize("name", ["nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlSystemGetDriverVersion"])
def test_a_text_that_is_no_text_is_a_fault_of_its_call(driven: Driven, name: str) -> None:
    driven.library.odd = {name: b"560\xff"}

    if name in OF_THE_NODE:
        with pytest.raises(HardwareError, match=r"read driver version.*text that is not UTF-8: byte 3"):
            driven.readers.gpus.versions()
        return
    odd, *well = driven.readers.gpus.gpus()
    assert "text that is not UTF-8: byte 3" in str(odd)
    assert "UTF-8" not in str(well)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("nvmlDeviceGetPciInfo_v3", b"\xff"),
        ("nvmlDeviceGetGpuInstanceProfileInfoV", b"\xff"),
        ("nvmlDeviceGetGpuInstanceProfileInfoV", 0),
    ],
)
def test_a_text_or_a_number_in_a_record_that_says_nothing_is_a_fault_of_one_gpu(
    driven: Driven, name: str, answer: Odd
) -> None:
    driven.library.odd = {name: answer}

    names = {device.name for device in driven.described().pool.devices}

    assert {"gpu-1", "gpu-2", "gpu-3"} <= names


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nvmlDeviceGetCount_v2", "there are 4294967295"),
        ("nvmlDeviceGetGpuInstancePossiblePlacements_v2", "there are 4294967295"),
    ],
)
def test_a_count_without_end_is_not_believed(driven: Driven, name: str, told: str) -> None:
    driven.library.odd = {name: -1}
    gpus = driven.readers.gpus

    with pytest.raises(HardwareError, match=told):
        gpus.gpus() if name in OF_THE_NODE else gpus.profiles(driven.library.uuid)
