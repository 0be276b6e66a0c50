"""Composite slices say what is wrong with devices, and no allocator of ours takes an ill one from them."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.health.causes import Cause
from agent.health.facts import facts_of
from agent.health.fold import looked
from agent.health.rules import HealthRules
from agent.health.state import HealthState, Key, Trouble
from agent.health.tainted import judged
from agent.inventory import discover
from agent.inventory.describer import Describer
from agent.publishing.forms import TAINTS, Form, Found, NotTaken, Taken, Verdict, documents
from agent.publishing.sources import CompositeSource
from agent.publishing.taints.unreadable import UNREADABLE
from scheduler_core.api import FIRST_FIT, Cluster, Engine, Node, best_fit
from scheduler_core.codec.claims import decode_claim, decode_class
from scheduler_core.codec.composite import decode_slice
from scheduler_core.codec.v1 import decode_slice as decode_v1_slice
from scheduler_core.dialects.mixins import flatten
from scheduler_core.explain.allocate import allocate as plain_search
from scheduler_core.model.result import Allocation
from scheduler_core.state.cluster_state import ClusterState

EXAMPLES = Path(__file__).parents[3] / "deploy/examples"
NODE = Node("node-1", {})
KEEPS, DROPS = Taken(), Taken(frozenset({TAINTS}))


@pytest.fixture
def well(tmp_path):
    """Two A100s, as a look finds them."""
    machine = SimulatedMachine.open(load_node("a100x2"), tmp_path / "machine")
    inventory = discover(simulated_hardware(machine).readers, "node-1")
    found = Found.of(inventory, Describer("tangram.dev").devices(inventory))
    return found, looked(HealthState("boot-1"), facts_of(inventory), HealthRules(), 0.0)


def with_trouble(well, cause, xid=None):
    """Return the look, with something wrong with the first GPU."""
    found, state = well
    gpu = next(iter(state.gpus))
    ill = replace(state, troubles={Key(target=gpu, cause=cause, xid=xid): Trouble(0.0, 0.0, 1)})
    return replace(found, health=judged(found.devices, found.instances, ill, HealthRules()))


def composite(found, answer=KEEPS):
    return [decode_slice(one) for one in CompositeSource().wanted(found, lambda _: answer)]


def v1_taints(found):
    slices = documents(found, Verdict(Form.SEPARATE))
    return {
        one["name"]: one["taints"]
        for each in slices
        for one in each["spec"].get("devices", ())
        if "taints" in one
    }


def taints(slices):
    return {one.name: [taint.key for taint in one.taints] for one in flatten(slices).devices if one.taints}


@pytest.mark.parametrize(
    ("cause", "xid"), [(Cause.GPU_LOST, 79), (Cause.XID_RESET, 48), (Cause.REMAP_FAILED, None)]
)
def test_they_are_those_of_the_v1_slices(well, cause, xid):
    found = with_trouble(well, cause, xid)
    wanted = {name: [one["key"] for one in has] for name, has in v1_taints(found).items()}

    assert taints(composite(found)) == wanted
    assert all(name.startswith("gpu-0") for name in wanted)


def test_a_note_is_no_taint(well):
    assert taints(composite(with_trouble(well, Cause.XID_APPLICATION, 31))) == {}


def test_a_device_that_cannot_be_read_for_a_moment_has_its_taint(well):
    found = replace(well[0], devices=replace(well[0].devices, remembered=frozenset({"gpu-1"})))

    assert taints(composite(found)) == {"gpu-1": [UNREADABLE.key]}


def classes():
    content = yaml.safe_load_all((EXAMPLES / "device-classes.yaml").read_text())
    return {one.name: one for one in map(decode_class, content)}


def whole_gpu(**exactly):
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.tangram.dev", **exactly}}
    metadata = {"name": "c", "namespace": "default", "uid": "u1"}
    return decode_claim({"metadata": metadata, "spec": {"devices": {"requests": [request]}}})


def of_both(found):
    """Return the state of a cluster that has a pool in both dialects: the composite one counts."""
    state = ClusterState(classes())
    state.upsert_slices(composite(found))
    state.upsert_slices(map(decode_v1_slice, documents(found, Verdict(Form.SEPARATE))))
    return state


def by_first_fit(state, claim):
    return Engine(state, FIRST_FIT).allocate((claim,), NODE)


def by_best_fit(state, claim):
    return Engine(state, best_fit()).allocate((claim,), NODE)


def by_plain_search(state, claim):
    return plain_search((claim,), Cluster(pools=tuple(state.pools()), classes=state.classes), NODE)


def devices_of(answer):
    assert isinstance(answer, Allocation)
    return [device.device.device for result in answer.results.values() for device in result]


@pytest.mark.parametrize("allocate", [by_first_fit, by_best_fit, by_plain_search])
@pytest.mark.parametrize(("cause", "xid"), [(Cause.GPU_LOST, 79), (Cause.XID_RESET, 48)])
def test_no_allocator_takes_a_device_that_is_ill_unless_the_claim_tolerates_it(well, allocate, cause, xid):
    state = of_both(with_trouble(well, cause, xid))
    tolerating = [{"key": f"health.tangram.dev/{cause}", "operator": "Exists"}]

    assert devices_of(allocate(of_both(well[0]), whole_gpu())) == ["gpu-0"]
    assert devices_of(allocate(state, whole_gpu())) == ["gpu-1"]
    assert devices_of(allocate(state, whole_gpu(tolerations=tolerating))) == ["gpu-0"]


def test_where_the_definition_is_of_an_earlier_version_there_are_none_while_a_device_has_a_taint(
    well, caplog
):
    source, asked = CompositeSource(), []

    def server(slices):
        asked.extend(slices)
        return DROPS

    before = source.wanted(well[0], server)
    ill = with_trouble(well, Cause.XID_RESET, 48)

    with caplog.at_level(logging.ERROR):
        assert [source.wanted(ill, server) for _ in range(3)] == [()] * 3
    assert source.wanted(well[0], server) == before
    assert len(asked) == 1
    assert asked[0]["metadata"]["name"].endswith("-trial")
    assert not source.is_full
    assert caplog.text.count("must install this version's CustomResourceDefinition") == 1


def test_a_definition_that_is_updated_meanwhile_is_noticed(well):
    source, ill = CompositeSource(), with_trouble(well, Cause.XID_RESET, 48)
    assert source.wanted(ill, lambda _: DROPS) == ()

    source.doubt()

    assert source.wanted(ill, lambda _: KEEPS)
    assert source.is_full


def test_a_loss_that_only_the_write_shows_withdraws_them(well):
    source, ill = CompositeSource(), with_trouble(well, Cause.XID_RESET, 48)
    assert source.wanted(ill, lambda _: NotTaken("a webhook says no to dry runs"))

    assert source.lost(frozenset({TAINTS}))
    assert source.wanted(ill, lambda _: KEEPS) == ()
    assert not source.lost(frozenset({"includes"}))
