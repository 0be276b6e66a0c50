"""A store that follows a server has what the server has, through broken connections and lost history."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from itertools import islice
from threading import Event
from typing import Any

import pytest
from scripted_api import Cut, Reply, Script, Stream, document, status
from scripted_api.watching import bookmark, line, listing, versions

from kube_api import RESOURCE_CLAIMS, Change, Changed, Disconnected, Key, KubeApi, Object, Store, Unreadable

Told = Changed[str] | Unreadable | Disconnected
Following = Callable[..., Iterator[Told]]


@pytest.fixture
def store() -> Store[str]:
    """Keeps of a claim its name and version."""
    return Store(lambda found: f"{found.metadata.name}@{found.metadata.resource_version}")


@pytest.fixture
def following(
    connect: Callable[..., KubeApi], server: Script, store: Store[str], stop: Event
) -> Iterator[Told]:
    api = connect(f"http://127.0.0.1:{server.server_port}", first_delay_s=0.001, watch_longest_delay_s=0.002)
    return api.follow(RESOURCE_CLAIMS, store, stop=stop)


def changed(name: str, old: str | None, new: str | None) -> Change[str]:
    return Change(Key("default", name), old, new)


def test_it_begins_with_everything_and_says_so_then_come_the_changes(
    server: Script, store: Store[str], following: Iterator[Told]
) -> None:
    lines = (line("ADDED", "b", 11), line("MODIFIED", "a", 12), line("DELETED", "b", 13))
    server.answers(listing(10, "a"), Stream(lines, then="hang"))

    told = list(islice(following, 4))

    assert told == [
        Changed((changed("a", None, "a@10"),), is_first=True),
        Changed((changed("b", None, "b@11"),)),
        Changed((changed("a", "a@10", "a@12"),)),
        Changed((changed("b", "b@11", None),)),
    ]
    assert store.values() == ("a@12",)


def test_history_that_the_server_forgot_is_the_difference_between_two_lists(
    server: Script, store: Store[str], following: Iterator[Told]
) -> None:
    same = document("same", 5)
    items = [same, document("b", 10)], [same, document("c", 30)]
    first, second = (
        Reply({"metadata": {"resourceVersion": str(version)}, "items": found})
        for version, found in zip((10, 30), items, strict=True)
    )
    server.answers(first, Reply(status(410, "Expired"), 410), second, Stream((), then="hang"))

    told = [one for one in islice(following, 3) if isinstance(one, Changed)]

    assert told[1] == Changed((changed("b", "b@10", None), changed("c", None, "c@30")))
    assert sorted(store.values()) == ["c@30", "same@5"]


def test_a_bookmark_moves_the_place_in_history_and_changes_nothing(
    server: Script, store: Store[str], following: Iterator[Told]
) -> None:
    server.answers(listing(10, "a"), Stream((bookmark(20),)), Stream((line("ADDED", "b", 21),), then="hang"))

    told = list(islice(following, 2))

    assert told[1] == Changed((changed("b", None, "b@21"),))
    assert versions(server) == [None, "10", "20"]


@pytest.mark.parametrize("failure", [Reply(status(500), 500), Cut()])
def test_a_broken_connection_is_told_and_leaves_the_store_as_it_was(
    server: Script, store: Store[str], following: Iterator[Told], failure: Any
) -> None:
    server.answers(listing(10, "a"), failure, Stream((line("ADDED", "b", 11),), then="hang"))
    next(following)

    assert isinstance(next(following), Disconnected)
    assert store.values() == ("a@10",)
    assert next(following) == Changed((changed("b", None, "b@11"),))


def test_of_a_list_only_what_the_store_keeps_remains_when_the_next_object_is_read(
    connect: Callable[..., KubeApi], server: Script, stop: Event
) -> None:
    """The documents of a big cluster do not fit into memory at once."""
    alive: list[int] = []

    def keep(found: Object) -> str:
        dictionaries = (one for one in gc.get_objects() if type(one) is dict)
        alive.append(sum(one.get("kept") == [[]] for one in dictionaries))
        return found.metadata.name

    store: Store[str] = Store(keep)
    api = connect(f"http://127.0.0.1:{server.server_port}")
    items = [document(f"claim-{number}", kept=[[]]) for number in range(10)]
    page = Reply(json.dumps({"metadata": {"resourceVersion": "10"}, "items": items}).encode())
    items.clear()
    server.answers(page)

    next(api.follow(RESOURCE_CLAIMS, store, stop=stop))

    assert len(store) == 10
    assert set(alive) == {1}


def test_a_store_may_have_the_text_of_objects_and_then_gets_no_document(
    connect: Callable[..., KubeApi], server: Script, stop: Event
) -> None:
    odd = {**document("odd", 7), "kind": "Pod"}
    items = Reply({"metadata": {"resourceVersion": "10"}, "items": [document("a", 5), odd]})
    server.answers(items, Stream((line("MODIFIED", "a", 12),), then="hang"))
    api = connect(f"http://127.0.0.1:{server.server_port}")
    texts = Store[tuple[str, dict[str, Any], bool]](
        lambda one: (one.metadata.name, json.loads(one.text), bool(one.document))
    )

    first, second = islice(api.follow(RESOURCE_CLAIMS, texts, as_text=True, stop=stop), 2)

    assert isinstance(first, Changed)
    assert [one.new for one in first.changes] == [("a", document("a", 5), False)]
    assert isinstance(second, Changed)
    assert [one.new[1]["metadata"]["resourceVersion"] for one in second.changes if one.new] == ["12"]
    (unreadable,) = texts.unreadable()
    assert "Pod, not resource.k8s.io/v1 ResourceClaim" in unreadable.problem
