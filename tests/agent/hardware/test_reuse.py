"""What was read of links is reused only while their folders are as they were, and never for ever."""

from __future__ import annotations

import os

import pytest

from agent.hardware.reuse import MOST_S, READ_ANEW, SETTLED_S, ReuseUnchanged, evidence
from agent.hardware.reuse.listings import listing


class Reading:
    """A folder with a link, and a program that reads the link again and again on a clock of its own."""

    def __init__(self, folder):
        self.folder, self.link, self.now, self.reads = folder, folder / "driver", 1000.0, 0
        self.reuse = ReuseUnchanged(lambda: self.now)
        folder.mkdir(exist_ok=True)
        self.link.symlink_to("mlx5_core")

    def read(self):
        def read():
            self.reads += 1
            return os.readlink(self.link)

        return self.reuse.read("driver", self.reuse.evidence([self.folder]), read)

    def settle(self):
        self.read()
        self.now += SETTLED_S
        self.read()
        self.reads = 0


@pytest.fixture
def reading(tmp_path):
    return Reading(tmp_path / "folder")


def test_what_stands_in_an_unchanged_folder_is_not_read_again(reading):
    reading.settle()

    assert [reading.read(), reading.read()] == ["mlx5_core"] * 2
    assert reading.reads == 0


def test_before_a_listing_has_settled_everything_is_read_anew(reading):
    reading.read()
    reading.now += SETTLED_S / 2
    reading.read()
    reading.now += SETTLED_S / 4
    reading.read()

    assert reading.reads == 3


def test_a_link_that_comes_after_its_listing_is_found(tmp_path):
    """The kernel adds the driver's link to a function first, and the function's to the driver after it."""
    reading = Reading(tmp_path / "function")
    listed = tmp_path / "driver"
    listed.mkdir()
    reading.folder = listed
    reading.link.unlink()
    with pytest.raises(FileNotFoundError):
        reading.read()
    reading.link.symlink_to("vfio-pci")

    reading.now += SETTLED_S

    assert [reading.read(), reading.read()] == ["vfio-pci"] * 2


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_link_made_anew_is_read_though_its_inode_number_may_be_the_same(reading, times):
    reading.settle()
    for number in range(times):
        reading.link.unlink()
        reading.link.symlink_to(f"other-{number}")

    assert reading.read() == f"other-{times - 1}"


def test_another_link_in_the_folder_is_a_change(reading):
    reading.settle()
    (reading.folder / "more").symlink_to("anything")
    reading.read()

    assert reading.reads == 1


def test_nothing_is_reused_for_ever(reading):
    reading.settle()
    reading.now += MOST_S
    reading.read()
    reading.read()

    assert reading.reads == 1


def test_a_folder_that_comes_into_being_is_a_change(tmp_path):
    reading = Reading(tmp_path / "function")
    reading.folder = tmp_path / "driver"
    reading.settle()
    reading.read()
    assert reading.reads == 0

    reading.folder.mkdir()
    reading.read()

    assert reading.reads == 1


def test_a_folder_that_cannot_be_listed_tells_nothing(tmp_path):
    reading = Reading(tmp_path / "function")
    reading.folder = tmp_path / "loop"
    reading.folder.symlink_to("loop")
    reading.settle()
    reading.read()
    reading.read()

    assert reading.reads == 2


def test_an_error_is_not_kept(reading):
    reading.settle()
    (reading.folder / "more").touch()
    reading.link.unlink()
    with pytest.raises(FileNotFoundError):
        reading.read()
    reading.now += SETTLED_S
    with pytest.raises(FileNotFoundError):
        reading.read()
    reading.link.symlink_to("vfio-pci")

    assert reading.read() == "vfio-pci"


def test_in_one_look_a_folder_is_listed_once_and_a_later_change_is_in_the_next_look(reading, monkeypatch):
    reading.settle()
    listed = []
    monkeypatch.setattr(evidence, "listing", lambda folder: listed.append(folder) or listing(folder))
    with reading.reuse.one_look():
        first = reading.read()
        reading.link.unlink()
        reading.link.symlink_to("vfio-pci")
        second = reading.read()

    assert listed == [str(reading.folder)]
    assert [first, second] == ["mlx5_core"] * 2
    with reading.reuse.one_look():
        assert reading.read() == "vfio-pci"


def test_the_time_in_which_a_listing_settles_ends_where_it_was_taken(reading):
    reading.read()
    reading.now += SETTLED_S / 2
    with reading.reuse.one_look():
        reading.read()
        reading.now += SETTLED_S / 2  # a slow look
        reading.read()
    reading.read()

    assert reading.reads == 4


def test_what_follows_from_equal_values_is_made_once():
    reusing, made = ReuseUnchanged(lambda: 0.0), []

    def make():
        made.append(object())
        return made[-1]

    first = reusing.made("VFs", [1, 2], make)

    assert reusing.made("VFs", [1, 2], make) is first
    assert reusing.made("groups", [1, 2], make) is not first
    assert reusing.made("VFs", [1, 3], make) is not first
    assert reusing.made("VFs", [1, 2], make) is not first


def test_a_program_that_hands_nothing_in_reads_everything_anew(reading):
    for _ in range(3):
        evidence = READ_ANEW.evidence([reading.folder])
        READ_ANEW.read("driver", evidence, reading.read)
        reading.now += SETTLED_S
    reading.link.unlink()

    with pytest.raises(FileNotFoundError):
        READ_ANEW.read("driver", READ_ANEW.evidence([reading.folder]), lambda: os.readlink(reading.link))
