"""Which form a server gets: the one that it takes, by its own word."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.publishing.forms import (
    Form,
    Found,
    NotTaken,
    Taken,
    Verdict,
    after_loss,
    documents,
    fields_of,
    judge,
    specimen,
)
from agent.publishing.turns import by_turns
from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.books.expressed_groups import with_groups
from scheduler_core.books.ledger import Ledger
from scheduler_core.dialects.project import project

GATE = frozenset({"sharedCounters", "consumesCounters"})
GROUPS_ALONE = frozenset({"consumesCounters.compatibilityGroups"})
DRAWN = ["gpu-0", "gpu-0-mig-1g-5gb-0", "gpu-0-mig-3g-20gb-4-7", "gpu-0-shared", "gpu-0-mps"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    machine = SimulatedMachine.open(load_node("dgx-a100"), tmp_path_factory.mktemp("machine"))
    inventory = discover(simulated_hardware(machine).readers, "node-1")
    return Found.of(inventory, describe(inventory))


@pytest.fixture(scope="module")
def in_all_modes(tmp_path_factory):
    machine = SimulatedMachine.open(load_node("dgx-a100"), tmp_path_factory.mktemp("machine"))
    inventory = discover(simulated_hardware(machine).readers, "node-1")
    inventory = replace(inventory, modes=GpuModes(ModesOfGpu(shared=50, mps=50)))
    return Found.of(inventory, describe(inventory))


@pytest.fixture(scope="module")
def pools(in_all_modes):
    """The pool with groups, and as it is where they are dropped."""
    grouped = project(with_groups(in_all_modes.devices.pool))
    return grouped, by_turns(grouped)


def is_together(slices):
    return any({"devices", "sharedCounters"} <= one["spec"].keys() for one in slices)


def test_a_server_that_takes_counters_in_slices_of_their_own_gets_them(found):
    assert judge(found, lambda slices: Taken()) == Verdict(Form.SEPARATE)


def test_a_server_that_refuses_them_gets_counters_beside_the_devices(found):
    def ask(slices):
        return Taken() if is_together(slices) else NotTaken("must reference a counterSet in the same slice")

    assert judge(found, ask) == Verdict(Form.TOGETHER)


def test_a_server_that_drops_counters_gets_fixed_devices_and_the_gate_is_named(found):
    verdict = judge(found, lambda slices: Taken(GATE))

    assert (verdict.form, verdict.lost) == (Form.FIXED, GATE)
    assert "feature gate DRAPartitionableDevices" in verdict.reason
    assert not verdict.is_full


def draws_of(slices):
    """The draws of each GPU's devices, and which of them have groups."""
    found = {
        device["name"]: device["consumesCounters"]
        for one in slices
        for device in one["spec"].get("devices", ())
        if device["name"].startswith("gpu")
    }
    with_groups = {
        name for name, draws in found.items() if any("compatibilityGroups" in one for one in draws)
    }
    return {name: draws[0]["counters"] for name, draws in found.items()}, with_groups


def test_where_only_groups_are_dropped_all_devices_are_published_and_modes_take_turns(in_all_modes):
    def ask(slices):
        fields = {field for one in slices for field in fields_of([one])}
        return Taken(GROUPS_ALONE if "draw.compatibilityGroups" in fields else frozenset())

    verdict = judge(in_all_modes, ask)
    slices = documents(in_all_modes, verdict)
    side_by_side, grouped = draws_of(documents(in_all_modes, Verdict(Form.SEPARATE)))
    draws, none = draws_of(slices)

    assert (verdict.form, verdict.lost) == (Form.SEPARATE, GROUPS_ALONE)
    assert "feature gate DRADeviceCompatibilityGroups" in verdict.reason
    assert ask(slices) == Taken()
    assert draws.keys() == side_by_side.keys()
    assert ({"gpu-0-shared", "gpu-0-mps", "gpu-0-mig-1g-5gb-0"} <= grouped, none) == (True, set())
    assert draws["gpu-0-shared"] == draws["gpu-0-mps"] == draws["gpu-0"]
    assert draws["gpu-0-mig-1g-5gb-0"] == side_by_side["gpu-0-mig-1g-5gb-0"]


@given(st.lists(st.sampled_from(DRAWN), max_size=6))
def test_without_groups_only_what_the_groups_allow_is_in_use_at_once(pools, order):
    allowed, turns = (Ledger(one, Features(groups="kep-5963")) for one in pools)

    for number, name in enumerate(order):
        share = {"tangram.dev/memory": Quantity.parse("1Gi")} if name.endswith(("-shared", "-mps")) else None
        if turns.admits(name, share):
            assert allowed.admits(name, share)
            turns.take(name, f"claim {number}", share)
            allowed.take(name, f"claim {number}", share)
    assert len({name.split("-")[2:3] == ["mig"] or name for name in turns.taken}) <= 1


def test_a_loss_of_groups_that_only_the_real_write_showed_keeps_counters():
    verdict = after_loss(Verdict(Form.SEPARATE), GROUPS_ALONE)

    assert (verdict.form, verdict.lost) == (Form.SEPARATE, GROUPS_ALONE)


def test_dropped_counters_and_groups_lead_to_fixed_devices_of_one_mode(in_all_modes):
    verdict = judge(in_all_modes, lambda slices: Taken(GATE | GROUPS_ALONE))

    names = {
        device["name"]
        for one in documents(in_all_modes, verdict)
        for device in one["spec"].get("devices", ())
        if device["name"].startswith("gpu")
    }
    assert names == {f"gpu-{minor}" for minor in range(8)}


def test_a_server_that_refuses_every_form_with_counters_gets_fixed_devices_and_its_words_are_kept(found):
    verdict = judge(found, lambda slices: NotTaken("no counters here"))

    assert verdict.form is Form.FIXED
    assert "no counters here" in verdict.reason


def test_a_dropped_mark_that_does_not_count_costs_only_the_devices_that_need_it(found):
    verdict = judge(found, lambda slices: Taken(frozenset({"taints"})))

    assert verdict.form is Form.SEPARATE
    assert len(documents(found, verdict)) == len(documents(found, Verdict(Form.SEPARATE)))


def test_a_loss_that_only_the_real_write_showed_leads_to_fixed_devices():
    verdict = after_loss(Verdict(Form.SEPARATE), frozenset({"consumesCounters"}))

    assert (verdict.form, verdict.lost) == (Form.FIXED, frozenset({"consumesCounters"}))


@pytest.mark.parametrize(("form", "count"), [(Form.SEPARATE, 2), (Form.TOGETHER, 2)])
def test_asking_takes_few_small_slices_that_have_every_field_of_the_pool(found, form, count):
    slices = documents(found, Verdict(form))

    asked = specimen(slices)

    def fields(some):
        return {
            field
            for one in some
            for entry in (one["spec"], *one["spec"].get("devices", ()))
            for field in entry
        }

    assert len(asked) <= count
    assert fields(asked) == fields(slices)
    assert not {one["metadata"]["name"] for one in asked} & {one["metadata"]["name"] for one in slices}


@pytest.mark.parametrize("form", [Form.SEPARATE, Form.TOGETHER])
def test_a_slice_that_is_asked_about_refers_to_nothing_that_it_lacks(found, form):
    for one in specimen(documents(found, Verdict(form))):
        sets = {entry["name"]: entry["counters"] for entry in one["spec"].get("sharedCounters", ())}
        draws = [
            draw for device in one["spec"].get("devices", ()) for draw in device.get("consumesCounters", ())
        ]
        if sets and draws:
            assert all(draw["counters"].keys() <= sets[draw["counterSet"]].keys() for draw in draws)
