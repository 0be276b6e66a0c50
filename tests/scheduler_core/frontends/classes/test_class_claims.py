"""Resource classes as the engine allocates them: the same devices as the classes select, given jointly."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from short_folders import short_folder

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.options.mode_option import read_gpu_modes
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.classes.annotation import uses_in
from scheduler_core.frontends.classes.claims import (
    class_annotations,
    class_claim,
    engine_class,
    unknown_classes,
)
from scheduler_core.frontends.classes.decode import decode_resource_class
from scheduler_core.frontends.classes.published import properties_of
from scheduler_core.frontends.classes.selection import selects
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.state.cluster_state import ClusterState

DRIVER, REF = "tangram.dev", ClaimRef("team", "c")
EXAMPLES = Path(__file__).parents[4] / "deploy" / "examples" / "resource-classes" / "classes.yaml"
TYPE, RDMA = QualifiedName("tangram.dev/type"), QualifiedName("tangram.dev/rdmaCapable")


def of_key(name, key, operator, *values):
    expression = {"key": key, "operator": operator} | ({"values": list(values)} if values else {})
    spec = {"resourceSelector": [{"matchExpressions": [expression]}]}
    return {"kind": "ResourceClass", "metadata": {"name": name}, "spec": spec}


CLASSES = {
    one.name: one
    for one in map(
        decode_resource_class,
        [
            *yaml.safe_load_all(EXAMPLES.read_text()),
            of_key("large", "memory", "GtEq", "30G"),
            of_key("near", "numa", "In", "3"),
            of_key("any.nic", "type", "In", "nic"),
        ],
    )
}


@pytest.fixture(scope="module")
def pool():
    with short_folder() as folder:
        machine = SimulatedMachine.open(load_node("dgx-a100"), Path(folder))
        inventory = discover(simulated_hardware(machine).readers, "n")
    found = describe(replace(inventory, modes=read_gpu_modes(["all=whole,mig,shared"]))).pool
    first = next(one.name for one in found.devices if one.attributes[TYPE] == "nic")
    devices = tuple(without_rdma(one) if one.name == first else one for one in found.devices)
    return replace(found, devices=devices)


def without_rdma(device):
    """Return a NIC as one that a pod could have as an interface only."""
    return replace(device, attributes={**device.attributes, RDMA: False})


@pytest.fixture
def state(pool):
    state = ClusterState()
    state.set_pool(pool)
    for one in CLASSES.values():
        state.set_class(engine_class(one, DRIVER))
    return state


@pytest.mark.parametrize("name", CLASSES)
def test_the_engine_matches_what_the_class_selects_and_a_pod_can_have(name, state, pool):
    claim = class_claim(REF, {name: 1})

    (matched,) = Engine(state).request_devices([claim], Node("n"))

    expected = {
        one.name
        for one in pool.devices
        if selects(CLASSES[name], properties_of(DRIVER, one))
        and not one.is_shareable
        and one.attributes.get(RDMA) is not False
    }
    assert {one.id.device for one in matched.devices} == expected


def test_devices_of_several_classes_are_given_together_and_a_class_that_is_full_is_refused(state):
    claim = class_claim(REF, {"nvidia.high.mem": 8, "fast.nic": 2})
    engine = Engine(state)

    found = engine.decide([claim], Node("n"))
    full = engine.allocate([class_claim(REF, {"nvidia.high.mem": 9})], Node("n"))

    assert isinstance(found, Allocation)
    given = [one.request for one in found.results[REF]]
    assert (given.count("class-nvidia-high-mem"), given.count("class-fast-nic")) == (8, 2)
    assert isinstance(full, Unallocatable)


def test_overlapping_classes_are_served_where_first_fit_would_exclude_itself(state):
    """Class ``near`` also selects MIG partitions and GPUs: the engine gives none that excludes another."""
    found = Engine(state).decide([class_claim(REF, {"near": 2, "nvidia.high.mem": 7})], Node("n"))

    assert isinstance(found, Allocation)


def test_what_a_pod_got_is_told_in_the_annotations_of_the_proposal(state):
    claim = class_claim(REF, {"fast.nic": 2})
    found = Engine(state).decide([claim], Node("n"))

    annotations = class_annotations(claim, found.results[REF])

    uses = uses_in("Pod p", annotations)
    assert {one.class_name for one in uses} == {"fast.nic"}
    assert {one.device for one in uses} == {str(one.device.device) for one in found.results[REF]}


def test_classes_that_nobody_made_are_named(state):
    claim = class_claim(REF, {"fast.nic": 1, "slow.nic": 1})

    assert unknown_classes(claim, state.classes) == ("slow.nic",)
