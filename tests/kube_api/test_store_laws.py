"""Laws of a store, for every order in which a server's history, its lists and its answers can arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from kube_api import RESOURCE_SLICES, Change, Key, Object, Removed, Store, Synced, Upserted
from kube_api.decoding import to_object

STEPS = [
    *["list begins", "list ends", "write", "delete", "our write", "our delete"],
    *["event", "event", "answer", "answer", "look begins", "look ends"],
]
STEP = st.tuples(st.sampled_from(STEPS), st.sampled_from("ab"), st.sampled_from("xyz"))
HISTORIES = st.lists(STEP, min_size=12, max_size=60)


class World:
    """A server with a history, a watch that lags behind it, and answers to our writes that are late."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.version = 0
        self.history: list[tuple[bool, Object]] = []  # by version: whether it was the end, and of what
        self.told = 0  # how much of the history the watch has told
        self.list: tuple[int, tuple[Object, ...]] | None = None  # on its way
        self.look: tuple[int, tuple[Object, ...]] | None = None  # a list of somebody else, on its way
        self.answers: deque[Callable[[], object]] = deque()
        self.store: Store[Object] = Store(lambda one: one, {"word": lambda one: [one.document["spec"]]})
        self.replayed: dict[Key, Object] = {}
        self.store.subscribe(self.replay)
        self.written: dict[str, int] = {}  # the newest version of ours that the store was told, by UID
        self.ended: set[str] = set()  # what the store had when it was told that we deleted it

    def replay(self, change: Change[Object]) -> None:
        assert self.replayed.get(change.key) == change.old
        self.replayed.pop(change.key, None)
        if change.new is not None:
            self.replayed[change.key] = change.new

    def step(self, step: str, name: str, word: str) -> None:
        known = self.objects.get(name)
        if step in ("write", "our write"):
            written = self.write(name, word)
            if step == "our write":
                self.answers.append(lambda: self.answer_write(written))
        elif step in ("delete", "our delete") and known:
            self.version += 1
            self.history.append((True, self.made(name, known.document["spec"], known.metadata.uid)))
            del self.objects[name]
            if step == "our delete":
                self.answers.append(lambda: self.answer_deletion(known.metadata.uid))
        elif step == "answer" and self.answers:
            self.answers.popleft()()
        elif step == "list begins" and self.list is None:
            self.list = self.version, tuple(self.objects.values())
        elif step == "list ends" and self.list is not None:
            self.told, items = self.list
            self.list = None
            self.store.take(Synced(tuple(map(self.store.entry, items)), str(self.told)))
        elif step in ("look begins", "look ends"):
            self.look_on(step)
        elif step == "event" and self.list is None and self.store.is_synced:
            self.tell()

    def look_on(self, step: str) -> None:
        if step == "look begins" and self.look is None:
            self.look = self.version, tuple(self.objects.values())
        elif step == "look ends" and self.look is not None and self.store.is_synced:
            version, items = self.look
            self.look = None
            self.store.take_list(Synced(tuple(map(self.store.entry, items)), str(version)))

    def write(self, name: str, word: str) -> Object:
        self.version += 1
        known = self.objects.get(name)
        uid = known.metadata.uid if known else f"uid-{self.version}"
        self.objects[name] = self.made(name, word, uid)
        self.history.append((False, self.objects[name]))
        return self.objects[name]

    def made(self, name: str, word: str, uid: str) -> Object:
        metadata = {"name": name, "uid": uid, "resourceVersion": str(self.version)}
        return to_object({"metadata": metadata, "spec": word}, RESOURCE_SLICES)

    def tell(self) -> None:
        if self.told < len(self.history):
            is_end, found = self.history[self.told]
            self.told += 1
            entry = self.store.entry(found)
            self.store.take(Removed(entry) if is_end else Upserted(entry))

    def answer_write(self, written: Object) -> None:
        self.store.wrote(written)
        version = int(written.metadata.resource_version)
        self.written[written.metadata.uid] = max(version, self.written.get(written.metadata.uid, 0))

    def answer_deletion(self, uid: str) -> None:
        if self.store.by_uid(uid) is not None:
            self.ended.add(uid)
        self.store.deleted(uid)

    def settle(self) -> None:
        """Let everything arrive that is on its way."""
        for step in ("list ends", "list begins", "list ends") if not self.store.is_synced else ("list ends",):
            self.step(step, "", "")
        while self.answers:
            self.step("answer", "", "")
        for _ in self.history:
            self.tell()


def grown(history: list[tuple[str, str, str]]) -> World:
    world = World()
    for step in history:
        world.step(*step)
    return world


@given(HISTORIES)
@settings(deadline=None, max_examples=200)
def test_once_all_has_arrived_the_store_has_what_the_server_has(history: list[tuple[str, str, str]]) -> None:
    world = grown(history)

    world.settle()

    stored = {one.metadata.name: one for one in world.store.values()}
    assert stored == world.objects


@given(HISTORIES)
@settings(deadline=None, max_examples=200)
def test_at_no_time_an_object_is_older_than_we_wrote_it_or_back_after_we_deleted_it(
    history: list[tuple[str, str, str]],
) -> None:
    world = World()
    for step in history:
        world.step(*step)

        for uid, version in world.written.items():
            if found := world.store.by_uid(uid):
                assert int(found.metadata.resource_version) >= version
        assert not [uid for uid in world.ended if world.store.by_uid(uid)]


@given(HISTORIES)
@settings(deadline=None, max_examples=200)
def test_at_no_time_an_object_that_we_wrote_is_missing_while_the_server_has_it(
    history: list[tuple[str, str, str]],
) -> None:
    world = World()
    for step in history:
        world.step(*step)

        live = {one.metadata.uid for one in world.objects.values()}
        assert not [uid for uid in world.written if uid in live and world.store.by_uid(uid) is None]


@given(HISTORIES)
@settings(deadline=None)
def test_the_changes_say_at_any_time_what_the_store_has(history: list[tuple[str, str, str]]) -> None:
    world = World()
    for step in history:
        world.step(*step)

        values = world.store.values()
        assert sorted(map(str, world.replayed.values())) == sorted(map(str, values))
        for word in "xyz":
            indexed = world.store.indexed("word", word)
            assert {one.metadata.uid for one in indexed} == {
                one.metadata.uid for one in values if one.document["spec"] == word
            }
        assert all(world.store.by_uid(one.metadata.uid) is one for one in values)
