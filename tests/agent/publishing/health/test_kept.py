"""What the agent knows of health outlives a restart, and a storm of events is few writes."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from told_health import FACTS, LOST, RULES, A, causes, well, xid

from agent.health.causes import Cause
from agent.health.state import Told
from agent.health.state_file import StateFile
from agent.publishing.health.kept import SETTLING_S, HealthClocks, KeptHealth


class Site:
    """A state file, a clock, and agents that start one after the other."""

    def __init__(self, folder):
        self.file = StateFile(folder / "health", "node-1")
        self.now, self.tick_s = 1_000_000.0, 0.0
        self.told = []
        self.news = 0

    def agent(self, boot="boot-1"):
        clocks = HealthClocks(self._monotonic, lambda: self.now)
        kept = KeptHealth(self.file, RULES, clocks, lambda reason, text: self.told.append((reason, text)))
        kept.changed = self._changed
        kept.load(boot)
        kept.look(FACTS)
        return kept

    def _changed(self):
        self.news += 1

    def later(self, kept, seconds):
        self.now += seconds
        return kept.write_due()

    def _monotonic(self):
        self.now += self.tick_s
        return self.now

    def writes(self, kept, seconds, step=0.01):
        """Return how often the file changes."""
        seen = {self.file.stamp()}
        for _ in range(int(seconds / step)):
            self.later(kept, step)
            seen.add(self.file.stamp())
        return len(seen) - 1


class Turns(threading.Event):
    """Ends a thread after so many turns."""

    def __init__(self, turns):
        super().__init__()
        self._left = turns

    def is_set(self):
        self._left -= 1
        return self._left < 0


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def test_a_restart_forgets_nothing_that_only_a_reset_heals(site):
    first = site.agent()
    first.hear(Told((xid(48),)))
    site.later(first, SETTLING_S)
    began_s = site.now - SETTLING_S

    site.now += 5000.0
    second = site.agent()

    assert causes(second.state) == {Cause.XID_RESET}
    assert {one.since_s for one in second.state.troubles.values()} == {began_s}


def test_the_thread_that_writes_rests_until_something_is_due_while_time_goes_on(site):
    """Once it compared two times of a clock that had gone on in between, and never rested."""
    kept, waits = site.agent(), []
    site.later(kept, SETTLING_S)
    kept.hear(Told((xid(48),)))
    site.later(kept, 1.0)
    kept.hear(Told((xid(48),)))  # the count alone: due in a minute
    site.tick_s = 0.001

    kept.keep_writing(Turns(3), lambda _, longest_s: waits.append(longest_s))

    assert [round(each) for each in waits] == [60, 60, 60]


def test_an_event_that_comes_before_the_first_look_counts_once_its_gpu_is_known(site):
    kept = KeptHealth(site.file, RULES, HealthClocks(lambda: site.now, lambda: site.now))
    kept.load("boot-1")
    kept.hear(Told((xid(119),)))
    assert causes(kept.state) == set()

    kept.look(FACTS)
    assert causes(kept.state) == {Cause.XID_RESET}


def test_an_event_of_a_gpu_that_the_next_look_does_not_find_is_dropped(site):
    kept = KeptHealth(site.file, RULES, HealthClocks(lambda: site.now, lambda: site.now))
    kept.hear(Told((xid(119),)))
    kept.look(replace(FACTS, gpus={}))
    kept.look(FACTS)
    assert causes(kept.state) == set()


def test_a_gpu_that_was_reset_while_the_agent_was_away_is_healed(site):
    first = site.agent()
    first.hear(Told((xid(79),), gpus={A: LOST}))
    first.close()
    second = site.agent()
    second.hear(Told(gpus={A: well()}))
    assert causes(second.state) == set()


def test_a_reboot_heals(site):
    first = site.agent()
    first.hear(Told((xid(79),)))
    first.close()
    assert causes(site.agent("boot-2").state) == set()


def test_a_storm_of_one_event_is_one_write_and_one_piece_of_news(site):
    kept = site.agent()
    site.later(kept, 10.0)
    site.news = 0
    seen = {site.file.stamp()}
    for _ in range(1000):
        kept.hear(Told((xid(48, times=10), xid(31, times=90))))
        site.later(kept, 0.01)
        seen.add(site.file.stamp())
    assert len(seen) - 1 == 1
    assert site.news == 1
    assert {key.xid: one.times for key, one in kept.state.troubles.items()} == {48: 10_000, 31: 90_000}


def test_eight_gpus_that_fail_within_a_moment_are_one_write(site):
    kept = site.agent()
    gpus = {f"GPU-{number}": f"0000:0{number}:00.0" for number in range(8)}
    kept.look(replace(FACTS, gpus=gpus))
    site.later(kept, 10.0)
    before = site.file.stamp()
    for gpu in gpus:
        kept.hear(Told((xid(79, gpu),)))
        site.later(kept, 0.005)
    assert site.file.stamp() == before
    assert site.writes(kept, 2.0) == 1
    assert {key.target for key in site.file.read().troubles if key.xid == 79} == set(gpus)


def test_what_is_new_is_in_the_file_within_a_second_also_in_a_storm(site):
    kept = site.agent()
    for number in range(40):
        kept.hear(Told((xid(1000 + number),)))
        site.later(kept, 0.05)
    kept.hear(Told((xid(79),)))
    site.writes(kept, 0.7)
    assert site.file.read().troubles == kept.state.troubles


def test_nothing_new_is_not_written(site):
    kept = site.agent()
    site.later(kept, 10.0)
    kept.hear(Told(gpus={A: well()}))
    site.later(kept, 100.0)
    before = site.file.stamp()
    kept.hear(Told(gpus={A: well()}))
    assert site.writes(kept, 1.0) == 0
    assert site.file.stamp() == before


def test_a_damaged_file_is_told_and_set_aside(site):
    site.agent().close()
    site.file.path.write_bytes(b"{}")
    kept = site.agent()
    kept.close()
    assert site.file.read() is not None
    assert (site.file.folder / "node-1.json.damaged").read_bytes() == b"{}"
    assert [reason for reason, _ in site.told] == ["HealthFileDamaged"]


def test_a_file_that_cannot_be_written_is_told_once_and_the_state_counts(site):
    site.file.folder.write_text("in the way")
    kept = site.agent()
    kept.hear(Told((xid(79),)))
    for _ in range(5):
        site.later(kept, 61.0)
        kept.hear(Told((xid(79),)))
    assert [reason for reason, _ in site.told] == ["HealthNotKept"]
    assert causes(kept.state) == {Cause.GPU_LOST}
