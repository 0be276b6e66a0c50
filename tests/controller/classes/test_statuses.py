"""What the status of a resource class says: always the count of the facts, whatever happened before."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_histories import NODES, History

from controller.classes.documents import ClassStatus, status_patch
from controller.classes.statuses import ClassStatuses
from scheduler_core.frontends.classes.decode import decode_resource_class
from scheduler_core.frontends.classes.published_devices import PublishedDevices
from scheduler_core.frontends.classes.state import GrantedPod, State, statuses
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import DRIVER, NODE, device, held, pool

NOW = "2026-01-01T00:00:00Z"


def class_object(name, *requirements, generation=1, **fields):
    """A ResourceClass of one selector. Shape: requirements are (key, operator, values...)."""
    rows = [
        {"key": key, "operator": operator} | ({"values": list(values)} if values else {})
        for key, operator, *values in requirements
    ]
    spec = {"resourceSelector": [{"matchExpressions": rows}]} if rows else {}
    metadata = {"name": name, "generation": generation}
    return {
        "apiVersion": "tangram.dev/v1alpha1",
        "kind": "ResourceClass",
        "metadata": metadata,
        "spec": spec,
        **fields,
    }


CLASSES = {
    one["metadata"]["name"]: one
    for one in (
        class_object("small", ("kind", "In", "small")),
        class_object("not-small", ("kind", "NotIn", "small")),
        class_object("red-or-none", ("color", "NotIn", "blue")),
        class_object("large-m", ("m", "GtEq", "2")),
        class_object("board-1", ("board", "Eq", "1"), ("color", "Exists")),
        class_object("twisted-one", ("twisted", "Eq", "1")),
        class_object("twisted-true", ("twisted", "Eq", "true")),
        class_object("tagged", ("tags", "Exists")),
        class_object("nothing"),
    )
}


def counted(state, classes, present):
    """The oracle: the proposal's own state, filled with what exists now and counted anew."""
    published = PublishedDevices.of(state)
    claims = state.assignments.concerning((one.id.driver, one.id.name) for one in state.pools())
    grants = [grant for claim in claims for grant in published.held_by(claim)]
    facts = State(
        classes={name: decode_resource_class(one) for name, one in classes.items()},
        nodes={name: tuple(found) for name, found in published.by_node.items() if name in present},
        pods={str(number): GrantedPod(None, grant) for number, grant in enumerate(grants)},
    )
    return {name: (one.allocatable, one.requested) for name, one in statuses(facts).items()}


class Cluster:
    """A state that changes at random, and a server that stores every status at once."""

    def __init__(self, chance):
        self.chance = chance
        self.state = ClusterState()
        self.statuses = ClassStatuses(self.state)
        self.history = History(chance, self.state)
        self.classes = {}
        self.present = set()

    def step(self):
        self.chance.choice([self.history.step, self.history.step, self.node, self.one_class])()

    def node(self):
        node = self.chance.choice(NODES)
        if node.name in self.present:
            self.present.discard(node.name)
            self.state.remove_node(node.name)
        else:
            self.present.add(node.name)
            self.state.set_node(node)

    def one_class(self):
        name = self.chance.choice(list(CLASSES))
        if name in self.classes:
            del self.classes[name]
            self.statuses.remove_class(name)
        else:
            self.classes[name] = CLASSES[name]
            self.statuses.set_class(CLASSES[name])

    def write(self):
        for one in self.statuses.changed():
            patch = status_patch(one, self.statuses.stored(one.name), NOW)
            self.classes[one.name] = {**self.classes[one.name], **patch}
            self.statuses.set_class(self.classes[one.name])

    def written(self):
        numbers = ((name, one["status"]) for name, one in self.classes.items())
        return {name: (one["allocatable"], one["requested"]) for name, one in numbers}


@settings(max_examples=150)
@given(st.integers(0, 2**48))
def test_after_every_history_the_statuses_are_those_of_the_facts(seed):
    chance = Random(seed)
    cluster = Cluster(chance)

    for _ in range(chance.randint(1, 5)):
        for _ in range(chance.randint(1, 8)):
            cluster.step()
        cluster.write()

        assert cluster.written() == counted(cluster.state, cluster.classes, cluster.present)
        assert list(cluster.statuses.changed()) == []


@settings(max_examples=50)
@given(st.integers(0, 2**48))
def test_a_restart_finds_the_same_numbers_and_has_nothing_to_write(seed):
    chance = Random(seed)
    cluster = Cluster(chance)
    for _ in range(chance.randint(5, 25)):
        cluster.step()
    cluster.write()

    again = ClassStatuses(cluster.state)
    for name in cluster.present:
        again.node_changed(name)
    for one in cluster.classes.values():
        again.set_class(one)

    assert list(again.changed()) == []


def gpus():
    return pool(*(device(f"gpu-{number}", attributes={"type": "gpu"}) for number in range(4)))


def made():
    state = ClusterState()
    found = ClassStatuses(state)
    state.set_node(NODE)
    state.set_pool(gpus())
    found.set_class(class_object("gpus", ("type", "In", "gpu")))
    return state, found


def numbers(found):
    return [(one.allocatable, one.requested) for one in found.changed()]


def test_the_five_events_of_the_proposal_change_the_status():
    state, found = made()
    assert numbers(found) == [(4, 0)]

    state.hold(held("gpu-1", "gpu-2"))
    assert numbers(found) == [(4, 2)]

    state.release(held("gpu-1", "gpu-2").ref)
    assert numbers(found) == [(4, 0)]

    state.remove_node(NODE.name)
    assert numbers(found) == [(0, 0)]

    state.set_node(NODE)
    assert numbers(found) == [(4, 0)]

    found.remove_class("gpus")
    assert numbers(found) == []


def test_a_class_counts_what_is_held_whoever_asked_and_however_late_the_class_came():
    state, found = made()
    state.hold(held("gpu-3"))

    found.set_class(class_object("late", ("type", "Exists")))

    assert {one.name: one.requested for one in found.changed()} == {"gpus": 1, "late": 1}


def test_a_device_that_two_claims_hold_by_mistake_counts_twice():
    state, found = made()

    state.hold(held("gpu-0", by="one"))
    state.hold(held("gpu-0", by="two"))

    assert numbers(found) == [(4, 2)]


def test_what_runs_stays_requested_while_its_node_publishes_other_devices_only_if_they_still_exist():
    state, found = made()
    state.hold(held("gpu-0", "gpu-3"))

    state.set_pool(pool(device("gpu-0", attributes={"type": "gpu"}), device("n", attributes={"type": "nic"})))

    assert numbers(found) == [(1, 1)]


@pytest.mark.parametrize(
    ("requirement", "attributes", "others"),
    [
        (("Kind", "In", "nvidia-gpu"), {"type": "gpu", "cudaComputeCapability": "8.0"}, {"type": "gpu"}),
        (
            ("Kind", "In", "nvidia-gpu"),
            {"type": "gpu", "cudaComputeCapability": "8.0"},
            {"type": "mig", "cudaComputeCapability": "8.0"},
        ),
        (("Kind", "In", "other"), {"type": "nic", "Kind": "other"}, {"type": "nic"}),
        (("speed", "GtEq", "40GBPS"), {"linkSpeedMbps": 100_000}, {"linkSpeedMbps": 25_000}),
        (("speed", "GtEq", "40GBPS"), {"speed": "50GBPS"}, {"linkSpeedMbps": 1_000}),
    ],
)
def test_hardware_that_differs_in_what_the_class_looks_at_is_told_apart(requirement, attributes, others):
    state, found = made()
    mine = [device(f"a-{number}", attributes={"index": number, **attributes}) for number in range(3)]
    state.set_pool(pool(*mine, *(device(f"b-{n}", attributes={"index": n, **others}) for n in range(2))))
    found.set_class(class_object("wanted", requirement))

    assert {one.name: one.allocatable for one in found.changed()}["wanted"] == 3


def test_hardware_that_differs_in_the_type_of_a_value_alone_is_told_apart():
    state, found = made()
    parts = (device(f"d-{n}", attributes={"index": n, "on": on}) for n, on in enumerate((True, 1, 1, True)))
    state.set_pool(pool(*parts))
    found.set_class(class_object("on", ("on", "Eq", "true")))

    assert {one.name: one.allocatable for one in found.changed()}["on"] == 2


@pytest.mark.parametrize("is_compiled", [True, False])
def test_admin_access_holds_nothing(is_compiled):
    state, found = made()
    state.set_pool(gpus() if is_compiled else replace(gpus(), is_complete=False))
    assert (state.views.compiled((DRIVER, NODE.name)) is not None) is is_compiled

    claim = held("gpu-0", "gpu-1")
    state.hold(replace(claim, results=(claim.results[0], replace(claim.results[1], admin_access=True))))

    assert numbers(found) == [(4, 1)]


def test_a_spec_that_changes_in_spite_of_the_rule_is_counted_by_its_new_words():
    _, found = made()

    found.set_class(class_object("gpus", ("type", "In", "nic"), generation=2))

    assert [(one.generation, one.allocatable) for one in found.changed()] == [(2, 0)]


def test_labels_of_a_node_have_no_meaning():
    state, found = made()
    list(found.changed())
    state.set_node(Node(NODE.name, {"a": "b"}))

    assert numbers(found) == [(4, 0)]


def test_a_class_that_cannot_be_read_counts_nothing_and_says_why():
    _, found = made()

    found.set_class(class_object("bad", ("memory", "Gt", "much"), generation=3))

    bad = next(one for one in found.changed() if one.name == "bad")
    assert (bad.generation, bad.allocatable, bad.requested) == (3, 0, 0)
    assert "ResourceClass bad" in bad.problem
    assert "much" in bad.problem


def allocatable(found, name):
    """The condition of a class beside Valid, as it is written."""
    status = next(one for one in found.changed() if one.name == name)
    valid, condition = status_patch(status, {}, NOW)["status"]["conditions"]
    assert valid["type"] == "Valid"
    assert condition["type"] == "Allocatable"
    return condition["status"], condition["reason"], condition["message"]


def test_a_class_without_devices_says_so_until_a_device_is_published():
    state, found = made()
    assert allocatable(found, "gpus") == ("True", "DevicesPublished", "")

    state.remove_pool(gpus().id)
    status, reason, message = allocatable(found, "gpus")

    assert (status, reason) == ("False", "NoDevice")
    assert "tangram classes" in message


@pytest.mark.parametrize("kind", ["huge-pages", "fpga", "nvidia-gpus"])
def test_a_class_of_kinds_that_nothing_publishes_names_them_and_what_to_do(kind):
    _, found = made()
    found.set_class(class_object("listed", ("Kind", "In", kind), ("size", "GtEq", "1G")))

    status, reason, message = allocatable(found, "listed")

    assert (status, reason) == ("False", "KindNotPublished")
    assert message.startswith(f"Kind {kind}: Tangram publishes no such devices; pods get nvidia-gpu, ")
    assert "hugepages-1Gi" in message


def test_a_class_of_a_kind_that_a_driver_publishes_after_all_is_allocatable():
    state, found = made()
    state.set_pool(pool(device("f", attributes={"Kind": "fpga"})))
    found.set_class(class_object("listed", ("Kind", "In", "fpga")))

    assert allocatable(found, "listed")[0] == "True"


def test_a_class_that_cannot_be_read_is_not_allocatable():
    _, found = made()
    found.set_class(class_object("bad", ("memory", "Gt", "much")))

    assert allocatable(found, "bad")[:2] == ("False", "CannotBeRead")


def test_a_status_that_somebody_else_overwrote_is_written_again():
    _, found = made()
    stored = class_object("gpus", ("type", "In", "gpu"))
    (wanted,) = found.changed()
    right = status_patch(wanted, {}, NOW)
    found.set_class({**stored, **right})
    assert numbers(found) == []

    found.set_class({**stored, "status": {**right["status"], "allocatable": 99}})

    assert numbers(found) == [(4, 0)]


def test_a_condition_keeps_its_time_until_its_value_changes():
    status = ClassStatus("c", 1, 4, 0)
    first = status_patch(status, {}, NOW)["status"]

    same = status_patch(ClassStatus("c", 2, 4, 1), first, "later")["status"]
    other = status_patch(ClassStatus("c", 2, problem="wrong"), first, "later")["status"]

    assert same["conditions"][0]["lastTransitionTime"] == NOW
    assert other["conditions"][0]["lastTransitionTime"] == "later"
