"""What the campaign of chaos tells apart from problems: what containers do that others should have ended."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from chaos.documents import FOLDER, MACHINE
from chaos.forgotten import Container, forgotten
from chaos.holder import EVENTS, Holder
from chaos.node_side import NodeSide
from chaos.observer import Observer
from chaos.report import Report

NOW_S = 1_800_000_000.0


def process(proc: Path, pid: int, pod: str, started_s: int) -> None:
    """Write what /proc says of a container's program."""
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    words = ("python3", "-I", "-S", f"{FOLDER}/holder.py", FOLDER, MACHINE, pod, pod, "60", "")
    (folder / "cmdline").write_text("\0".join(words))
    ticks = started_s * os.sysconf("SC_CLK_TCK")
    (folder / "stat").write_text(f"{pid} (python3) S {' 0' * 18} {ticks} 0")
    (folder / "exe").symlink_to("/usr/bin/python3")


def test_a_container_that_runs_while_the_runtime_calls_it_created_is_forgotten(tmp_path: Path) -> None:
    proc, runtime = tmp_path / "proc", tmp_path / "containerd"
    for pid, pod, started_s in ((1, "known", 10), (2, "lost", 10), (3, "new", 98), (4, "ended", 10)):
        process(proc, pid, pod, started_s)
    (proc / "4/exe").unlink()
    (proc / "uptime").write_text("100.00 1.00")
    for name, pid in (("one", 1), ("two", 0)):
        known(runtime, name, pid)

    (found,) = forgotten(proc, runtime)

    assert (found.pid, found.pod, found.age_s) == (2, "lost", 90.0)


def test_a_container_is_forgotten_as_soon_as_another_one_of_its_pod_runs(tmp_path: Path) -> None:
    """The sandbox may go within seconds: the first one told then that its hardware was gone."""
    proc, runtime = tmp_path / "proc", tmp_path / "containerd"
    for pid, pod, started_s in ((1, "p", 97), (2, "p", 99), (3, "next", 99), (4, "q", 98), (5, "q", 99)):
        process(proc, pid, pod, started_s)
    (proc / "uptime").write_text("100.00 1.00")
    for pid in (2, 4):  # 5 is younger than the one that is known: it begins just now
        known(runtime, str(pid), pid)

    assert [one.pid for one in forgotten(proc, runtime)] == [1]


def known(runtime: Path, name: str, pid: int) -> None:
    """Write what containerd keeps of a container."""
    file = runtime / "io.containerd.grpc.v1.cri/containers" / name / "status"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"Pid": pid, "StartedAt": pid, "FinishedAt": 0}))


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_what_a_forgotten_container_does_is_no_problem_of_the_driver_and_is_told(
    side: NodeSide, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_forgotten: bool
) -> None:
    found = [Container(7, "p", "p", 9.0)] if is_forgotten else []
    monkeypatch.setattr(side, "forgotten", lambda: found)
    report, said = Report(1), list[str]()
    observer = Observer(NoObjects(), side, report, said.append)  # type: ignore[arg-type]
    observer.look()
    holder_of_p = Holder(*(tmp_path / one.lstrip("/") for one in (FOLDER, MACHINE)), "p", "p")

    holder_of_p.tell("lost", why="gone")
    observer.look()

    assert [len(report.forgotten), len(report.problems)] == ([1, 0] if is_forgotten else [0, 1])
    assert any("pod p: gone" in one for one in said)


def line(ago_s: float, text: str) -> str:
    """Return a line of the plugin's log as the kubelet keeps it."""
    at = datetime.fromtimestamp(NOW_S - ago_s, UTC)
    own = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}"
    return f"{at:%Y-%m-%dT%H:%M:%S}.000000001Z stderr F {own} INFO plugin.claim.steps: claim chaos-1/{text}"


P_GIVEN, P_OVER = line(9, "p (uid-p): prepared, with vf"), line(5, "p (uid-p): unprepared")
Q_GIVEN = line(3, "q (uid-q): prepared, with vf")
BY_ITSELF = line(6, "p (uid-p): no pod has it; what it has here is undone")


@pytest.mark.parametrize(
    ("said", "double", "lost"),
    [
        ((P_GIVEN, P_OVER, Q_GIVEN), "early", "early"),
        ((P_GIVEN, line(5, "p-c-x7k2q (uid-p): unprepared"), Q_GIVEN), "early", "early"),
        ((P_GIVEN, Q_GIVEN, line(2, "p (uid-p): unprepared")), "problem", "early"),
        ((P_GIVEN, Q_GIVEN, line(-1, "p (uid-p): unprepared")), "problem", "problem"),
        ((P_GIVEN, P_OVER, line(4, "p (uid-p): prepared, with vf"), Q_GIVEN), "problem", "problem"),
        ((P_GIVEN, line(5, "p-2 (uid-r): unprepared"), Q_GIVEN), "problem", "problem"),
        ((P_GIVEN, BY_ITSELF, P_OVER, Q_GIVEN), "problem", "problem"),
        ((P_GIVEN, P_OVER), "problem", "early"),
        ((), "problem", "problem"),
    ],
)
def test_only_what_the_kubelet_had_unprepared_before_counts_as_ended_early(
    side: NodeSide, tmp_path: Path, said: tuple[str, ...], double: str, lost: str
) -> None:
    """A device given to a second claim while the first one had it is a problem, whatever came later."""
    log = tmp_path / "var/log/pods/tangram-system_tangram-x_uid/plugin/0.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"{one}\n" for one in said))
    report = Report(1)
    observer = Observer(NoObjects(), side, report, lambda _: None)  # type: ignore[arg-type]
    events = (
        {"at": NOW_S, "kind": "double", "pod": "q", "owner": "q", "unit": "vf", "with_": "p"},
        {"at": NOW_S, "kind": "lost", "pod": "p", "owner": "p", "why": "gone"},
    )
    file = tmp_path / FOLDER.lstrip("/") / EVENTS
    file.write_text("".join(f"{json.dumps(one)}\n" for one in events))

    observer.look()

    is_double_early = any("seen by q" in text for text in report.early)
    is_lost_early = any("pod p: gone" in text for text in report.early)
    assert (is_double_early, is_lost_early) == (double == "early", lost == "early")
    assert len(report.early) + len(report.problems) == 2


class NoObjects:
    """An API server without slices, claims and pods."""

    def slices(self) -> list[Any]:
        return []

    def claims(self) -> list[Any]:
        return []

    def documents(self, _: object) -> list[Any]:
        return []
