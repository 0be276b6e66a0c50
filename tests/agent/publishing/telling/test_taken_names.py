"""A node publishes although a compromised node has made slices with the names of its own."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from slice_keeper import Copied, Keeper, Undoubted, contents, pool_of

from agent.inventory.model import NodeDevices
from agent.publishing.errors import NameTaken, NotThere, Outdated, Refused, Unreachable
from agent.publishing.forms import Found, Taken
from agent.publishing.metrics import Metrics
from agent.publishing.publication import Clocks, Owner, Publication
from agent.publishing.publisher import Publisher
from agent.publishing.telling.taken_names import TakenNames
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.publishing.documents import name_of
from scheduler_core.publishing.names import as_stored, renamed
from scheduler_core.publishing.plan import Delete, Update

FOUND = Found(NodeDevices(shared=(), groups=(), by_name={}, pool=Pool(id=PoolId("d.example", "node-1"))))
OTHER_NAME = re.compile(r"node-1-d\.example-0\d-[0-9a-f]{8}")


def of_node_2(document):
    spec = {**document["spec"], "nodeName": "node-2", "pool": {**document["spec"]["pool"], "name": "node-2"}}
    return {**document, "spec": spec}


class Cluster(Copied):
    """Keeps the slices of this node; ``strangers`` have names and are in no selection of ours."""

    kind = "ResourceSlice"

    def __init__(self, strangers=(), stored=()):
        self.strangers = {name_of(one): one for one in strangers}
        self.keeper = Keeper(stored)
        self.created = []
        self.fails = None

    def create(self, document, *, dry_run=False):
        name = name_of(document)
        self.created.append(name)
        if stranger := self.strangers.get(name):
            raise NameTaken(self.kind, stranger)
        if self.fails:
            raise self.fails
        if dry_run:
            return document
        if name in self.keeper.objects:
            raise Outdated(f"{name} exists")
        self.keeper.create(document)
        return self.keeper.objects[name]

    def replace(self, document):
        self.keeper.apply(Update(document))
        return self.keeper.objects[name_of(document)]

    def delete(self, name, uid, resource_version):
        if name not in self.keeper.objects:
            raise NotThere(name)
        self.keeper.apply(Delete(name, uid, resource_version))


class Events:
    def __init__(self):
        self.warnings = []

    def warn(self, reason, text):
        self.warnings.append((reason, text))

    def note(self, reason, text):
        raise AssertionError(text)


class Words(Undoubted):
    """A source that wants these slices."""

    def __init__(self, words):
        self.words = words

    def wanted(self, found, ask):
        return pool_of(self.words)


class Nodes:
    def uid(self, name):
        return "uid-of-node"


def publication_on(cluster, words, events):
    clocks = Clocks(monotonic=lambda: 0.0, wall=lambda: 0.0, spread=lambda: 0.0)
    owner, metrics = Owner(Nodes(), "node-1"), Metrics()
    heard = TakenNames(metrics, events).heard
    return Publication(cluster, Words(words), owner, metrics, clocks, hear_taken=heard)


@given(words=st.lists(st.sampled_from("abc"), min_size=1, max_size=5), data=st.data())
def test_whatever_names_are_taken_the_pool_is_published_at_once_and_stays(words, data):
    usual = pool_of(words)
    taken = data.draw(st.sets(st.sampled_from(range(len(words)))))
    cluster = Cluster([of_node_2(usual[index]) for index in taken])
    publisher = Publisher(cluster, Metrics())

    publisher.publish(usual)

    assert contents(cluster.keeper.pool()) == words
    names = [name_of(one) for one in cluster.keeper.pool()]
    assert [OTHER_NAME.fullmatch(name) is not None for name in names] == [
        index in taken for index in range(len(words))
    ]
    assert publisher.pending(usual) == ()
    assert Publisher(cluster, Metrics()).pending(usual) == (), "a restarted agent finds its slices"


def test_a_changed_slice_is_updated_under_the_name_that_it_has():
    cluster = Cluster([of_node_2(pool_of(["a", "b"])[0])])
    publisher = Publisher(cluster, Metrics())
    publisher.publish(pool_of(["a", "b"]))
    names = set(cluster.keeper.objects)

    publisher.publish(pool_of(["x", "b"]))

    assert set(cluster.keeper.objects) == names
    assert contents(cluster.keeper.pool()) == ["x", "b"]


def test_a_slice_keeps_its_name_when_the_usual_one_is_free_again():
    usual = pool_of(["a"])
    cluster = Cluster([of_node_2(usual[0])])
    publisher = Publisher(cluster, Metrics())
    publisher.publish(usual)
    cluster.strangers.clear()

    assert publisher.pending(usual) == ()


def test_of_two_slices_for_one_place_the_usual_name_stays():
    usual = pool_of(["a"])
    cluster = Cluster(stored=[*usual, renamed(usual[0], "0123abcd")])

    Publisher(cluster, Metrics()).publish(usual)

    assert list(cluster.keeper.objects) == ["node-1-d.example-00"]


def test_a_name_with_another_ending_is_no_name_of_ours():
    (usual,) = pool_of(["a"])
    others = [renamed(usual, ending) for ending in ("0123ABCD", "0123abc", "0123abcd-0", "trial")]

    assert as_stored([usual], others) == (usual,)


def test_the_question_what_the_server_stores_is_asked_under_another_name_too():
    trial = renamed(pool_of(["a"])[0], "trial")
    cluster = Cluster([of_node_2(trial)])

    assert isinstance(Publisher(cluster, Metrics()).ask([trial]), Taken)
    assert cluster.created[1].startswith("node-1-d.example-00-trial-")


def test_a_taken_name_is_an_event_that_says_who_has_it_and_once_is_enough():
    stranger = of_node_2(pool_of(["a"])[0])
    cluster, events = Cluster([stranger]), Events()
    publication = publication_on(cluster, ["a"], events)

    publication.attempt(FOUND, 0.0)
    cluster.keeper.objects.clear()
    publication.attempt(FOUND, 1.0)

    ((reason, text),) = events.warnings
    assert reason == "SliceNameTaken"
    assert "node-1-d.example-00: driver d.example of node node-2 has one of that name" in text
    assert "administrator" in text


def test_while_no_other_name_can_be_stored_the_agent_is_not_ready():
    usual = pool_of(["a"])
    cluster, events = Cluster(), Events()
    publication = publication_on(cluster, ["a"], events)
    publication.attempt(FOUND, 0.0)
    before = publication.is_done

    cluster.keeper.objects.clear()
    cluster.strangers = {name_of(one): of_node_2(one) for one in usual}
    cluster.fails = Refused("no")
    publication.attempt(FOUND, 1.0)
    meanwhile = publication.is_done
    cluster.fails = None
    publication.attempt(FOUND, 100.0)

    assert (before, meanwhile, publication.is_done) == (True, False, True)
    assert len(events.warnings) == 1


def test_a_server_that_is_gone_is_no_taken_name():
    cluster, events = Cluster(), Events()
    cluster.fails = Unreachable("gone")
    publication = publication_on(cluster, ["a"], events)

    publication.attempt(FOUND, 0.0)

    assert events.warnings == []
    assert cluster.created == ["node-1-d.example-00"]
