"""PodGroups are watched, over real sockets, whether or not the server has them yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from scripted_api import Clock, Cut, Reply, Script, Stream, serving, status, write_kubeconfig

from controller.api import POD_GROUPS, Cluster, Followed
from controller.gangs.seen import PodGroupSeen
from controller.gangs.values import Gang, GroupKey, Source
from kube_api import KubeApi, Limits

LIMITS = Limits(first_delay_s=0.001, watch_longest_delay_s=0.002)
NOT_SERVED = Reply(status(404, "NotFound", "the server could not find the requested resource"), 404)
EXPIRED = Reply(status(410, "Expired", "too old resource version"), 410)
VERSIONS = [resource.api_version for resource in POD_GROUPS]


def pod_group(api_version: str, name: str, minimum: int, version: int) -> dict[str, Any]:
    metadata = {
        "namespace": "default",
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
    }
    is_plugins = api_version.startswith("scheduling.x-k8s.io/")
    policy = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    spec = {"minMember": minimum} if is_plugins else policy
    return {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec}


class Watched:
    """The watch of PodGroups of one version. Shape: ``heard`` has the minima by name as they changed."""

    def __init__(self, followed: Followed, server: Script, api_version: str, stop: Event) -> None:
        self.followed = followed
        self.server = server
        self.api_version = api_version
        self.heard: list[tuple[str, int | None]] = []
        self.source = Source.KUBERNETES
        if api_version.startswith("scheduling.x-k8s.io/"):
            self.source = Source.SCHEDULER_PLUGINS
        followed.subscribe(self._hear)
        self.events = followed.follow(stop)

    def _hear(self, namespace: str, name: str, old: Any, new: Any) -> None:
        for one in (old, new):
            if one is not None:
                assert isinstance(one, PodGroupSeen)
                assert one.key == GroupKey(self.source, namespace, name)
                assert isinstance(one.gang, Gang)
        self.heard.append((name, None if new is None else new.gang.minimum))

    def listing(self, version: int, **minima: int) -> Reply:
        items = [self.one(name, minimum, version) for name, minimum in minima.items()]
        return Reply({"metadata": {"resourceVersion": str(version)}, "items": items})

    def one(self, name: str, minimum: int, version: int) -> dict[str, Any]:
        return pod_group(self.api_version, name, minimum, version)

    def line(self, kind: str, name: str, minimum: int, version: int) -> dict[str, Any]:
        return {"type": kind, "object": self.one(name, minimum, version)}

    def follow(self, count: int) -> list[str]:
        """Follow for so many events; return what went wrong."""
        return [problem for problem in (next(self.events) for _ in range(count)) if problem]


@pytest.fixture(params=range(len(POD_GROUPS)), ids=VERSIONS)
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    """The watch of one version in front of a server that has a script."""
    clock, stop = Clock(), Event()
    for server in serving(Script()):
        file = write_kubeconfig(
            tmp_path / "kubeconfig", f"http://127.0.0.1:{server.server_port}", {}, {"token": "first"}
        )
        api = KubeApi.connect(
            file, user_agent="test", clock=clock, sleep=clock.sleep, random=lambda: 0.0, limits=LIMITS
        )
        followed = Cluster(api, "tangram.dev").pod_groups[request.param]
        yield Watched(followed, server, VERSIONS[request.param], stop)
        stop.set()
        api.close()


def test_every_version_is_watched_by_the_controller(watched: Watched) -> None:
    watched.server.answers(watched.listing(1), Stream((), then="hang"))
    watched.follow(1)
    (first,) = {request.path for request in watched.server.requests}
    assert first == f"/apis/{watched.api_version}/podgroups"


def test_pod_groups_that_exist_and_such_as_come_change_and_go_are_heard(watched: Watched) -> None:
    lines = (
        watched.line("ADDED", "b", 3, 11),
        watched.line("MODIFIED", "b", 2, 12),
        watched.line("DELETED", "a", 4, 13),
    )
    watched.server.answers(watched.listing(10, a=4), Stream(lines, then="hang"))
    assert not watched.followed.is_synced
    assert watched.follow(4) == []
    assert watched.heard == [("a", 4), ("b", 3), ("b", 2), ("a", None)]
    assert watched.followed.is_synced


def test_a_server_without_the_kind_keeps_nothing_waiting_and_is_asked_again_until_it_has_it(
    watched: Watched,
) -> None:
    watched.server.answers(NOT_SERVED, NOT_SERVED, watched.listing(10, a=4), Stream((), then="hang"))
    assert watched.follow(2) == []
    assert watched.followed.is_synced
    assert watched.heard == []
    assert watched.follow(1) == []
    assert watched.followed.is_synced
    assert watched.heard == [("a", 4)]


def test_a_server_that_had_the_kind_and_has_it_again_says_what_changed_meanwhile(watched: Watched) -> None:
    watched.server.answers(
        watched.listing(10, a=4, b=2),
        NOT_SERVED,
        EXPIRED,
        watched.listing(30, b=2, c=3),
        Stream((), then="hang"),
    )
    watched.follow(4)
    assert watched.heard[:2] == [("a", 4), ("b", 2)]
    assert ("a", None) in watched.heard
    assert ("c", 3) in watched.heard
    assert watched.followed.is_synced


def test_a_server_that_does_not_answer_is_no_server_without_the_kind(watched: Watched) -> None:
    watched.server.answers(Cut(), watched.listing(10, a=4), Stream((), then="hang"))
    (problem,) = watched.follow(1)
    assert "PodGroup" in problem or "podgroups" in problem
    assert not watched.followed.is_synced
    watched.follow(1)
    assert watched.followed.is_synced


def test_a_refusal_is_told_and_is_no_server_without_the_kind(watched: Watched) -> None:
    watched.server.answers(Reply(status(403, "Forbidden", "no right"), 403))
    (problem,) = watched.follow(1)
    assert "no right" in problem
    assert not watched.followed.is_synced
