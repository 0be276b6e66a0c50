"""Numbers that outlive a reboot, a dead GPU, a lost file and a full disk."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from dead_gpus import rebooted

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.numbers.kept import KeptNumbers, NumbersUnknown, ReadNumbers
from agent.inventory.numbers.number_file import NumberFile
from agent.inventory.numbers.numbering import LAST_NUMBER, GpusSeen, Witness

NODE = "node-1"
A, B, C = "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"


class Board:
    """Keeps what people who look at the Node are told."""

    def __init__(self):
        self.told = []

    def __call__(self, reason, text):
        self.told.append((reason, text))


@pytest.fixture(scope="module")
def dgx(tmp_path_factory):
    return simulated_hardware(SimulatedMachine.open(load_node("dgx-a100"), tmp_path_factory.mktemp("dgx")))


@pytest.fixture
def board():
    return Board()


@pytest.fixture
def file(tmp_path):
    return NumberFile(tmp_path / "gpu-numbers", NODE)


def kept(file, board=lambda *_: None, witnesses=()):
    """Return what a program that was just started has."""
    return KeptNumbers(file, lambda: witnesses, board)


def seen(*addresses):
    return GpusSeen(frozenset(addresses))


def described(machine, numbering):
    return describe(discover(machine.readers, NODE, numbering)).by_name


def hardware(device):
    gpus = getattr(device, "gpus", None) or (getattr(device, "gpu", None) or device.pf.function,)
    return [getattr(one, "uuid", None) or one.bdf for one in gpus]


def test_130_names_meant_other_hardware_after_a_reboot_with_a_dead_gpu(dgx, file):
    before = described(dgx, kept(file))
    dead = sorted(dgx.gpus.gpus(), key=lambda gpu: gpu.bdf)[2]

    after = described(rebooted(dgx, dead=[dead.bdf]), kept(file))

    of_gpus = [name for name in after if name.startswith("gpu-")]
    assert len(of_gpus) == 7 * 26
    assert [name for name in of_gpus if hardware(after[name]) != hardware(before[name])] == []
    assert not any(name.startswith("gpu-2") for name in after)
    by_minor = {f"gpu-{device.gpu.minor}": device for device in after.values() if hasattr(device, "gpu")}
    wrong = [name for name in by_minor if hardware(by_minor[name]) != hardware(before[name])]
    assert len(wrong) * 26 == 130, "the fake counts minors anew, as drivers do"


def test_the_minor_of_a_gpu_is_what_the_driver_says_now(dgx, file):
    described(dgx, kept(file))
    first = min(gpu.bdf for gpu in dgx.gpus.gpus())

    inventory = discover(rebooted(dgx, dead=[first]).readers, NODE, kept(file))

    devices = {one.name: one for one in describe(inventory).pool.devices}
    assert devices["gpu-1"].attributes["tangram.dev/minor"] == 0
    assert devices["gpu-7-mig-1g-5gb-0"].attributes["tangram.dev/parentMinor"] == 6
    assert not any(
        key.endswith(("/index", "/parentIndex")) for one in devices.values() for key in one.attributes
    )


def test_a_gpu_that_fell_off_the_bus_keeps_its_number_until_it_is_back(dgx, file):
    before = described(dgx, kept(file))
    gone = sorted(gpu.bdf for gpu in dgx.gpus.gpus())[:2]

    without = described(rebooted(dgx, gone=gone), kept(file))
    again = described(dgx, kept(file))

    assert list(again) == list(before)
    assert set(without) < set(before)
    assert all(hardware(device) == hardware(before[name]) for name, device in without.items())


def test_a_new_gpu_gets_a_new_number_and_leaves_the_others_alone(file):
    kept(file)(seen(B, C))

    assert kept(file)(seen(A, B, C)) == {B: 0, C: 1, A: 2}
    assert kept(file)(seen(A)) == {B: 0, C: 1, A: 2}


def test_a_lost_file_is_made_anew_from_witnesses_before_the_pci_order(file):
    assert kept(file, witnesses=[Witness(0, C)])(seen(A, B, C)) == {C: 0, A: 1, B: 2}
    assert file.read() == {C: 0, A: 1, B: 2}


def test_a_program_that_runs_remembers_what_a_lost_file_said(file):
    numbering = kept(file)
    numbering(seen(B, C))
    file.path.unlink()

    assert numbering(seen(A, B, C)) == {B: 0, C: 1, A: 2}
    assert file.read() == {B: 0, C: 1, A: 2}


def test_a_damaged_file_is_made_anew_told_and_kept_beside_it(file, board, caplog):
    kept(file)(seen(A, B))
    file.path.write_bytes(damaged := file.path.read_bytes().replace(b"1,", b"7,"))

    with caplog.at_level(logging.ERROR):
        found = kept(file, board, [Witness(1, A), Witness(0, B)])(seen(A, B))

    assert found == file.read() == {A: 1, B: 0}
    aside = Path(f"{file.path}.damaged")
    assert aside.read_bytes() == damaged
    assert [reason for reason, _ in board.told] == ["GpuNumbersRebuilt"]
    assert str(aside) in board.told[0][1]
    assert str(aside) in caplog.text


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"{" * 70_000], ids=["empty", "zeros", "huge"])
def test_a_file_of_anything_is_damaged_and_no_traceback(content, file, board):
    file.folder.mkdir()
    file.path.write_bytes(content)

    assert kept(file, board)(seen(A)) == {A: 0}
    assert board.told[0][0] == "GpuNumbersRebuilt"


def test_a_fifo_in_the_place_of_the_file_hangs_nobody(file, board):
    file.folder.mkdir()
    os.mkfifo(file.path)

    assert kept(file, board)(seen(A)) == {A: 0}
    assert file.path.is_file()


def test_what_is_written_can_be_read_whatever_numbers_somebody_wrote_down(file):
    """With a slice of gpu-9999 the next GPU got 10000, and nobody could read the file."""
    numbering = kept(file, witnesses=[Witness(LAST_NUMBER, A), Witness(LAST_NUMBER + 1, B)])

    found = numbering(seen(A, B))

    assert found == {A: LAST_NUMBER, B: 0}
    assert numbering(seen(A, B, C)) == file.read() == {**found, C: 1}


def test_numbers_that_cannot_be_kept_are_used_and_told_once(file, board):
    file.folder.write_text("not a folder")
    numbering = kept(file, board, [Witness(3, A)])

    assert [numbering(seen(A)), numbering(seen(A, B))] == [{A: 3}, {A: 3, B: 4}]
    assert [reason for reason, _ in board.told] == ["GpuNumbersNotKept"]


def test_a_folder_in_the_place_of_the_file_is_set_aside(file, board):
    file.path.mkdir(parents=True)
    (file.path / "precious").write_text("kept")

    assert kept(file, board, [Witness(3, A)])(seen(A)) == {A: 3} == file.read()

    (aside,) = file.folder.glob("*.damaged")
    assert (aside / "precious").exists()


def test_a_writer_that_holds_the_lock_for_ever_stops_nobody(file, board):
    slept = []
    waiting = NumberFile(file.folder, NODE, slept.append)

    with file.locked():
        found = KeptNumbers(waiting, lambda: (), board)(seen(A))

    assert found == {A: 0}
    assert sum(slept) == pytest.approx(5)
    assert "locked" in board.told[0][1]


def test_while_nobody_knows_the_numbers_none_are_made_up(file):
    def unknown():
        raise NumbersUnknown("read", "slices of node node-1", "the server is away")

    numbering = KeptNumbers(file, unknown)

    with pytest.raises(NumbersUnknown):
        numbering(seen(A))
    assert not file.path.exists()
    assert numbering(seen()) == {}


def test_a_node_without_gpus_gets_no_file(file):
    assert kept(file)(seen()) == {}
    assert not file.folder.exists()


def numbered_by_a_process(folder, addresses):
    return dict(kept(NumberFile(Path(folder), NODE))(seen(*addresses)))


def test_programs_that_start_together_give_the_same_numbers(file):
    looks = [[A], [B], [C], [A, C], [B, C], [A, B, C]] * 3
    with ProcessPoolExecutor(4) as pool:
        found = list(pool.map(numbered_by_a_process, [str(file.folder)] * len(looks), looks))

    last = file.read()
    assert sorted(last.values()) == [0, 1, 2]
    assert all(one.items() <= last.items() for one in found)
    assert [path.name for path in file.folder.iterdir()] == [file.path.name]


def test_who_only_looks_writes_nothing(file):
    assert ReadNumbers(file)(seen(A, B)) == {A: 0, B: 1}
    assert not file.folder.exists()
    kept(file)(seen(B))

    assert ReadNumbers(file)(seen(A, B)) == {B: 0, A: 1}
    file.path.write_text("damaged")
    assert ReadNumbers(file)(seen(A, B)) == {A: 0, B: 1}
    assert file.path.read_text() == "damaged"
