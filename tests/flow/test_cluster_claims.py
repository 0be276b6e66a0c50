"""Claims from an API server: read by name, checked by UID, told of in their status; and how it fails."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Semaphore, Thread
from typing import Any

import pytest

from plugin.__main__ import ClusterClaims, main
from plugin._pb.dra_v1 import api_pb2 as v1
from plugin.checkpoint import RecordStore
from plugin.reports import Reports
from plugin.server import start
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"
CLAIM = v1.Claim(namespace="team", name="c", uid="u1")
PATH = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims/c"


@dataclass
class Server:
    """An API server that knows one claim and answers as it is told."""

    claim: dict[str, Any] | None = None
    fails: list[int] = field(default_factory=list)
    applied: list[tuple[str, Any]] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    connections: int = 0
    reads: int = 0
    thinks: Callable[[], None] = lambda: None

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.fails:
            return self.fails.pop(0), {"kind": "Status", "message": "the server says no", "reason": "Told"}
        if "/events" in path:
            self.events.append(body)
            return 201, {"metadata": {"name": "e"}, **body}
        if method == "PATCH":
            self.applied.append((path, body))
        else:
            self.reads += 1
            self.thinks()
        if self.claim is None:
            return 404, {"kind": "Status", "reason": "NotFound", "message": "not found"}
        return 200, self.claim

    @contextmanager
    def served(self) -> Iterator[str]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                server.connections += 1
                super().setup()

            def handle_one(self, method: str) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else None
                status, document = server.answer(method, self.path, body)
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                self.handle_one("GET")

            def do_PATCH(self) -> None:
                self.handle_one("PATCH")

            def do_POST(self) -> None:
                self.handle_one("POST")

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
            http.daemon_threads = True
            thread = Thread(target=http.serve_forever, daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{http.server_address[1]}"
            finally:
                http.shutdown()
                thread.join()


@dataclass
class Clock:
    """Time that passes when a test says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Hearing(Reports):
    """Reports that say when they were told of something: that comes after the kubelet has its answer."""

    def __init__(self, *ports: Any) -> None:
        super().__init__(*ports)
        self.heard = Semaphore(0)

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        super().changed(uid, ref)
        self.heard.release()

    def failed(self, *failure: Any) -> None:
        super().failed(*failure)
        self.heard.release()


@dataclass
class Cluster:
    """A kubelet, a plugin that reads claims from a server, and what that plugin has to tell."""

    server: Server
    kubelet: Any
    reports: Hearing
    claims: ClusterClaims
    clock: Clock

    def deliver(self, reports: Hearing | None = None) -> float | None:
        """Wait for a change, let the time pass that it waits, then write."""
        reports = reports or self.reports
        assert reports.heard.acquire(timeout=10.0)
        self.clock.now += 0.5
        return reports.deliver()


def kubeconfig(folder: Path, url: str) -> Path:
    path = folder / "kubeconfig"
    named = {"name": "c", "cluster": {"server": url}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {"token": "t"}}]
    document = {"clusters": [named], "contexts": [context], "users": users, "current-context": "c"}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **document}))
    return path


def allocated(*results: tuple[str, str], uid: str = "u1") -> dict[str, Any]:
    entries = [
        {"request": "r", "driver": driver, "pool": "a100x2", "device": device} for driver, device in results
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": "c", "uid": uid},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
        "status": {"allocation": {"devices": {"results": entries}}},
    }


def reports_of(site: Any, claims: ClusterClaims, clock: Clock) -> Hearing:
    return Hearing(RecordStore(site.options.claims_dir), claims, claims, clock, lambda: 1_800_000_000.0)


@pytest.fixture
def cluster(site: Any, kubelet_of: Callable[..., Any]) -> Iterator[Cluster]:
    server = Server(claim=allocated(("tangram.dev", HALF)))
    with server.served() as url:
        claims = ClusterClaims.connect(kubeconfig(site.folder, url), site.options)
        clock = Clock()
        reports = reports_of(site, claims, clock)
        with closing(claims.events), start(site.driver(), claims, site.options, reports):
            yield Cluster(server, kubelet_of(site), reports, claims, clock)


def test_a_claim_is_read_by_name_over_one_connection(cluster: Cluster) -> None:
    for _ in range(3):
        assert [device for device, _ in cluster.kubelet.devices(CLAIM)] == [HALF]

    assert cluster.server.reads == 3
    assert cluster.server.connections == 1


def test_that_a_claim_is_wanted_is_on_the_disk_before_the_api_server_has_answered(
    site: Any, cluster: Cluster
) -> None:
    seen: list[int] = []

    def until_written() -> None:
        store, give_up_at = RecordStore(site.options.claims_dir), time.monotonic() + 10.0
        while not store.census().records and time.monotonic() < give_up_at:
            time.sleep(0.001)
        seen.extend(len(record.devices) for record in store.census().records)

    cluster.server.thinks = until_written

    assert [device for device, _ in cluster.kubelet.devices(CLAIM)] == [HALF]
    assert seen == [0]


@pytest.mark.parametrize("status", [404, 403, 503])
def test_a_claim_that_cannot_be_read_leaves_nothing_on_the_disk(
    site: Any, cluster: Cluster, status: int
) -> None:
    cluster.server.fails = [status] * 4

    assert cluster.kubelet.prepare(CLAIM)["u1"].error

    assert site.leftovers() == []


def test_results_of_other_drivers_are_passed_over(cluster: Cluster) -> None:
    cluster.server.claim = allocated(("other.example.com", "gpu-0"), ("tangram.dev", HALF))
    mixed = cluster.kubelet.devices(CLAIM)
    cluster.kubelet.undone(CLAIM)
    cluster.server.claim = allocated(("other.example.com", "gpu-0"))

    assert [device for device, _ in mixed] == [HALF]
    assert cluster.kubelet.devices(CLAIM) == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_fails_for_now_is_told_as_something_that_is_retried(
    site: Any, cluster: Cluster, status: int
) -> None:
    cluster.server.fails = [status, status]

    error = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "claim team/c" in error
    assert f"{status}" in error
    assert "it is retried" in error
    assert site.leftovers() == []
    assert cluster.kubelet.devices(CLAIM), "the next call goes through"


def test_a_server_that_is_gone_is_told_as_something_that_is_retried(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    claims = ClusterClaims.connect(kubeconfig(site.folder, "http://127.0.0.1:9"), site.options)
    with start(site.driver(), claims, site.options):
        error = kubelet_of(site).prepare(CLAIM)["u1"].error

    assert "cannot read claim team/c" in error
    assert "it is retried; if it stays, look at the API server" in error
    assert site.leftovers() == []


def test_a_server_that_forbids_names_who_acts(cluster: Cluster) -> None:
    cluster.server.fails = [403]

    error = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "403" in error
    assert "an administrator of the cluster grants it" in error


def test_a_claim_of_another_uid_is_refused(site: Any, cluster: Cluster) -> None:
    cluster.server.claim = allocated(("tangram.dev", HALF), uid="newer")

    error = cluster.kubelet.prepare(CLAIM)["u1"].error

    assert "replaced" in error
    assert site.leftovers() == []


def test_a_claim_that_is_gone_is_refused_and_can_be_unprepared(site: Any, cluster: Cluster) -> None:
    cluster.kubelet.devices(CLAIM)
    cluster.server.claim = None

    error = cluster.kubelet.prepare(CLAIM)["u1"].error
    cluster.kubelet.undone(CLAIM)

    assert "the API server has no claim of that name" in error
    assert site.leftovers() == []


def test_a_prepared_claim_says_so_in_its_status_in_our_name_until_it_is_undone(cluster: Cluster) -> None:
    ((_, cdi_id),) = cluster.kubelet.devices(CLAIM)
    cluster.deliver()
    cluster.kubelet.undone(CLAIM)
    cluster.deliver()

    (path, said), (_, unsaid) = cluster.server.applied
    (device,) = said["status"]["devices"]
    assert path.startswith(f"{PATH}/status?")
    assert "fieldManager=tangram.dev%2Fplugin%2Fa100x2&" in f"{path}&"  # each node has its own
    assert said["metadata"]["uid"] == "u1"
    assert (device["driver"], device["pool"], device["device"]) == ("tangram.dev", "a100x2", HALF)
    assert device["data"]["cdiDeviceIDs"] == [cdi_id]
    assert device["data"]["uuid"].startswith("MIG-")
    assert unsaid["status"]["devices"] == []


def test_a_status_that_cannot_be_written_fails_no_claim_and_is_written_later(cluster: Cluster) -> None:
    assert cluster.kubelet.devices(CLAIM)
    cluster.server.fails = [500, 500]

    wait_s = cluster.deliver()

    assert cluster.server.applied == []
    assert wait_s == 1.0


def test_a_status_that_may_not_be_written_is_given_up_with_a_word_to_the_administrator(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert cluster.kubelet.devices(CLAIM)
    cluster.server.fails = [403]

    assert cluster.deliver() is None
    assert "cannot write the devices of claim team/c in its status" in caplog.text
    assert "an administrator" in caplog.text


def test_a_restarted_plugin_says_again_what_is_prepared(site: Any, cluster: Cluster) -> None:
    cluster.kubelet.devices(CLAIM)
    cluster.deliver()
    again = reports_of(site, cluster.claims, cluster.clock)

    again.all_again()
    cluster.deliver(again)

    first, second = cluster.server.applied
    assert first == second


def test_a_failure_becomes_an_event_on_the_claim(cluster: Cluster) -> None:
    cluster.server.claim = allocated(("tangram.dev", "gpu-9"))

    error = cluster.kubelet.prepare(CLAIM)["u1"].error
    cluster.claims.events.close()

    (event,) = cluster.server.events
    assert (event["type"], event["reason"]) == ("Warning", "PrepareFailed")
    assert event["regarding"]["uid"] == "u1"
    assert event["note"] in error


def conditions(body: Any) -> list[tuple[str, str, str]]:
    """Return which devices a status tells of, whether they are ready, and why."""
    return [
        (device["device"], condition["status"], condition["reason"])
        for device in body["status"]["devices"]
        for condition in device["conditions"]
    ]


def test_a_claim_that_cannot_be_prepared_says_why_in_its_status_until_it_can(cluster: Cluster) -> None:
    cluster.server.claim = allocated(("tangram.dev", "gpu-9"), ("other.example.com", "x"))
    error = cluster.kubelet.prepare(CLAIM)["u1"].error
    cluster.deliver()
    reads = cluster.server.reads
    cluster.server.claim = allocated(("tangram.dev", HALF))
    cluster.kubelet.devices(CLAIM)

    cluster.deliver()

    (_, said), (_, mended) = cluster.server.applied
    assert conditions(said) == [("gpu-9", "False", "PrepareFailed")]
    assert said["status"]["devices"][0]["conditions"][0]["message"] == error
    assert conditions(mended) == [(HALF, "True", "Prepared")]
    assert reads == 1


def test_a_claim_that_was_never_prepared_says_nothing_any_more_once_it_is_unprepared(
    site: Any, cluster: Cluster
) -> None:
    cluster.server.claim = allocated(("tangram.dev", "gpu-9"))
    cluster.kubelet.prepare(CLAIM)
    cluster.deliver()

    cluster.kubelet.undone(CLAIM)
    cluster.deliver()

    assert [conditions(body) for _, body in cluster.server.applied][1:] == [[]]
    assert site.leftovers() == []


def test_without_any_way_to_a_server_the_plugin_says_what_it_looked_for(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    status = main(["--simulated", "a100x2", "--machine", str(folder / "m"), "--kubelet-dir", str(folder)])

    said = capsys.readouterr().err
    assert status == 2
    assert "kubeconfig" in said
    assert not (folder / "m").exists()
