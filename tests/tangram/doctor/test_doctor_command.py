"""The command ``tangram doctor``: what people and scripts see, exit statuses, and ``--fix``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from damaged_files import flip, places

import tangram.api
from tangram.doctor import looking
from tangram.doctor.finding import ObjectRef
from tangram.errors import BadInput

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look a second time at once."""
    monkeypatch.setattr(looking, "PAUSE_S", 0.0)


@pytest.fixture
def run(site: Any, tangram: Run) -> Run:
    """Run the command on the node of the site."""
    return lambda *arguments: tangram("doctor", *site.arguments, *arguments)


def spoil(site: Any) -> None:
    data = site.record("u1").read_bytes()
    site.record("u1").write_bytes(flip(data, places(data)[-2]))


def test_a_healthy_node_is_one_line_and_status_0(run: Run) -> None:
    answer = run()

    assert (answer.status, answer.out) == (0, "driver tangram.dev on node a100x2: nothing is stuck\n")
    assert run("--json").json == {
        "schema": "tangram.dev/doctor/v1",
        "scope": "node",
        "node": "a100x2",
        "driver": "tangram.dev",
        "healthy": True,
        "findings": [],
    }


def test_a_finding_is_a_block_with_commands_to_paste_and_status_1(site: Any, run: Run) -> None:
    spoil(site)

    answer = run()

    assert answer.status == 1
    assert answer.out.splitlines()[0] == "driver tangram.dev on node a100x2: 1 finding"
    assert "  record-quarantined/u1" in answer.out
    assert "    $ tangram plugin release u1" in answer.out
    assert "--fix 'record-quarantined/u1'" in answer.out


def test_scripts_get_every_field_of_a_finding(site: Any, run: Run) -> None:
    site.document("u1").unlink()

    (found,) = run("--json").json["findings"]

    assert set(found) == {
        *("id", "kind", "object", "title", "problem", "since", "why", "todo", "commands", "fix"),
    }
    assert (found["id"], found["kind"], found["object"]) == ("document-missing/u1", "document-missing", "u1")
    assert (found["since"], found["fix"]) == (None, None)


def test_looking_changes_nothing(site: Any, run: Run) -> None:
    spoil(site)
    before = {path: path.read_bytes() for path in site.folder.rglob("*.json")}

    run()

    assert {path: path.read_bytes() for path in site.folder.rglob("*.json")} == before


def test_a_dry_run_says_what_the_fix_would_do_and_changes_nothing(site: Any, run: Run) -> None:
    spoil(site)

    answer = run("--fix", "record-quarantined/u1", "--dry-run")

    assert (answer.status, answer.out) == (0, "record-quarantined/u1: would release claim u1\n")
    assert run().status == 1


def test_scripts_learn_what_a_fix_would_do(site: Any, run: Run) -> None:
    spoil(site)

    found = run("--fix", "record-quarantined/u1", "--dry-run", "--json").json

    assert (found["schema"], found["scope"]) == ("tangram.dev/doctor/v1", "node")
    assert (found["fixed"]["id"], found["dryRun"]) == ("record-quarantined/u1", True)
    assert found["done"] == "would release claim u1"


def test_the_fix_releases_the_one_claim_that_it_names(site: Any, run: Run) -> None:
    spoil(site)

    answer = run("--fix", "record-quarantined/u1")

    assert answer.status == 0
    assert answer.out.startswith("record-quarantined/u1: released claim default/claim-u1 (u1): ")
    assert run().status == 0


@pytest.mark.parametrize("wanted", ["record-quarantined/u9", "nonsense", ""])
def test_an_id_that_no_finding_has_is_refused(site: Any, run: Run, wanted: str) -> None:
    spoil(site)

    answer = run("--fix", wanted)

    assert answer.status == 2
    assert "no finding has this id now" in answer.err
    assert answer.err.count("\n") == 1


def test_a_finding_without_a_fix_says_what_a_person_does(site: Any, run: Run) -> None:
    site.document("u1").unlink()

    answer = run("--fix", "document-missing/u1")

    assert answer.status == 2
    assert "is not fixed by a command: the plugin writes it again within a minute" in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--older-than", "1h"), "--older-than: is for --cluster"),
        (("--dry-run",), "--dry-run: is for --fix"),
        (("--cluster",), "has no effect with --cluster"),
        (("--node-name", "No/Name"), "--node-name"),
        (("--driver-name", "NO NAME"), "--driver-name"),
        (("--vfs", "x"), "--vfs"),
        (("--gpu-modes", "x"), "--gpu-modes"),
        (("--kubeconfig", "/nowhere/at/all"), "no such file"),
    ],
)
def test_wrong_options_are_one_line_and_status_2(run: Run, arguments: tuple[str, ...], said: str) -> None:
    answer = run(*arguments)

    assert answer.status == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_a_machine_that_is_not_there_is_refused_and_not_made(tangram: Run, tmp_path: Path) -> None:
    folder = tmp_path / "machine"

    answer = tangram("doctor", "--simulated", "a100x2", "--machine", folder)

    assert answer.status == 2
    assert not folder.exists()


@dataclass
class Cluster:
    """An API server with one slice of a node that is gone; ``broken`` is why it answers nothing."""

    broken: str = ""
    forbidden: tuple[str, ...] = ()
    metrics: str = ""
    version: str = '{"major": "1", "minor": "37+"}'
    deleted: list[ObjectRef] = field(default_factory=list)
    pool: Mapping[str, Any] = field(
        default_factory=lambda: {"name": "node-7", "generation": 1, "resourceSliceCount": 1}
    )

    def text(self, path: str) -> str:
        if self.broken:
            raise BadInput(self.broken)
        return self.version if path == "/version" else self.metrics

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        if kind in self.forbidden:
            raise BadInput(f"list {kind}: forbidden")
        if kind != "ResourceSlice" or self.deleted:
            return ()
        assert fields == "spec.driver=example.com"
        metadata = {"name": "s", "uid": "u", "resourceVersion": "3", "creationTimestamp": ""}
        spec = {"driver": "example.com", "nodeName": "node-7", "pool": self.pool}
        return ({"metadata": metadata, "spec": spec},)

    def get(self, kind: str, name: str, namespace: str) -> Mapping[str, Any]:
        raise AssertionError("nobody asks for one object")

    def delete_unchanged(self, found: ObjectRef) -> None:
        self.deleted.append(found)

    def set_finalizers(self, found: ObjectRef, finalizers: tuple[str, ...]) -> None:
        raise AssertionError("no finalizer is planted")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """What the kubeconfig names; policies may not be read, so that none is missing."""
    made = Cluster(forbidden=("ValidatingAdmissionPolicy",))
    monkeypatch.setattr(tangram.api, "open_mendable", lambda file, context: made)
    return made


@pytest.fixture
def ask(tangram: Run, cluster: Cluster) -> Run:
    """Run the command on the cluster."""
    return lambda *arguments: tangram("doctor", "--cluster", "--driver-name", "example.com", *arguments)


GONE = "slices-of-gone-node/node-7"


def test_a_cluster_is_looked_at_and_what_may_not_be_read_is_told_once(ask: Run) -> None:
    answer = ask("--json")

    assert answer.status == 1
    assert [one["id"] for one in answer.json["findings"]] == [GONE]
    assert answer.json["scope"] == "cluster"
    assert answer.err == '{"warning": "not looked at: list ValidatingAdmissionPolicy: forbidden"}\n'


def test_the_fix_deletes_the_slices_as_they_were_seen(ask: Run, cluster: Cluster) -> None:
    assert ask("--fix", GONE, "--dry-run").out == f"{GONE}: would delete ResourceSlice s\n"
    assert cluster.deleted == []

    assert ask("--fix", GONE).status == 0
    assert cluster.deleted == [ObjectRef("ResourceSlice", "", "s", "u", "3")]
    assert ask().status == 0


def test_a_refused_fix_is_status_3(ask: Run, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_found: ObjectRef) -> None:
        raise BadInput("the object was changed")

    monkeypatch.setattr(cluster, "delete_unchanged", refuse)

    answer = ask("--fix", GONE)

    assert (answer.status, answer.out) == (3, "")
    assert answer.err.endswith(f"cannot fix {GONE}: the object was changed\n")


@pytest.mark.parametrize("arguments", [(), ("--fix", GONE)])
def test_a_cluster_that_cannot_be_reached_is_status_3(
    ask: Run, cluster: Cluster, arguments: tuple[str, ...]
) -> None:
    cluster.broken = "no route to host"

    answer = ask(*arguments)

    assert (answer.status, answer.out) == (3, "")
    assert answer.err == "tangram: driver example.com in the cluster cannot be read: no route to host\n"


@pytest.mark.parametrize("kind", ["Node", "Pod", "ResourceClaim", "ResourceSlice"])
def test_without_the_right_to_read_what_is_needed_the_status_is_3(
    ask: Run, cluster: Cluster, kind: str
) -> None:
    cluster.forbidden = (kind,)

    assert ask().status == 3


@pytest.mark.parametrize("version", ["no JSON", "{}", '{"major": "x", "minor": "1"}', "[]"])
def test_an_answer_that_is_no_version_is_status_3(ask: Run, cluster: Cluster, version: str) -> None:
    cluster.version = version

    answer = ask()

    assert answer.status == 3
    assert "/version cannot be read" in answer.err


def test_gates_are_read_from_the_servers_metrics(ask: Run, cluster: Cluster) -> None:
    cluster.metrics = (
        "# HELP kubernetes_feature_enabled x\n"
        'kubernetes_feature_enabled{name="DRADeviceTaints",stage="BETA"} 0\n'
        'kubernetes_feature_enabled{name="DRAPartitionableDevices",stage=""} 1\n'
    )

    assert [one["id"] for one in ask("--json").json["findings"]] == ["feature-gate-off/DRADeviceTaints", GONE]


def test_an_old_server_is_not_asked_for_what_it_does_not_know(ask: Run, cluster: Cluster) -> None:
    cluster.version, cluster.forbidden = '{"major": "1", "minor": "33"}', ("Node", "ResourceSlice")

    answer = ask("--json")

    assert [one["id"] for one in answer.json["findings"]] == ["server-too-old/1.33"]


@pytest.mark.parametrize("age", ["", "1", "h", "-1h", "1.5h", "1 h", "1w", "9999999h", "1h\n"])
def test_an_age_that_is_none_is_refused(ask: Run, age: str) -> None:
    answer = ask("--older-than", age)

    assert answer.status == 2
    assert "--older-than" in answer.err
    assert answer.err.count("\n") == 1


def test_help_has_examples_and_exit_statuses(tangram: Run) -> None:
    answer = tangram("doctor", "--help")

    assert answer.status == 0
    assert "exit status:" in answer.out
    assert "tangram doctor --cluster --fix slices-of-gone-node/node-7" in answer.out


def test_json_is_one_value(ask: Run) -> None:
    assert json.loads(ask("--json").out)["healthy"] is False
