"""Policies are simulated side by side, in processes: the same answers, one message, and nothing goes on."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from functools import partial
from multiprocessing import active_children
from pathlib import Path

import pytest
from needs import open_terminal

from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.planning.kinds import EVERY_DEVICE, kinds_of
from tangram.errors import BadInput
from tangram.hardware import AllMachines
from tangram.planning import side_by_side
from tangram.planning.nodes import Added, added_pools
from tangram.planning.side_by_side import run_all
from tangram.planning.simulated import Scenario, simulate
from tangram.planning.traces.trace import TraceBuilder
from tangram.policies import POLICIES
from tangram.program.progress import simulating

MIX = ("simulate", "--add", "2=a100x2", "--mix", "mid", "--arrivals", "200", "--load", "1.1", "--json")


def nobody(_name: str, _count: int) -> None:
    """Follow nothing."""


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    pools = tuple(added_pools([Added(2, "a100x2")], AllMachines(), "tangram.dev"))
    builder = TraceBuilder("the test")
    for number, kind in enumerate(kinds_of(pools, ("type", "profile"))):
        ask = builder.ask(kind, [kind.claim(ClaimRef("n", kind.name))])
        for turn in range(12):
            builder.arrive(at=13.0 * turn + number, stays=97.0 + 11 * number, ask=ask)
    cluster = Cluster(pools=pools, classes={EVERY_DEVICE.name: EVERY_DEVICE})
    nodes = [Node(pool.id.name) for pool in pools]
    return Scenario(cluster=cluster, nodes=nodes, trace=builder.trace(), patience_s=300.0)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_answers_are_equal_side_by_side_and_one_after_the_other(scenario, monkeypatch, method):
    monkeypatch.setattr(side_by_side, "start_method", lambda: method)
    jobs = {name: partial(simulate, scenario, policy) for name, policy in POLICIES.items()}

    together = run_all(jobs, nobody, processors=2)

    assert together == run_all(jobs, nobody, processors=1)
    assert list(together) == list(POLICIES)
    assert together["best-fit"] != together["first-fit"]


def test_the_command_says_the_same_with_one_processor_and_with_two(tangram, monkeypatch):
    answers = []
    for processors in (1, 2):
        monkeypatch.setattr(side_by_side, "usable_processors", lambda count=processors: count)
        answers.append(tangram(*MIX))

    assert answers[0] == answers[1]
    assert answers[0].status == 0


def here(tell, started_by):
    assert os.getpid() == started_by
    return "an answer"


def test_one_simulation_or_one_processor_starts_no_process():
    job = partial(here, started_by=os.getpid())

    assert run_all({"a": job}, nobody, processors=8) == {"a": "an answer"}
    assert run_all({"a": job, "b": job}, nobody, processors=1) == {"a": "an answer", "b": "an answer"}


def goes_on(tell):
    while True:
        tell(1)


def is_refused(tell):
    raise BadInput("claim team-a/train: the selector fails")


def is_wrong(tell):
    raise LookupError("a mistake of ours")


def is_killed(tell):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("job", "error", "told"),
    [
        (is_refused, BadInput, "^claim team-a/train: the selector fails$"),
        (is_wrong, RuntimeError, r"the simulation of second failed:\n[^$]*LookupError: a mistake of ours"),
        (is_killed, BadInput, "the process for second was ended from outside before it had an answer"),
    ],
)
def test_what_goes_wrong_in_one_is_one_error_and_the_others_are_ended(job, error, told):
    with pytest.raises(error, match=told):
        run_all({"first": goes_on, "second": job}, nobody, processors=2)

    assert active_children() == []


def test_an_interruption_ends_all():
    def interrupted(_name: str, _count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all({"first": goes_on, "second": goes_on}, interrupted, processors=2)

    assert active_children() == []


def test_each_policy_tells_how_far_it_is_and_the_line_is_removed(scenario, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    jobs = {name: partial(simulate, scenario, policy) for name, policy in POLICIES.items()}

    with simulating(tuple(jobs), len(scenario.trace.arrivals)) as follow:
        run_all(jobs, follow, processors=2)

    lines = terminal.getvalue().split("\r")
    assert "tangram: simulating: best-fit 100 %, first-fit 100 %" in lines
    assert lines[-2].strip() == ""
    assert lines[-1] == ""


def test_ctrl_c_ends_the_command_and_its_processes_without_a_traceback():
    """The terminal ends once nobody has it open any more, so once the last process has ended."""
    ours, theirs = open_terminal()
    asked = ("simulate", "--add", "2=a100x2", "--mix", "mid", "--arrivals", "200000")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    command = subprocess.Popen(
        [str(Path(sys.executable).with_name("tangram")), *asked],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, before)
    os.close(theirs)
    said = b""
    while b"simulating: best-fit 1 %" not in said and b"first-fit 1 %" not in said:
        said += os.read(ours, 4096)

    os.killpg(command.pid, signal.SIGINT)

    said += rest_of(ours)
    assert command.wait() == 130
    assert b"Traceback" not in said


def rest_of(terminal: int) -> bytes:
    said = b""
    try:
        while more := os.read(terminal, 4096):
            said += more
    except OSError:  # how a terminal ends that nobody has open
        pass
    os.close(terminal)
    return said
