"""What cannot be read, or is not what was asked for, spoils itself and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from threading import Event
from typing import Any

import pytest
from scripted_api import Reply, Script, Stream, document, status, stored
from scripted_api.watching import line, listing

from kube_api import (
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    ApiError,
    BadReply,
    Changed,
    Forbidden,
    Key,
    KubeApi,
    Object,
    Removed,
    Resource,
    Store,
    Synced,
    Unreadable,
    Upserted,
    WatchEvent,
)
from kube_api.objects import Metadata

Watching = Callable[..., Iterator[WatchEvent[Object]]]
DEEP = b"[" * 100_000 + b"]" * 100_000
LATIN = b'"\xe9"'  # no UTF-8


def spoilt(name: str, version: int = 1, value: bytes = DEEP) -> bytes:
    """Return a claim with opaque parameters that nobody can read."""
    return json.dumps(document(name, version, parameters=None)).encode().replace(b"null", value)


def spoilt_line(kind: str, name: str, version: int, value: bytes = DEEP) -> bytes:
    return b'{"type": "%s", "object": %s}\n' % (kind.encode(), spoilt(name, version, value))


def page(*items: bytes) -> Reply:
    return Reply(b'{"metadata": {"resourceVersion": "9"}, "items": [%s]}' % b", ".join(items))


def claim(name: str) -> bytes:
    return json.dumps(document(name)).encode()


def names(items: tuple[Object, ...]) -> list[str]:
    return [one.metadata.name for one in items]


@pytest.mark.parametrize(("value", "why"), [(DEEP, "nested too deeply"), (LATIN, "utf-8")])
def test_a_claim_that_cannot_be_read_spoils_no_other_of_its_page_and_is_told_with_its_name(
    api: KubeApi, server: Script, value: bytes, why: str
) -> None:
    server.answers(page(claim("a"), spoilt("bad", 7, value), claim("b")))

    found = api.list(RESOURCE_CLAIMS)

    assert names(found.items) == ["a", "b"]
    (bad,) = found.unreadable
    assert bad.metadata == Metadata(name="bad", namespace="default", uid="uid-bad", resource_version="7")
    assert why in str(bad)
    assert str(bad).startswith("default/bad cannot be read: ")


def test_fifteen_hundred_nested_lists_spoil_no_other_claim(api: KubeApi, server: Script) -> None:
    nested = b"[" * 1500 + b"]" * 1500
    server.answers(page(claim("a"), spoilt("bad", 7, nested), claim("b")))

    found = api.list(RESOURCE_CLAIMS)

    assert {"a", "b"} <= set(names(found.items))
    assert len(found.items) + len(found.unreadable) == 3


@pytest.mark.parametrize("metadata", [b'{"name": 7, "uid": "u"}', b'{"labels": [], "uid": "u"}', b"[]", DEEP])
def test_an_object_without_readable_metadata_is_told_as_far_as_it_can_be_read(
    api: KubeApi, server: Script, metadata: bytes
) -> None:
    server.answers(page(claim("a"), b'{"metadata": ' + metadata + b"}"))

    found = api.list(RESOURCE_CLAIMS)

    assert names(found.items) == ["a"]
    (bad,) = found.unreadable
    assert str(bad).startswith("an object without a readable name cannot be read: ")


def test_an_object_whose_metadata_is_nested_too_deeply_has_its_name_still(
    api: KubeApi, server: Script
) -> None:
    server.answers(page(b'{"metadata": {"name": "bad", "managedFields": [' + DEEP + b"]}}"))

    (bad,) = api.list(RESOURCE_CLAIMS).unreadable

    assert bad.metadata.name == "bad"


def test_one_claim_that_cannot_be_read_is_refused_by_name(api: KubeApi, server: Script) -> None:
    server.answers(Reply(spoilt("bad")))

    with pytest.raises(BadReply, match=r"cannot get ResourceClaim default/bad: .*nested too deeply"):
        api.get(RESOURCE_CLAIMS, "bad", "default")


def test_a_refusal_that_cannot_be_read_is_a_refusal(api: KubeApi, server: Script) -> None:
    server.answers(Reply(b'{"details": ' + DEEP + b"}", 403))

    with pytest.raises(Forbidden):
        api.get(RESOURCE_CLAIMS, "a", "default")


def test_a_watch_goes_past_what_cannot_be_read_and_tells_it(server: Script, watching: Watching) -> None:
    lines = (
        spoilt_line("ADDED", "bad", 11),
        line("ADDED", "a", 12),
        spoilt_line("DELETED", "bad", 13),
        line("DELETED", "a", 14),
    )
    server.answers(listing(10), Stream(lines, then="hang"))

    events = list(islice(watching(), 5))

    assert [type(event) for event in events] == [Synced, Unreadable, Upserted, Unreadable, Removed]
    bad = [event for event in events if isinstance(event, Unreadable)]
    assert [(one.metadata.name, one.is_gone) for one in bad] == [("bad", False), ("bad", True)]


def test_a_list_at_the_beginning_of_a_watch_tells_what_cannot_be_read(
    server: Script, watching: Watching
) -> None:
    server.answers(page(claim("a"), spoilt("bad")))

    first = next(watching())

    assert isinstance(first, Synced)
    assert names(first.items) == ["a"]
    assert [one.metadata.name for one in first.unreadable] == ["bad"]


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
OLD = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("reply", "what"),
    [
        (POD, "it is v1 Pod, not resource.k8s.io/v1 ResourceClaim"),
        (OLD, "it is resource.k8s.io/v1beta1 ResourceClaim, not resource.k8s.io/v1 ResourceClaim"),
        (status(200), "it is v1 Status, not resource.k8s.io/v1 ResourceClaim"),
    ],
)
def test_an_answer_of_another_kind_is_refused(
    api: KubeApi, server: Script, reply: dict[str, Any], what: str
) -> None:
    server.answers(Reply(reply))
    calls: list[Callable[[], object]] = [
        lambda: api.get(RESOURCE_CLAIMS, "a", "default"),
        lambda: api.create(RESOURCE_CLAIMS, document("a")),
        lambda: api.replace(RESOURCE_CLAIMS, document("a"), subresource="status"),
        lambda: api.patch(RESOURCE_CLAIMS, "a", {}, "default"),
    ]

    for call in calls:
        with pytest.raises(BadReply, match=what):
            call()


@pytest.mark.parametrize(
    "kind",
    [
        {"apiVersion": "v1", "kind": "PodList"},
        {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaimList"},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"},
        status(200),
    ],
)
def test_a_list_of_another_kind_is_refused(api: KubeApi, server: Script, kind: dict[str, Any]) -> None:
    server.answers(Reply({**kind, "metadata": {}, "items": []}))

    with pytest.raises(BadReply, match=r"cannot list ResourceClaim: .*it is .*, not .* ResourceClaimList"):
        api.list(RESOURCE_CLAIMS)


def test_a_list_of_the_kind_is_taken(api: KubeApi, server: Script) -> None:
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimList"}
    server.answers(Reply({**kind, "metadata": {}, "items": [document("a")]}))

    assert names(api.list(RESOURCE_CLAIMS).items) == ["a"]


def test_what_belongs_to_an_object_may_be_answered_by_another_kind(api: KubeApi, server: Script) -> None:
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"name": "a"}}
    server.answers(Reply(status(201), 201))

    answer = api.create(PODS, binding, "default", subresource="binding")

    assert answer.document["kind"] == "Status"


def marked(name: str) -> dict[str, Any]:
    found = document(name)
    return {**found, "metadata": {**found["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("reply", "is_left"), [(status(200), False), (document("a"), False), (marked("a"), True), ({}, False)]
)
def test_a_deletion_tells_whether_the_object_still_exists(
    api: KubeApi, server: Script, reply: dict[str, Any], is_left: bool
) -> None:
    server.answers(Reply(reply))

    assert (api.delete(RESOURCE_CLAIMS, "a", "default") is not None) is is_left


def test_the_deletion_of_another_kind_is_refused(api: KubeApi, server: Script) -> None:
    server.answers(Reply(POD))

    with pytest.raises(ApiError, match="it is v1 Pod, not v1 Node"):
        api.delete(NODES, "a")


def test_a_store_that_is_followed_skips_what_cannot_be_read_and_goes_on(
    connect: Callable[..., KubeApi], server: Script, stop: Event
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}")
    store: Store[str] = Store(lambda found: found.metadata.resource_version)
    lines = (spoilt_line("MODIFIED", "a", 11), line("ADDED", "b", 12))
    server.answers(listing(10, "a"), Stream(lines, then="hang"))

    told = list(islice(api.follow(RESOURCE_CLAIMS, store, stop=stop), 3))

    assert [type(one) for one in told] == [Changed, Unreadable, Changed]
    assert (store.get("a", "default"), store.get("b", "default")) == ("10", "12")
    assert [one.metadata.name for one in store.unreadable()] == ["a"]


def test_a_kind_without_a_group_is_compared_as_such(api: KubeApi, server: Script) -> None:
    server.answers(Reply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}))

    assert api.get(Resource.of("v1", "Node", "nodes"), "a").metadata.name == "a"


def test_keys_have_the_namespace() -> None:
    store: Store[Object] = Store(lambda found: found)

    (change,) = store.wrote(stored("a"))

    assert change.key == Key("default", "a")
