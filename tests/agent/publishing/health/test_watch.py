"""The agent hears events of GPUs and reads how devices are; nothing ends that."""

from __future__ import annotations

import threading

import pytest
from told_health import FACTS, NIC, RULES, VF, A, causes, well, xid

from agent.hardware.errors import DriverMissing, GivenUp, GpuLost, NotFound, TimedOut
from agent.hardware.health.types import GpuEvents, NicVitals, Unwatched
from agent.health.causes import Cause
from agent.health.state_file import StateFile
from agent.publishing.health.kept import HealthClocks, KeptHealth
from agent.publishing.health.watch import HealthSources, HealthWatch


class Events:
    """Says one thing after the other, then that the end has come."""

    def __init__(self, ended, *script):
        self._ended, self._script = ended, list(script)

    def wait(self, longest_s):
        said = self._script.pop(0)
        if not self._script:
            self._ended.set()
        if isinstance(said, Exception):
            raise said
        return said


class Devices:
    """Answers for each device what stands in ``answers``, and notes who was asked."""

    def __init__(self, **answers):
        self.answers, self.asked = dict(answers), []

    def vitals(self, gpu):
        self.asked.append(gpu)
        answer = self.answers.get(gpu, well(gpu).vitals)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def mig_mode(self, gpu):
        return None

    def nic_vitals(self, bdf):
        self.asked.append(bdf)
        answer = self.answers.get(bdf, NicVitals(bdf=bdf, has_link=True))
        if isinstance(answer, Exception):
            raise answer
        return answer


class Site:
    def __init__(self, folder, *script, **answers):
        self.ended = NeverWaits()
        self.kept = KeptHealth(StateFile(folder, "node-1"), RULES, HealthClocks(lambda: 0.0, lambda: 5.0))
        self.kept.load("boot-1")
        self.kept.look(FACTS)
        self.devices = Devices()
        self.turns = 1
        sources = HealthSources(Events(self.ended, *script), self.devices, self.devices)
        self.now = 0.0
        self.watch = HealthWatch(sources, self.kept, self._wait, lambda: self.now)
        self.read()
        self.first, self.devices.asked, self.devices.answers = self.devices.asked, [], answers

    def _wait(self, _wake, longest_s):
        self.turns -= 1
        if self.turns:
            self.now += longest_s
        else:
            self.ended.set()

    def read(self):
        self.turns = 1
        self.watch.read(self.ended)
        self.ended.clear()

    def hear(self):
        self.watch.hear_events(self.ended)
        self.ended.clear()


class NeverWaits(threading.Event):
    def wait(self, timeout=None):
        return self.is_set()


def test_an_event_is_heard_and_its_gpu_is_read_at_once(tmp_path):
    site = Site(tmp_path, GpuEvents((xid(79),)), **{A: GpuLost("read", "GPU-a", "lost")})
    site.hear()
    assert causes(site.kept.state) == {Cause.GPU_LOST}
    site.read()
    assert site.devices.asked == [A]


def test_an_agent_that_ends_while_it_reads_blames_no_gpu(tmp_path):
    """What it writes is read by the plugin, and by the next agent, which would taint the GPU."""
    site = Site(tmp_path, **{A: GivenUp("read", "GPU-a", "the program ends")})
    site.watch.hasten()
    site.read()
    assert A in site.devices.asked
    assert causes(site.kept.state) == set()


def test_an_agent_that_ends_while_it_waits_for_events_reports_no_failure(tmp_path, caplog):
    site = Site(tmp_path, GivenUp("wait for events", "this node", "the program ends"), GpuEvents())
    site.hear()
    assert caplog.text == ""


class Storm(threading.Event):
    """Has something urgent during so many gaps between readings, and notes how long these are."""

    def __init__(self, watch, gaps):
        super().__init__()
        self._watch, self._left, self.gaps = watch, gaps, []

    def wait(self, timeout=None):
        self.gaps.append(timeout)
        self._left -= 1
        if self._left >= 0:
            self._watch.hasten([A])
        return self.is_set()


def test_in_a_storm_readings_come_further_apart_and_afterwards_as_before(tmp_path):
    site = Site(tmp_path)
    site.watch.hasten()
    storm, site.turns = Storm(site.watch, 5), 3
    site.ended = storm

    site.watch.read(storm)

    assert storm.gaps == [0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 0.2, 0.2]


def test_at_first_everything_is_read(tmp_path):
    assert set(Site(tmp_path).first) == {*FACTS.gpus, NIC, VF}


def test_after_a_new_session_everything_but_vfs_is_read_since_events_were_missed(tmp_path):
    site = Site(tmp_path, GpuEvents(is_new_session=True))
    site.hear()
    site.read()
    assert set(site.devices.asked) == {*FACTS.gpus, NIC}


def test_the_kernels_news_of_networks_reads_the_nics_alone(tmp_path):
    site = Site(tmp_path)
    site.watch.hasten_nics()
    site.read()
    assert site.devices.asked == [NIC]


class BusyNode(threading.Event):
    """Says something of networks after each reading, so many seconds apart."""

    def __init__(self, site, readings, apart_s):
        super().__init__()
        self._site, self._left, self._apart_s = site, readings, apart_s

    def wait(self, timeout=None):
        self._left -= 1
        if not self._left:
            self.set()
        self._site.now += self._apart_s
        self._site.watch.hasten_nics()
        return self.is_set()


def test_gpus_are_read_every_ten_seconds_also_where_networks_change_all_the_time(tmp_path):
    """Each reading of NICs used to restart the ten seconds, so a GPU kept its taint after a reset."""
    site = Site(tmp_path)
    site.watch.hasten_nics()
    site.watch.read(BusyNode(site, readings=25, apart_s=2.0))
    assert site.devices.asked.count(A) == 4
    assert site.devices.asked.count(NIC) == 25


def test_gpus_whose_events_do_not_come_are_noted(tmp_path):
    site = Site(tmp_path, GpuEvents(unwatched=(Unwatched(A, "not supported"),)))
    site.hear()
    assert causes(site.kept.state) == {Cause.UNWATCHED}


@pytest.mark.parametrize(
    "error", [DriverMissing("wait", "NVML", "no library"), RuntimeError("a fault of ours")]
)
def test_a_failure_ends_no_waiting(tmp_path, error):
    site = Site(tmp_path, error, GpuEvents((xid(79),)))
    site.hear()
    assert causes(site.kept.state) == {Cause.GPU_LOST}


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (GpuLost("read", "GPU-a", "lost"), Cause.GPU_LOST),
        (NotFound("read", "GPU-a", "no such GPU"), Cause.NOT_IN_DRIVER),
        (TimedOut("read", "GPU-a", "no answer"), Cause.DRIVER_SILENT),
    ],
)
def test_a_gpu_that_cannot_be_read_concerns_no_other(tmp_path, error, cause):
    site = Site(tmp_path, **{A: error})
    site.watch.hasten()
    site.read()
    assert {key.target: key.cause for key in site.kept.state.troubles} == {A: cause}


def test_events_of_unknown_gpus_are_logged_once_with_the_number(tmp_path, caplog):
    strange = GpuEvents((xid(4711, None),))
    site = Site(tmp_path, strange, strange, strange)
    site.hear()
    assert [record.getMessage() for record in caplog.records if "4711" in record.getMessage()] == [
        "the driver reported XID 4711 of a GPU that it does not list (no UUID)"
    ]
    assert not site.kept.state.troubles
