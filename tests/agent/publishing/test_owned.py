"""All devices of a node that the controller owns have the taint, and nothing else about them changes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from slice_keeper import Keeper

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.inventory import describe, discover
from agent.publishing.forms import TAINTS, Form, Found, Verdict, documents
from agent.publishing.taints.owned import is_marked
from scheduler_core.base.limits import DEVICES_WITH_COUNTERS
from scheduler_core.codec import v1
from scheduler_core.model.ownership import CONTROLLER, OWNER, TAINT_EFFECT
from scheduler_core.publishing.plan import plan

MARK = {"key": OWNER, "value": CONTROLLER, "effect": TAINT_EFFECT}


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    @cache
    def read(name):
        machine = SimulatedMachine.open(load_node(name), tmp_path_factory.mktemp("machine") / name)
        inventory = discover(simulated_hardware(machine).readers, "node-1")
        return Found.of(inventory, describe(inventory))

    return read


def devices(slices):
    return [device for one in slices for device in one["spec"].get("devices", ())]


def owned(found):
    return replace(found, allocator=CONTROLLER)


@pytest.mark.parametrize("form", [Form.SEPARATE, Form.FIXED])
@pytest.mark.parametrize("name", shipped_nodes())
def test_every_device_of_an_owned_node_has_the_taint_and_is_otherwise_as_it_was(name, form, look):
    found = look(name)

    plain = documents(found, Verdict(form))
    marked = documents(owned(found), Verdict(form))

    assert devices(marked) == [{**device, "taints": [MARK]} for device in devices(plain)]
    assert all(len(one["spec"].get("devices", ())) <= DEVICES_WITH_COUNTERS for one in marked)
    assert v1.pools(map(v1.decode_slice, marked))[0].is_complete


@pytest.mark.parametrize("allocator", ["", "kube-scheduler", "Controller", "anybody"])
def test_with_any_other_label_no_device_has_the_taint(allocator, look):
    found = look("a100x2")

    assert documents(replace(found, allocator=allocator), Verdict(Form.SEPARATE)) == documents(
        found, Verdict(Form.SEPARATE)
    )


@pytest.mark.parametrize("form", [Form.SEPARATE, Form.FIXED])
def test_where_the_server_drops_taints_no_device_is_withheld_for_it(form, look):
    found = look("a100x2")
    drops = Verdict(form, lost=frozenset({TAINTS}))

    assert documents(owned(found), drops) == documents(found, Verdict(form))
    assert drops.is_full is Verdict(form).is_full


def test_an_owner_that_comes_and_goes_costs_one_write_for_each_slice(look):
    found = look("dgx-a100")
    plain, marked = (documents(one, Verdict(Form.SEPARATE)) for one in (found, owned(found)))
    keeper = Keeper()
    for write in plan(plain, ()):
        keeper.apply(write)

    for wanted in (marked, plain):
        writes = plan(wanted, keeper.all())
        assert len(writes) == len(plain)
        *most, last = writes
        for write in most:
            keeper.apply(write)
            assert keeper.pool() is None  # nobody allocates from a pool of which one half has the taint
        keeper.apply(last)
        assert [one["spec"].get("devices") for one in keeper.pool()] == [
            one["spec"].get("devices") for one in wanted
        ]
        assert plan(wanted, keeper.all()) == ()


def test_a_pool_counts_as_owned_only_if_all_devices_of_its_newest_generation_have_the_mark(look):
    found = look("a100x2")
    plain, marked = (documents(one, Verdict(Form.SEPARATE)) for one in (found, owned(found)))
    later = [{**one, "spec": {**one["spec"], "pool": {"generation": 2}}} for one in marked]

    assert is_marked(marked)
    assert not is_marked(plain)
    assert not is_marked([*marked[:-1], plain[-1]])
    assert is_marked([*plain, *later])
