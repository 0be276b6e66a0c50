"""A list that somebody else than the watch has read never turns a store back."""

from __future__ import annotations

import pytest

from kube_api import RESOURCE_CLAIMS, Entry, Object, Removed, Store, Synced, Unreadable, Upserted
from kube_api.decoding import to_object
from kube_api.objects import Metadata


@pytest.fixture
def store() -> Store[Object]:
    fresh: Store[Object] = Store(lambda one: one)
    fresh.take(Synced((entry("a", 1),), "1"))
    return fresh


def entry(name: str, version: int) -> Entry[Object]:
    metadata = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": str(version)}
    document = {"metadata": metadata}
    found = to_object(document, RESOURCE_CLAIMS)
    return Store(lambda one: one).entry(found)


def versions(store: Store[Object]) -> dict[str, str]:
    return {one.metadata.name: one.metadata.resource_version for one in store.values()}


def test_what_the_watch_has_told_since_the_list_was_read_stays(store: Store[Object]) -> None:
    store.take(Upserted(entry("new", 3)))
    store.take(Upserted(entry("a", 4)))

    assert store.take_list(Synced((entry("a", 1),), "2")) == ()
    assert versions(store) == {"new": "3", "a": "4"}


def test_what_ended_since_the_list_was_read_does_not_come_back(store: Store[Object]) -> None:
    store.take(Removed(entry("a", 3)))

    store.take_list(Synced((entry("a", 1),), "2"))

    assert versions(store) == {}


def test_what_the_list_knows_and_the_watch_has_not_told_yet_is_taken(store: Store[Object]) -> None:
    store.take(Upserted(entry("gone", 2)))

    store.take_list(Synced((entry("a", 4), entry("b", 5)), "6"))
    store.take(Upserted(entry("a", 3)))  # late

    assert versions(store) == {"a": "4", "b": "5"}


def test_our_write_after_the_list_was_read_stays(store: Store[Object]) -> None:
    store.wrote(entry("mine", 9).value)

    store.take_list(Synced((entry("a", 1),), "5"))

    assert versions(store) == {"a": "1", "mine": "9"}


def test_what_the_list_says_cannot_be_read_is_not_gone(store: Store[Object]) -> None:
    unreadable = Unreadable(Metadata(name="a", namespace="n", uid="uid-a", resource_version="3"), "wrong")

    store.take_list(Synced((), "5", (unreadable,)))

    assert versions(store) == {"a": "1"}
