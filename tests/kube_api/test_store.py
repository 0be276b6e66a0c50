"""A store has what the server has, in whatever order events, lists and answers to our writes arrive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kube_api import (
    RESOURCE_SLICES,
    Change,
    Disconnected,
    Entry,
    Key,
    Object,
    Removed,
    Store,
    Synced,
    Unavailable,
    Unreadable,
    Upserted,
    WatchEvent,
)
from kube_api.decoding import to_object
from kube_api.objects import Metadata

Document = Mapping[str, Any]
GONE = Disconnected(Unavailable("watch", RESOURCE_SLICES, message="gone"), 1.0)


def one(name: str = "a", version: int = 1, uid: str = "u", node: str = "") -> Document:
    metadata = {"name": name, "uid": uid, "resourceVersion": str(version)}
    spec = {"spec": {"nodeName": node}} if node else {}
    return to_object({"metadata": metadata, **spec}, RESOURCE_SLICES).document


def found(document: Document) -> Object:
    return to_object(dict(document), RESOURCE_SLICES)


class Slices(Store[Document]):
    """A store of whole documents, told of them by documents."""

    def __init__(self) -> None:
        super().__init__(lambda found: found.document, {"node": lambda one: [one["spec"]["nodeName"]]})
        self.heard: list[Change[Document]] = []
        self.subscribe(self.heard.append)

    def listed(self, *documents: Document, version: int) -> tuple[Change[Document], ...]:
        return self.take(Synced(tuple(map(self.of, documents)), str(version))).changes

    def stored(self, document: Document) -> tuple[Change[Document], ...]:
        return self.take(Upserted(self.of(document))).changes

    def gone(self, document: Document) -> tuple[Change[Document], ...]:
        return self.take(Removed(self.of(document))).changes

    def of(self, document: Document) -> Entry[Document]:
        return self.entry(found(document))


class Plain(Slices):
    """The same without indexes."""

    def __init__(self) -> None:
        Store.__init__(self, lambda found: found.document)


@pytest.fixture
def store() -> Slices:
    fresh = Plain()
    fresh.listed(one(version=3), version=3)
    return fresh


def changed(old: Document | None, new: Document | None, name: str = "a") -> Change[Document]:
    return Change(Key("", name), old, new)


def test_the_first_list_is_told_even_when_it_is_empty() -> None:
    store = Plain()
    assert not store.is_synced
    assert not store.wait_until_synced(0.0)

    first = store.take(Synced((), "1"))
    second = store.take(Synced((), "1"))

    assert (first.is_first, second.is_first) == (True, False)
    assert store.wait_until_synced(0.0)


def test_our_own_write_is_no_change_when_the_watch_tells_of_it(store: Slices) -> None:
    assert store.wrote(found(one(version=5))) == (changed(one(version=3), one(version=5)),)

    assert not store.stored(one(version=5))


def test_an_older_version_that_comes_late_changes_nothing(store: Slices) -> None:
    store.wrote(found(one(version=5)))

    assert not store.stored(one(version=4))

    assert store.values() == (one(version=5),)


def test_an_answer_of_ours_that_comes_late_changes_nothing(store: Slices) -> None:
    store.stored(one(version=6))

    assert not store.wrote(found(one(version=5)))

    assert store.values() == (one(version=6),)


def test_an_answer_of_ours_that_comes_after_the_end_of_its_object_does_not_bring_it_back(
    store: Slices,
) -> None:
    store.gone(one(version=6))

    assert not store.wrote(found(one(version=5)))

    assert store.values() == ()


def test_what_somebody_else_wrote_is_a_change(store: Slices) -> None:
    assert store.stored(one(version=4)) == (changed(one(version=3), one(version=4)),)


def test_what_we_deleted_stays_deleted_however_late_its_life_is_told(store: Slices) -> None:
    assert store.deleted("u") == (changed(one(version=3), None),)

    assert not store.stored(one(version=9))
    assert not store.listed(one(version=9), version=9)
    assert not store.wrote(found(one(version=10)))
    assert not store.gone(one(version=11))

    assert store.values() == ()


def test_what_we_deleted_and_a_second_list_still_has_exists(store: Slices) -> None:
    store.deleted("u")

    assert not store.listed(one(version=3), version=9)
    assert store.listed(one(version=3), version=10) == (changed(None, one(version=3)),)


def test_the_deletion_of_what_the_store_does_not_have_is_no_change(store: Slices) -> None:
    assert not store.deleted("another")


def test_the_end_of_an_object_does_not_end_the_one_that_took_its_name(store: Slices) -> None:
    store.wrote(found(one(version=8, uid="new")))

    assert not store.gone(one(version=9))

    assert store.values() == (one(version=8, uid="new"),)


def test_the_life_of_an_object_does_not_hide_the_one_that_took_its_name(store: Slices) -> None:
    store.wrote(found(one(version=8, uid="new")))

    assert not store.stored(one(version=7))

    assert store.values() == (one(version=8, uid="new"),)


def test_an_object_that_takes_the_name_of_another_is_an_end_and_a_beginning(store: Slices) -> None:
    old, new = one(version=3), one(version=8, uid="new")

    assert store.stored(new) == (changed(old, None), changed(None, new))

    assert (store.by_uid("u"), store.by_uid("new")) == (None, new)


def test_a_new_list_replaces_what_was_known(store: Slices) -> None:
    b = one("b", 7, "v")

    assert store.listed(b, version=7) == (changed(one(version=3), None), changed(None, b, "b"))

    assert store.values() == (b,)


def test_a_new_list_that_says_the_same_is_no_change(store: Slices) -> None:
    assert not store.listed(one(version=3), version=7)


def test_a_list_that_was_on_its_way_while_we_wrote_does_not_undo_the_write(store: Slices) -> None:
    new = one("b", 9, "v")
    store.wrote(found(one(version=8)))
    store.wrote(found(new))

    assert not store.listed(one(version=3), version=7)

    assert set(map(str, store.values())) == set(map(str, (one(version=8), new)))


def test_a_list_that_began_after_our_write_counts(store: Slices) -> None:
    store.wrote(found(one("b", 9, "v")))
    store.listed(one(version=3), version=7)

    (gone,) = store.listed(one(version=3), version=10)

    assert (gone.key.name, gone.new) == ("b", None)


def test_a_server_that_was_restored_from_a_backup_is_believed(store: Slices) -> None:
    store.stored(one(version=900))
    store.wrote(found(one("b", 901, "v")))

    store.listed(one(version=2), version=10)

    assert store.values() == (one(version=2),)
    assert store.stored(one(version=11))


def test_a_broken_watch_tells_nothing_of_the_objects(store: Slices) -> None:
    assert not store.take(GONE).changes

    assert store.values() == (one(version=3),)


def test_a_change_of_what_is_not_kept_is_no_change_and_its_version_counts() -> None:
    names: Store[str] = Store(lambda found: found.metadata.name)
    names.take(Synced((names.entry(found(one(version=3))),), "3"))

    assert not names.take(Upserted(names.entry(found(one(version=5))))).changes
    assert not names.wrote(found(one(version=4)))

    assert names.get("a") == "a"


def test_objects_are_found_by_what_an_index_says_of_them() -> None:
    store = Slices()
    one_on_1, two_on_1 = one("a", 1, "u", "n-1"), one("b", 2, "v", "n-1")
    store.listed(one_on_1, two_on_1, version=2)

    store.stored(one("a", 3, "u", "n-2"))

    assert store.indexed("node", "n-1") == (two_on_1,)
    assert store.indexed("node", "n-2") == (one("a", 3, "u", "n-2"),)
    assert store.indexed("node", "n-3") == ()
    with pytest.raises(KeyError):
        store.indexed("no such index", "n-1")


def test_an_event_asks_an_index_about_the_object_that_changed_and_no_other() -> None:
    asked: list[str] = []

    def nodes(document: Document) -> list[str]:
        asked.append(document["metadata"]["name"])
        return ["n"]

    store: Store[Document] = Store(lambda found: found.document, {"node": nodes})
    store.take(Synced(tuple(store.entry(found(one(str(n), 1, f"u{n}"))) for n in range(100)), "1"))
    asked.clear()

    store.take(Upserted(store.entry(found(one("7", 2, "u7")))))

    assert set(asked) == {"7"}
    assert len(store.indexed("node", "n")) == 100


def test_whoever_subscribes_late_hears_what_is_stored_first(store: Slices) -> None:
    heard: list[Change[Document]] = []

    store.subscribe(heard.append)
    store.wrote(found(one(version=5)))

    assert heard == [changed(None, one(version=3)), changed(one(version=3), one(version=5))]


def unreadable(name: str = "a", version: int = 5, uid: str = "u", is_gone: bool = False) -> Unreadable:
    metadata = Metadata(name=name, uid=uid, resource_version=str(version))
    return Unreadable(metadata, "it is nested too deeply", is_gone)


def test_an_object_that_cannot_be_read_any_more_keeps_its_last_readable_state_and_is_told(
    store: Slices,
) -> None:
    assert not store.take(unreadable()).changes

    assert store.values() == (one(version=3),)
    assert list(map(str, store.unreadable())) == ["a cannot be read: it is nested too deeply"]


@pytest.mark.parametrize("uid", ["u", ""])
def test_a_list_with_an_object_that_cannot_be_read_keeps_its_last_readable_state(
    store: Slices, uid: str
) -> None:
    assert not store.take(Synced((), "9", (unreadable(uid=uid),))).changes

    assert store.values() == (one(version=3),)
    assert len(store.unreadable()) == 1


def test_another_object_of_the_name_that_cannot_be_read_says_that_the_old_one_is_gone(store: Slices) -> None:
    assert store.take(Synced((), "9", (unreadable(uid="new"),))).changes == (changed(one(version=3), None),)


ENDS: list[WatchEvent[Entry[Document]]] = [
    Upserted(Entry(Key("", "a"), "u", "6", one(version=6))),
    Removed(Entry(Key("", "a"), "u", "6", one(version=6))),
    unreadable(version=6, is_gone=True),
    Synced((), "6"),
]


@pytest.mark.parametrize("event", ENDS)
def test_what_can_be_read_again_or_is_gone_is_not_unreadable(
    store: Slices, event: WatchEvent[Entry[Document]]
) -> None:
    store.take(unreadable())

    assert store.take(event).changes

    assert store.unreadable() == ()
