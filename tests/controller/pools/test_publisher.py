"""Pools that no node owns: what is published of MultiNodePool objects, whatever fails on the way."""

import copy
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pool_server import PoolServer, publisher_of

from scheduler_core.books.ledger import Ledger, Overdrawn
from scheduler_core.codec import v1
from scheduler_core.frontends.multi_node.pool_object import read_pool
from scheduler_core.model.nodes import Node, admits

ROOT = Path(__file__).parents[3]
NOW = "2026-01-01T00:00:00Z"
OWN = "tangram.dev"


def tpus(name="tpus", generation=1):
    found = yaml.safe_load((ROOT / "deploy/examples/multi-node/tpus.yaml").read_text())
    found["metadata"] |= {"name": name, "uid": f"uid of {name}", "generation": generation}
    return found


def small(name="pool", devices=("a", "b"), generation=1, **fields):
    listed = [{"name": one, "composite": {"nodeName": f"on-{one}"}} for one in devices]
    metadata = {"name": name, "uid": f"uid of {name}", "generation": generation}
    spec = {"driver": "tpu.example.com", "devices": listed, **fields}
    return {"apiVersion": "tangram.dev/v1alpha1", "kind": "MultiNodePool", "metadata": metadata, "spec": spec}


class Site:
    def __init__(self):
        self.server = PoolServer()
        self.publisher = publisher_of(self.server, OWN)
        self.objects = {}

    def put(self, document):
        self.objects[document["metadata"]["name"]] = document

    def turn(self):
        """Take a turn with the objects as the server has them: with the statuses that it stored."""
        known = [{**one, "status": self.server.statuses.get(name, {})} for name, one in self.objects.items()]
        self.server.dry_runs = 0
        return self.publisher.turn(known, NOW)

    def pools(self):
        slices = [v1.decode_slice(one) for one in self.server.documents()]
        return {one.id.name: one for one in v1.pools(slices)}

    def told(self, name):
        (condition,) = self.server.statuses[name]["conditions"]
        return condition["status"], condition["message"]


@pytest.fixture
def site():
    return Site()


def fits(pool, names):
    ledger = Ledger(pool)
    try:
        for name in names:
            ledger.take(name, "x")
    except Overdrawn:
        return False
    return True


def nodes_of(pool, name):
    device = next(one for one in pool.devices if one.name == name)
    labels = ((f"node-{n}", {"kubernetes.io/hostname": f"node-{n}"}) for n in range(1, 17))
    return {node for node, label in labels if admits(device.nodes, Node(node, label))}


def test_the_tpus_of_the_proposal_are_published_with_a_counter_for_the_tpus_of_each_node(site):
    site.put(tpus())

    turn = site.turn()

    assert turn.failures == ()
    (pool,) = site.pools().values()
    assert (str(pool.id), pool.is_complete, pool.problem) == ("tpu.example.com/multi-node/tpus", True, None)
    assert len(pool.devices) == 31
    assert [len(counters) for counters in pool.sources.values()] == [16]
    assert site.told("tpus") == ("True", "")
    assert (site.server.statuses["tpus"]["devices"], site.server.statuses["tpus"]["slices"]) == (31, 2)


def test_two_slices_of_the_machine_exclude_each_other_just_when_they_have_a_node_in_common(site):
    site.put(tpus())
    site.turn()
    (pool,) = site.pools().values()
    names = [one.name for one in pool.devices]

    for one, other in combinations(names, 2):
        is_apart = nodes_of(pool, one).isdisjoint(nodes_of(pool, other))
        assert fits(pool, (one, other)) is is_apart, (one, other)
    assert fits(pool, [name for name in names if "2x2" in name])


def test_four_4x4_slices_are_those_of_the_proposal(site):
    site.put(tpus())
    site.turn()
    (pool,) = site.pools().values()

    found = [sorted(nodes_of(pool, one.name)) for one in pool.devices if "4x4" in one.name]

    assert found == [
        sorted(f"node-{n}" for n in nodes)
        for nodes in ((1, 2, 5, 6), (3, 4, 7, 8), (9, 10, 13, 14), (11, 12, 15, 16))
    ]


def test_what_is_published_needs_no_further_write(site):
    site.put(tpus())
    site.put(small())
    site.turn()

    assert site.turn().writes == 0
    assert site.server.dry_runs == 0


def test_a_status_that_somebody_else_overwrote_is_written_again(site):
    site.put(small())
    site.turn()
    site.server.statuses["pool"] = {**site.server.statuses["pool"], "devices": 99}

    site.turn()

    assert site.server.statuses["pool"]["devices"] == 2


def test_slices_belong_to_their_object_and_no_two_objects_share_a_name(site):
    site.put(small("a", driver="b.c"))
    site.put(small("a-b", driver="c"))
    site.turn()

    owners = {name: one["metadata"]["ownerReferences"][0] for name, one in site.server.stored.items()}
    assert {name: (one["name"], one["uid"]) for name, one in owners.items()} == {
        "multi-node.a.b.c-00": ("a", "uid of a"),
        "multi-node.a-b.c-00": ("a-b", "uid of a-b"),
    }


def test_a_pool_whose_object_is_gone_is_deleted_and_no_other(site):
    site.put(small("gone"))
    site.put(small("stays"))
    site.turn()

    del site.objects["gone"]
    site.turn()

    assert set(site.pools()) == {"multi-node/stays"}


def test_a_changed_object_changes_its_pool(site):
    site.put(small())
    site.turn()

    site.put(small(devices=("a", "c"), generation=2))
    site.turn()

    assert [one.name for one in site.pools()["multi-node/pool"].devices] == ["a", "c"]
    assert site.server.statuses["pool"]["observedGeneration"] == 2


def wrong(change):
    document = tpus("wrong", generation=2)
    change(document["spec"])
    return document


def device(spec, index):
    return spec["devices"][index]["composite"]


MISTAKES = {
    "our own driver without GPUs": (lambda s: s.update(driver=OWN), "must be minors of GPUs of the node"),
    "a driver that is none": (lambda s: s.update(driver="No!"), "spec.driver"),
    "a device without nodes": (lambda s: device(s, 0).pop("nodeSelector"), "must"),
    "the proposal's operator": (
        lambda s: device(s, 0)["nodeSelector"]["nodeSelectorTerms"][0]["matchExpressions"][0].update(
            operator="IN"
        ),
        "IN",
    ),
    "a source that is not there": (
        lambda s: device(s, 1).update(consumesCapacityFrom=[{"name": "tpu-16x16"}]),
        "names unknown source 'tpu-16x16'",
    ),
    "more than its source has": (
        lambda s: device(s, 1)["capacity"]["tpus"].update(quantity="40"),
        "cannot be projected",
    ),
    "a mixin that nobody includes": (
        lambda s: s.update(deviceMixins=[{"name": "m", "composite": {"capacity": {"m": {"quantity": "?"}}}}]),
        "deviceMixins",
    ),
    "one name twice": (lambda s: s["devices"].append(s["devices"][0]), "names must be unique"),
    "an unknown field": (lambda s: s.update(nodeName="a"), "nodeName"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_told_in_one_sentence_and_what_was_published_stays(site, what):
    change, words = MISTAKES[what]
    site.put(tpus("wrong"))
    site.turn()
    before = copy.deepcopy(site.server.stored)

    site.put(wrong(change))
    turn = site.turn()

    status, message = site.told("wrong")
    assert status == "False"
    assert words in message
    assert "MultiNodePool wrong" in message or "multi-node/wrong" in message
    assert site.server.stored == before
    assert turn.failures == ()
    assert site.turn().writes == 0


def test_a_pool_with_a_mistake_keeps_no_other_from_being_published(site):
    site.put(small("a", driver=OWN))
    site.put(small("b"))

    site.turn()

    assert set(site.pools()) == {"multi-node/b"}


@pytest.mark.parametrize("field", ["sharedCounters", "consumesCounters", "perDeviceNodeSelection"])
def test_where_the_server_would_drop_fields_nothing_is_written(site, field):
    site.server.dry_drops = {field}
    site.put(tpus())

    turn = site.turn()

    assert site.server.stored == {}
    assert site.told("tpus")[0] == "False"
    assert field in site.told("tpus")[1]
    assert "DRAPartitionableDevices" in site.told("tpus")[1]
    assert turn.failures


def test_a_server_that_misses_the_field_which_it_dropped_is_told_by_the_gate(site):
    site.server.refuses = lambda one: "exactly one of `allNodes`, `perDeviceNodeSelection` is required"
    site.put(small())

    site.turn()

    assert "drops perDeviceNodeSelection; switch on the feature gate" in site.told("pool")[1]


def test_a_pool_that_was_stored_without_fields_is_withdrawn(site):
    site.server.drops = {"consumesCounters"}
    site.put(tpus())

    site.turn()

    assert site.server.stored == {}
    assert site.told("tpus")[0] == "False"


def test_a_pool_that_was_stored_whole_stays_when_the_server_drops_fields_later(site):
    site.put(small())
    site.put(tpus())
    site.turn()
    before = copy.deepcopy(site.server.stored)

    site.server.dry_drops = site.server.drops = {"consumesCounters", "sharedCounters"}
    changed = tpus(generation=2)
    changed["spec"]["devices"].pop()
    site.put(changed)
    site.turn()

    assert site.server.stored == before
    assert site.told("tpus")[0] == "False"


def test_an_old_server_gets_counters_beside_the_devices(site):
    def lies_apart(document):
        return "sharedCounters" in document["spec"] and not document["spec"].get("devices")

    site.server.refuses = lies_apart
    site.put(tpus())

    assert site.turn().failures == ()

    (one,) = site.server.documents()
    assert len(one["spec"]["devices"]) == 31
    assert site.turn().writes == 0
    assert site.server.dry_runs == 0


def test_a_layout_that_is_refused_half_way_is_replaced_by_the_other(site):
    def are_devices_alone(document):
        is_trial = document["metadata"]["name"].endswith("-trial")
        return not is_trial and "sharedCounters" not in document["spec"]

    site.server.refuses = are_devices_alone
    site.put(tpus())

    assert site.turn().failures == ()

    (pool,) = site.pools().values()
    assert (len(pool.devices), pool.is_complete) == (31, True)


def test_what_the_server_refuses_is_told_and_tried_again(site):
    site.server.refuses = lambda document: True
    site.put(small())
    assert site.turn().failures
    assert site.told("pool") == (
        "False",
        "; ".join(["multi-node.pool.tpu.example.com-00-trial: is not allowed"] * 2),
    )

    site.server.refuses = lambda document: False
    site.turn()

    assert site.told("pool") == ("True", "")


def cut(names, generation):
    """A machine that is cut into so many parts that it takes two slices and one for its counters."""
    capacity = {"tpus": {"quantity": "1"}}
    parts = [
        {
            "name": name,
            "composite": {
                "nodeName": name,
                "capacity": capacity,
                "consumesCapacityFrom": [{"name": "whole"}],
            },
        }
        for name in names
    ]
    whole = {"allNodes": True, "capacity": {"tpus": {"quantity": str(len(names))}}}
    return small(generation=generation, devices=()) | {
        "spec": {"driver": "tpu.example.com", "devices": [{"name": "whole", "composite": whole}, *parts]}
    }


@given(st.integers(0, 6), st.booleans())
def test_after_a_failure_at_any_write_no_mixed_pool_is_complete_and_the_next_turn_ends_it(left, is_change):
    site = Site()
    before, after = [f"d{number}" for number in range(100)], [f"e{number}" for number in range(70)]
    if is_change:
        site.put(cut(before, 1))
        site.turn()
    site.put(cut(after, 2))
    site.server.left = left

    turn = site.turn()

    assert bool(turn.failures) is (left < 4)
    for pool in site.pools().values():
        names = [str(one.name) for one in pool.devices]
        assert not pool.is_complete or names in (["whole", *before], ["whole", *after])
    site.server.left = None
    assert site.turn().failures == ()
    assert [str(one.name) for one in site.pools()["multi-node/pool"].devices] == ["whole", *after]


def test_the_name_of_an_object_is_a_label():
    found = read_pool(small("a.b"), OWN)

    assert "metadata.name" in found.content
