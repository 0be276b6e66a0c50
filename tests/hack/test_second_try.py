"""Tests that failed in a cluster are tried once more, and told by name whatever comes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from launcher import tests as launcher_tests
from launcher.second_try import MOST_TESTS, Outcome, empty, failed_tests, is_tried_again, summary
from launcher.tests import Part, parts, run_in_clusters


def note(cache: Path, *ids: str) -> None:
    folder = cache / "v" / "cache"
    folder.mkdir(parents=True)
    (folder / "lastfailed").write_text(json.dumps(dict.fromkeys(ids, True)))


def test_the_failed_tests_are_those_that_pytest_noted_in_this_run(tmp_path: Path) -> None:
    note(tmp_path, "tests/cluster/test_b.py::test_two", "tests/cluster/test_a.py::test_one[x]")
    assert failed_tests(tmp_path) == (
        "tests/cluster/test_a.py::test_one[x]",
        "tests/cluster/test_b.py::test_two",
    )
    assert failed_tests(empty(tmp_path)) == ()


@pytest.mark.parametrize(
    ("status", "failed", "is_tried"),
    [(0, 0, False), (1, 1, True), (1, MOST_TESTS, True), (1, MOST_TESTS + 1, False), (1, 0, True)],
)
def test_a_part_is_tried_again_where_few_tests_failed(status: int, failed: int, is_tried: bool) -> None:
    assert is_tried_again(Outcome("1.37, agent", status, ("a",) * failed)) is is_tried


def test_the_last_lines_name_what_failed_twice() -> None:
    outcomes = (Outcome("bad", 1, ("a",), 1), Outcome("good", 0, ()), Outcome("unsteady", 1, ("b",), 0))
    assert list(summary(outcomes)) == [
        "good: passed",
        "unsteady: 1 failed and PASSED WHEN TRIED AGAIN, with no other cluster beside it:",
        "    b",
        "bad: 1 failed, and again when tried with no other cluster beside it (exit status 1):",
        "    a",
    ]


class Clusters:
    """In the place of clusters. Shape: ``endings`` are exit status and failed tests, by part, in turn."""

    def __init__(self, endings: dict[str, list[tuple[int, tuple[str, ...]]]]) -> None:
        self._endings = endings
        self.tried: list[Part] = []

    def run(self, part: Part, cache: Path, tell: object) -> int:
        status, failed = (
            self._endings.get(part.name, [(0, ())]).pop(0) if part.name in self._endings else (0, ())
        )
        self.tried.append(part)
        if failed:
            note(cache, *failed)
        return status


def tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clusters: Clusters) -> tuple[int, list[str]]:
    monkeypatch.setattr(launcher_tests, "_run", clusters.run)
    monkeypatch.setattr(launcher_tests, "_CACHES", tmp_path)
    said: list[str] = []
    return run_in_clusters(("1.37",), (), said.append, lambda: 0.0), said


def test_a_test_that_passes_when_tried_again_is_told_and_does_not_fail_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clusters = Clusters({"1.37, chaos": [(1, ("t::one",))]})
    status, said = tried(monkeypatch, tmp_path, clusters)
    again = clusters.tried[-1]
    chaos = next(part for part in parts("1.37", ()) if part.name == "1.37, chaos")
    assert (again.arguments, again.options) == (("t::one", "-m", "cluster"), chaos.options)
    assert status == 0
    assert said[-2:] == [
        "1.37, chaos: 1 failed and PASSED WHEN TRIED AGAIN, with no other cluster beside it:",
        "    t::one",
    ]


def test_a_test_that_fails_twice_fails_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clusters = Clusters({"1.37, chaos": [(1, ("t::one",))], "1.37, chaos, again": [(1, ("t::one",))]})
    status, said = tried(monkeypatch, tmp_path, clusters)
    assert status == 1
    assert said[-2].startswith("1.37, chaos: 1 failed, and again")


def test_a_cluster_that_did_not_start_is_tried_again_with_all_its_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clusters = Clusters({"1.37, plugin": [(1, ())]})
    status, _ = tried(monkeypatch, tmp_path, clusters)
    plugin = next(part for part in parts("1.37", ()) if part.name == "1.37, plugin")
    assert (status, clusters.tried[-1].arguments) == (0, plugin.arguments)


def test_many_failures_are_not_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    many = tuple(f"t::{number}" for number in range(MOST_TESTS + 1))
    clusters = Clusters({"1.37, agent": [(1, many)]})
    status, said = tried(monkeypatch, tmp_path, clusters)
    assert status == 1
    assert len(clusters.tried) == len(parts("1.37", ()))
    assert (
        said[-len(many) - 1]
        == f"1.37, agent: {len(many)} failed; not tried again: more than {MOST_TESTS} tests"
    )
