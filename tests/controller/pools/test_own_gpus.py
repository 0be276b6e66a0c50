"""Pools of our own GPUs: what is published of them when, and what they wait for."""

import copy

import pytest
from gpu_pools import OWN, POOL, Site, example, gpu, holding, slice_of

from controller.pools.own_gpus import SETTLE_S
from scheduler_core.codec.members import members_of
from scheduler_core.frontends.multi_node.pool_object import FINALIZER, read_pool


@pytest.fixture
def site():
    return Site()


def test_the_slices_say_of_each_device_which_gpus_it_has_on_which_node(site):
    site.opened()

    both = {"node-1": (0, 1), "node-2": (0, 1)}
    assert members_of(site.server.documents()) == {
        "four-gpus": both,
        "two-gpus-1": {"node-1": (0, 1)},
        "two-gpus-2": {"node-2": (0, 1)},
    }
    types = [
        one["attributes"]["type"]
        for slice_ in site.server.documents()
        for one in slice_["spec"].get("devices", ())
    ]
    assert types == [{"string": "multi-node-gpus"}] * 3


def test_nobody_can_allocate_a_pool_before_its_gpus_were_free_for_some_time(site):
    site.withhold(gpu(0))
    site.put(example())
    turn = site.turn()

    assert site.is_closed()
    assert (
        site.told() == "node node-1 still publishes device gpu-0 of GPU 0: its agent must take it back first"
    )
    assert (turn.failures, turn.again_s is not None) == ((), True)

    site.withhold()
    site.turn(100)
    assert site.is_closed()
    site.turn(SETTLE_S - 0.1)
    assert site.is_closed()

    assert site.turn(0.1).again_s is None
    assert site.is_open()
    assert site.told() == ""


@pytest.mark.parametrize(
    "device",
    [
        gpu(1),
        gpu(1, "half", key="parentMinor"),
        {"name": "pair", "attributes": {"gpuMinors": {"string": "1,2"}}},
        {"name": "half", "attributes": {"tangram.dev/parentMinor": {"int": 1}}},
        {"name": "who-knows", "attributes": {"parentUUID": {"string": "GPU-x"}}},
    ],
    ids=["a GPU", "a part", "linked GPUs", "with its domain", "a part that does not say of which GPU"],
)
def test_a_node_that_publishes_anything_of_a_gpu_still_has_it(site, device):
    site.withhold(gpu(5), device)
    site.put(example())
    site.turn()
    site.turn(100)

    assert site.is_closed()
    assert device["name"] in site.told()


def test_a_part_without_its_gpus_minor_is_known_by_its_uuid(site):
    part = {"name": "part", "attributes": {"parentUUID": {"string": "GPU-7"}}}
    site.withhold(gpu(7), part)
    site.put(example())
    site.turn()
    site.turn(SETTLE_S)

    assert site.is_open()


@pytest.mark.parametrize("slices", [(), (slice_of("node-2", count=2),)], ids=["none", "not all"])
def test_a_node_that_has_not_published_everything_is_waited_for(site, slices):
    site.in_use.nodes["node-2"] = slices
    site.put(example())
    site.turn()
    site.turn(100)

    assert site.is_closed()
    assert "node node-2 has no complete pool" in site.told()


def test_a_claim_with_a_device_that_is_not_published_any_more_is_waited_for(site):
    site.withhold(gpu(5))
    site.in_use.allocated = {"still-there": holding("node-1", "gpu-5"), "held": holding("node-1", "gpu-0")}
    site.put(example())
    site.turn()
    site.turn(100)

    assert site.is_closed()
    assert "claim team/holder has device gpu-0, which node node-1 does not publish any more" in site.told()

    del site.in_use.allocated["held"]
    site.turn()
    site.turn(SETTLE_S)
    assert site.is_open()


def test_a_claim_that_only_looks_at_a_gpu_is_in_nobodys_way(site):
    site.in_use.allocated = {"admin": holding("node-1", "gpu-0", admin_access=True)}

    site.opened()


def test_a_claim_that_no_watch_has_reported_is_seen_before_a_pool_opens(site):
    site.in_use.unseen = {"late": holding("node-1", "gpu-0")}
    site.put(example())
    site.turn()
    site.turn(SETTLE_S)

    assert site.is_closed()
    assert "has device gpu-0" in site.told()


def test_a_published_pool_needs_no_further_write(site):
    site.opened()

    assert site.turn(100).writes == 0
    assert site.turn().again_s is None


def test_the_finalizer_is_there_before_the_first_slice(site):
    site.put(example())
    site.turn()

    assert site.server.writes[0] == f"finalizers gpus: {FINALIZER}"


def test_a_deleted_pool_stays_closed_until_no_claim_has_its_devices(site):
    site.opened()
    site.in_use.allocated = {"user": holding(POOL, "four-gpus")}
    site.delete()

    site.turn()
    site.turn(100)

    assert site.is_closed()
    assert site.told().startswith("it is deleted, and claim team/holder has device four-gpus: it must be")

    site.in_use.allocated = {}
    site.turn()
    assert site.is_closed()
    site.turn(SETTLE_S)

    assert site.server.stored == {}
    assert site.server.finalizers["gpus"] == ()
    assert site.server.writes[-1] == "finalizers gpus: "


def test_devices_do_not_change_while_they_are_published(site):
    site.opened()
    before = copy.deepcopy(site.server.stored)
    changed = example()
    changed["spec"]["devices"].pop()
    site.put(changed)

    turn = site.turn(100)

    assert site.server.stored == before
    assert "cannot change while they are published" in site.told()
    assert turn.failures == ()


def test_a_gpu_is_in_one_pool_only(site):
    site.opened()
    site.put(example("zweite"))

    site.turn()

    assert (
        site.told("zweite")
        == "GPU 0 of node node-1 is in MultiNodePool gpus already: each GPU can be in one only"
    )
    assert {one["spec"]["pool"]["name"] for one in site.server.documents()} == {POOL}


@pytest.mark.parametrize("lost", ["taints", "consumesCounters"])
def test_a_server_that_drops_taints_or_counters_gets_no_such_pool(site, lost):
    site.server.drops = {lost}
    site.put(example())

    turn = site.turn()

    assert site.server.stored == {}
    assert f"the API server drops {lost}" in site.told()
    assert turn.failures


@pytest.mark.parametrize("left", range(8))
def test_whichever_write_fails_the_next_turns_end_it(site, left):
    site.put(example())
    site.server.left = left
    for _ in range(3):
        site.turn(SETTLE_S)
    site.server.left = None
    for _ in range(3):
        site.turn(SETTLE_S)
    assert site.is_open()

    site.delete()
    site.server.left = left
    for _ in range(3):
        site.turn(SETTLE_S)
    site.server.left = None
    for _ in range(3):
        site.turn(SETTLE_S)
    assert site.server.stored == {}
    assert site.server.finalizers["gpus"] == ()


def device(spec, index):
    return spec["devices"][index]["composite"]


MISTAKES = {
    "no node": (
        lambda s: (device(s, 1).pop("nodeName"), device(s, 1).update(allNodes=True)),
        "must name the node of its GPUs",
    ),
    "no GPUs": (lambda s: device(s, 1)["attributes"].pop("gpuMinors"), "must be minors of GPUs of the node"),
    "no numbers": (
        lambda s: device(s, 1)["attributes"].update(gpuMinors={"string": "gpu-0"}),
        "must be minors of GPUs of the node",
    ),
    "a GPU twice": (
        lambda s: device(s, 2).update(nodeName="node-1"),
        "must not name GPU 0 of node-1, which device two-gpus-1 names",
    ),
    "GPUs of a larger device": (
        lambda s: device(s, 0)["attributes"].update(gpuMinors={"string": "0"}),
        "must not be there",
    ),
    "another type": (
        lambda s: device(s, 0)["attributes"].update(type={"string": "gpu"}),
        "must be multi-node-gpus",
    ),
    "two sources": (
        lambda s: device(s, 2).update(consumesCapacityFrom=[{"name": "four-gpus"}, {"name": "two-gpus-1"}]),
        "must be one device at most",
    ),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_told_in_one_sentence_and_publishes_nothing(site, what):
    change, words = MISTAKES[what]
    document = example()
    change(document["spec"])
    site.put(document)

    site.turn()

    assert words in site.told()
    assert site.told().startswith("MultiNodePool gpus: spec.devices[")
    assert site.server.stored == {}


def test_members_reach_all_ends_however_deep_the_tree_is():
    document = example()
    spec = document["spec"]
    spec["devices"].append(
        {
            "name": "one",
            "composite": {
                "nodeName": "node-2",
                "attributes": {"gpuMinors": {"string": "1"}},
                "capacity": {"gpus": {"quantity": "2"}},
                "consumesCapacityFrom": [{"name": "two-gpus-2"}],
            },
        }
    )
    del device(spec, 2)["attributes"]["gpuMinors"]

    found = read_pool(document, OWN).members

    assert found["four-gpus"] == {"node-1": (0, 1), "node-2": (1,)}
    assert found["two-gpus-2"] == found["one"] == {"node-2": (1,)}
