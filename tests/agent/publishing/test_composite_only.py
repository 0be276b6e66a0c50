"""A node of the controller that publishes composite slices alone: what is stored in which order of labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slice_keeper import Keeper

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.inventory import describe, discover
from agent.options import read_options
from agent.publishing.forms import TAINTS, Form, Found, Taken, Verdict, documents
from agent.publishing.metrics import Metrics
from agent.publishing.sources import CompositeSource, V1Source
from controller.model.slices import read_composite_slice, read_slice
from daemon.command_line import InvalidOption
from scheduler_core.dialects.mixins import flatten
from scheduler_core.model.ownership import CONTROLLER, OWNER
from scheduler_core.publishing.plan import plan
from scheduler_core.state.slice_forms import ProjectedForm, V1Form


def look(folder, name):
    machine = SimulatedMachine.open(load_node(name), folder / "m")
    inventory = discover(simulated_hardware(machine).readers, name)
    return Found.of(inventory, describe(inventory))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return look(tmp_path_factory.mktemp("machine"), "a100x2")


class Silent:
    def warn(self, reason, text): ...
    def note(self, reason, text): ...


class Node:
    """What a server has of a node, whose agent wants composite slices alone or not."""

    def __init__(self, *, alone=True):
        self.restart(alone=alone)
        self.v1, self.composites = Keeper(), Keeper()

    def restart(self, *, alone):
        self.sources = V1Source(Metrics(), Silent(), gives_way=alone), CompositeSource(is_alone=alone)

    def publish(self, found):
        for source, keeper in zip(self.sources, (self.v1, self.composites), strict=True):
            for write in plan(source.wanted(found, lambda _: Taken()), keeper.all()):
                keeper.apply(write)

    def seen(self):
        """What the controller reads: by its watches, v1 slices and the labelled ones of the other kind."""
        labelled = [one for one in self.composites.all() if one["metadata"].get("labels")]
        return list(map(read_slice, self.v1.all())), list(map(read_composite_slice, labelled))


def owned(found):
    return replace(found, allocator=CONTROLLER)


def test_the_controllers_node_has_composite_slices_alone_with_its_mark(found):
    node = Node()
    node.publish(owned(found))

    v1, composites = node.seen()
    assert v1 == []
    assert [one.is_owned for one in composites] in ([True], [None, True])
    assert {one.node for one in composites} == {"a100x2"}


@pytest.mark.parametrize("name", shipped_nodes())
def test_the_controller_reads_from_them_what_the_v1_slices_would_say(name, tmp_path):
    node, found = Node(), look(tmp_path, name)
    node.publish(owned(found))
    v1 = [read_slice(one).content for one in documents(owned(found), Verdict(Form.SEPARATE))]

    pool = ProjectedForm().formed([one.content for one in node.seen()[1]])

    wanted = V1Form().formed(v1)
    assert pool.devices == wanted.devices
    assert pool.sources == wanted.sources


def test_taints_of_health_stay_beside_the_mark(found):
    name = next(iter(found.devices.by_name))
    devices = replace(found.devices, remembered=frozenset({name}))
    node = Node()
    node.publish(owned(replace(found, devices=devices)))

    tainted = [one for one in flatten([one.content for one in node.seen()[1]]).devices if one.taints]

    assert [one.name for one in tainted] == [name]


@pytest.mark.parametrize("allocator", ["", "kube-scheduler"])
def test_where_the_controller_does_not_allocate_both_forms_are_there_without_a_mark(found, allocator):
    node, usual = Node(), Node(alone=False)
    for one in (node, usual):
        one.publish(replace(found, allocator=allocator))

    assert node.v1.all() == usual.v1.all()
    assert node.composites.all() == usual.composites.all()


def test_where_the_definition_drops_taints_nothing_is_published_that_could_seem_free(found):
    wanted = CompositeSource(is_alone=True).wanted(owned(found), lambda _: Taken(frozenset({TAINTS})))

    assert wanted == ()


@settings(max_examples=25)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=4))
def test_whatever_changes_the_controller_reads_one_form_and_kube_scheduler_none_of_its(found, changes):
    node = Node()
    for alone, is_owned in changes:
        node.restart(alone=alone)
        node.publish(owned(found) if is_owned else found)
        v1, composites = node.seen()
        by_composite = [one for one in composites if one.content is not None and one.is_owned]

        assert bool(by_composite) is (alone and is_owned)
        assert bool(v1) is not bool(by_composite)
        assert all(one.is_owned in (None, is_owned) for one in v1)


def test_the_option_excludes_those_that_make_no_composite_slices():
    assert read_options(["--composite-only"]).composite_only
    for other in ("--no-composite", "--once"):
        with pytest.raises(InvalidOption, match="composite-only"):
            read_options(["--composite-only", other])


def test_the_label_is_the_one_that_the_watch_selects(found):
    node = Node()
    node.publish(owned(found))

    assert {one["metadata"]["labels"][OWNER] for one in node.composites.all()} == {CONTROLLER}
