"""``tangram top``: who holds which devices, of files, machines and clusters; docs/top.md shows the same."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
import yaml
from listed_reader import ListedReader
from rich.console import Console

from scheduler_core.frontends.objects import pods_by_claim
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.state.cluster_state import ClusterState
from tangram import api
from tangram.documents import read_documents
from tangram.errors import BadInput, Unreachable
from tangram.live_cluster import Listed, Told, Unheard
from tangram.objects import read_objects
from tangram.pictures.occupancy.cluster import occupancy_picture

ROOT = Path(__file__).parents[2]
CLAIMS = "deploy/examples/top/claims.yaml"
GOLDEN = ROOT / "tests/data/top"
PAGE = (ROOT / "docs/top.md").read_text()
PRINTED = re.findall(r"```console\n\$ (tangram top .*)\n((?:.*\n)*?)```", PAGE)


_PUBLISHED = {}


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def slices(tangram, tmp_path):
    """Return a file with what a machine publishes, with options of ``tangram show``."""

    def published(node, *options, form="v1"):
        if (node, form, *options) not in _PUBLISHED:
            _PUBLISHED[node, form, *options] = tangram("show", "--node", node, "--as", form, *options).out
        file = tmp_path / f"{node}.yaml"
        file.write_text(_PUBLISHED[node, form, *options])
        return file

    return published


def claim(name, *results, namespace="team-a", pool="a100x2", uid=None, pods=()):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": uid or f"uid-{namespace}-{name}"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.tangram.dev"}}]}},
        "status": {
            "reservedFor": [{"resource": "pods", "name": one, "uid": one} for one in pods],
            "allocation": {
                "devices": {
                    "results": [
                        {"request": "r", "driver": "tangram.dev", "pool": pool, **one}
                        for one in ({"device": one} if isinstance(one, str) else one for one in results)
                    ]
                }
            },
        },
    }


@pytest.fixture
def held(tmp_path):
    """Return a file with allocated claims."""

    def written(*claims):
        file = tmp_path / "claims.yaml"
        file.write_text(yaml.safe_dump_all(claims))
        return file

    return written


@pytest.mark.parametrize(("command", "printed"), PRINTED, ids=[command for command, _ in PRINTED])
def test_the_page_shows_what_the_command_prints(tangram, command, printed):
    answer = tangram(*shlex.split(command)[1:])

    assert answer.status == 0
    assert answer.out == printed


def test_the_page_has_examples_and_every_key_of_the_json_form(tangram):
    assert len(PRINTED) == 2
    answer = tangram("top", "--node", "dgx-a100", "-f", CLAIMS, "--json")

    def keys(value):
        if isinstance(value, dict):
            yield from value
            yield from (key for one in value.values() for key in keys(one))
        elif isinstance(value, list):
            yield from (key for one in value for key in keys(one))

    told = set(re.findall(r"`(\w+)`", PAGE))
    assert set(keys(answer.json)) <= told | {"key", "value", "effect"}  # those of a taint are the API's


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_picture_fits_the_terminal_and_no_name_is_cut(slices, width):
    documents = (*read_documents(str(slices("dgx-a100"))), *read_documents(CLAIMS))
    view = OccupancyView(ClusterState.of(read_objects(documents).cluster()))
    console = Console(file=io.StringIO(), width=width, color_system=None)

    console.print(*occupancy_picture(view.cluster(pods_by_claim(documents))), sep="\n")

    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines == (GOLDEN / f"{width}.txt").read_text().splitlines()
    assert max(map(len, lines)) <= width
    for name in ("gpu-4-mig-3g-20gb-4-7", "nic-0000-0c-00-0-vf-3", "nic-0000-cc-00-0", "team-a/infer-2"):
        assert any(name in line for line in lines)


def bars(answer):
    return {name: bar for name, bar in re.findall(r"^(gpu-\d)\s+\S+\s+\[(.*?)\]", answer.out, re.MULTILINE)}


@pytest.mark.parametrize("form", ["v1", "composite"])
def test_each_memory_slice_has_the_sign_of_its_state(tangram, slices, held, form):
    claims = held(claim("a", "gpu-0-mig-2g-10gb-2-3"), claim("b", "gpu-1", namespace="team-b"))

    answer = tangram("top", "-f", slices("a100x2", form=form), "-f", claims)

    assert bars(answer) == {"gpu-0": "..AA....", "gpu-1": "BBBBBBBB"}


def test_claims_of_one_gpu_instance_share_a_sign_and_are_both_named(tangram, slices, held):
    parts = [f"gpu-0-mig-1c-2g-10gb-2-3-ci-{place}" for place in (0, 1)]
    claims = held(*(claim(name, one) for name, one in zip("ab", parts, strict=True)))

    answer = tangram("top", "-f", slices("a100x2", "--compute-instances", "0"), "-f", claims)

    assert bars(answer)["gpu-0"] == "..++...."
    assert all(f"team-a/{name}" in answer.out for name in "ab")


def test_a_shared_gpu_says_what_its_shares_have_left(tangram, slices, held):
    share = {
        "device": "gpu-0-shared",
        "shareID": "s1",
        "consumedCapacity": {"memory": "8Gi", "multiprocessors": "0"},
    }

    answer = tangram(
        "top", "-f", slices("a100x2", "--gpu-modes", "all=whole,shared"), "-f", held(claim("a", share))
    )

    assert bars(answer)["gpu-0"] == "========"
    assert "shares of gpu-0-shared: 32Gi of 40Gi left" in answer.out
    assert "gpu-0-shared (gpu-shared 8Gi)" in answer.out


def test_gpus_that_a_partition_joins_are_held_by_its_claim(tangram, slices, held):
    claims = held(claim("a", "gpus-0-1", pool="hgx-h100"))

    answer = tangram("top", "-f", slices("hgx-h100", "--partitions", "hgx-h100"), "-f", claims)

    assert bars(answer)["gpu-1"] == "AAAAAAAA"
    assert bars(answer)["gpu-2"] == "........"
    assert re.search(r"^gpu-partition +4 of 7 +A$", answer.out, re.MULTILINE)


def test_a_gpu_without_memory_slices_has_one_sign(tangram, slices, held):
    answer = tangram("top", "-f", slices("l40s"), "-f", held(claim("a", "gpu-0", pool="l40s")))

    assert bars(answer)["gpu-0"] == "A"
    assert bars(answer)["gpu-1"] == "."


def test_a_taint_is_the_health_of_its_gpu_and_what_it_keeps_away_is_not_free(tangram, slices):
    file = slices("a100x2")
    documents = list(yaml.safe_load_all(file.read_text()))
    for document in documents:
        for device in document["spec"].get("devices", ()):
            if device["name"] == "gpu-0" or device["name"].startswith("gpu-0-"):
                device["taints"] = [
                    {"key": "tangram.dev/unhealthy", "value": "xid-79", "effect": "NoExecute"}
                ]
    file.write_text(yaml.safe_dump_all(documents))

    answer = tangram("top", "-f", file)

    assert bars(answer) == {"gpu-0": "xxxxxxxx", "gpu-1": "........"}
    assert "unhealthy=xid-79" in answer.out


def test_the_mark_of_the_controller_keeps_nothing_from_being_free(tangram, slices):
    file = slices("a100x2")
    documents = list(yaml.safe_load_all(file.read_text()))
    for document in documents:
        for device in document["spec"].get("devices", ()):
            device["taints"] = [
                {"key": "tangram.dev/allocator", "value": "controller", "effect": "NoSchedule"}
            ]
    file.write_text(yaml.safe_dump_all(documents))

    assert bars(tangram("top", "-f", file)) == {"gpu-0": "........", "gpu-1": "........"}


def test_slices_that_are_missing_are_told_and_nothing_of_their_pool_is_free(tangram, slices):
    file = slices("a100x2")
    documents = list(yaml.safe_load_all(file.read_text()))
    for document in documents:
        document["spec"]["pool"]["resourceSliceCount"] += 1
    file.write_text(yaml.safe_dump_all(documents))

    answer = tangram("top", "-f", file)

    assert bars(answer) == {"gpu-0": "xxxxxxxx", "gpu-1": "xxxxxxxx"}
    assert "slices of its generation 1 are missing" in answer.out


def test_one_namespace_shows_its_devices_and_names_its_claims_alone(tangram, slices, held):
    claims = held(claim("a", "gpu-0-mig-2g-10gb-2-3"), claim("b", "gpu-0-mig-1g-5gb-0", namespace="team-b"))

    answer = tangram("top", "-f", slices("a100x2"), "-f", claims, "-n", "team-b")

    assert bars(answer) == {"gpu-0": "B.AA...."}
    assert "team-a/a" not in answer.out
    assert "other letters are claims of other namespaces" in answer.out


def test_a_cluster_of_many_nodes_is_one_line_for_each_and_nodes_that_are_named_are_drawn(
    tangram, slices, held, tmp_path
):
    text, many = slices("l40s").read_text(), tmp_path / "many.yaml"
    many.write_text("---\n".join(text.replace("l40s", f"node-{number:02}") for number in range(21)))
    claims = held(claim("a", "gpu-0", pool="node-07"))

    answer = tangram("top", "-f", many, "-f", claims)

    lines = [line for line in answer.out.splitlines() if line.startswith("node-")]
    assert len(lines) == 21
    assert re.match(r"node-07 +3 of 4 +0 of 0 +\d+ of \d+ +3×whole GPU", lines[7])
    named = tangram("top", "-f", many, "-f", claims, "node-07")
    assert bars(named) == {"gpu-0": "A", "gpu-1": ".", "gpu-2": ".", "gpu-3": "."}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("top",), "name --cluster, --file or --node"),
        (("top", "-f", CLAIMS), "no ResourceSlice: nothing to show"),
        (("top", "--node", "a100x2", "--watch"), "--watch: is for --cluster"),
        (("top", "--node", "a100x2", "other"), "NODE: 'other': no slice of a device names this node"),
        (("top", "--cluster", "--node", "a100x2"), "--node: 'a100x2': has no effect with --cluster"),
        (("top", "--node", "a100x2", "-n", "a", "-A"), "not allowed with"),
    ],
)
def test_a_wrong_use_is_one_message_and_status_2(tangram, arguments, told):
    answer = tangram(*arguments)

    assert answer.status == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1


class Cluster(ListedReader):
    """A made-up API server: what it lists, and events that come afterwards."""

    def __init__(self, documents, events=()):
        self.documents = documents
        self.events_of = events

    def list(self, kind, fields=""):
        return tuple(one for one in self.documents if one["kind"] == kind)

    def events(self, kind, reading, stop):
        yield Listed(self.read(kind, reading))
        if kind == "ResourceClaim":
            yield from (_read(one, reading) for one in self.events_of)


def _read(event, reading):
    match event:
        case Listed(documents):
            return Listed(tuple(map(reading.document, documents)))
        case Told(document, is_gone):
            return Told(reading.document(document), is_gone)
        case _:
            return event


@pytest.fixture
def cluster(monkeypatch, slices):
    def made(*claims, events=()):
        found = Cluster([*yaml.safe_load_all(slices("a100x2").read_text()), *claims], events)
        monkeypatch.setattr(api, "connect", lambda file, context: found)
        monkeypatch.setattr(api, "open_live", lambda file, context: found)

    return made


def test_a_cluster_is_shown_with_the_pods_of_its_claims(tangram, cluster):
    cluster(claim("a", "gpu-0", pods=("trainer-0",)))

    answer = tangram("top", "--cluster")

    assert bars(answer)["gpu-0"] == "AAAAAAAA"
    assert re.search(r"^A +team-a/a +trainer-0 +gpu-0 \(whole GPU\)$", answer.out, re.MULTILINE)


def test_a_claim_that_cannot_be_read_is_named_and_left_out(tangram, cluster):
    broken = claim("broken", {"device": 5})
    cluster(broken, claim("a", "gpu-0"))

    answer = tangram("top", "--cluster")

    assert re.search(r"left out, .*team-a/broken", answer.err)
    assert bars(answer)["gpu-0"] == "AAAAAAAA"


def test_a_cluster_without_slices_is_told(tangram, monkeypatch):
    monkeypatch.setattr(api, "connect", lambda file, context: Cluster([]))

    answer = tangram("top", "--cluster")

    assert (answer.status, answer.out) == (2, "")
    assert "the cluster holds no ResourceSlice" in answer.err


def test_a_watch_draws_the_cluster_after_each_change_until_it_ends(tangram, cluster):
    first, again = claim("a", "gpu-0"), claim("a", "gpu-1", uid="made again")
    events = [
        Told(first),
        Unheard("the watch has ended"),
        Told(first, is_gone=True),
        Listed((again,)),
        Listed(()),
        Told({**claim("b"), "status": {}}),
    ]
    cluster(events=events)

    answer = tangram("top", "--cluster", "--watch", "--json")

    assert answer.status == 0
    assert "the watch has ended" in answer.err
    last = answer.out.strip().splitlines()[-1]
    assert '"holders":[]' in last


def test_a_watch_that_is_refused_ends_with_the_reason(tangram, monkeypatch):
    class Refusing:
        def events(self, kind, reading, stop):
            raise Unreachable("cannot be reached: connection refused")

    monkeypatch.setattr(api, "open_live", lambda file, context: Refusing())

    answer = tangram("top", "--cluster", "--watch")

    assert answer.status == 3
    assert "connection refused" in answer.err
    assert issubclass(Unreachable, BadInput)
