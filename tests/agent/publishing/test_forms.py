"""Which form a server gets: the one that it takes, by its own word."""

from __future__ import annotations

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.publishing.forms import (
    Form,
    Found,
    NotTaken,
    Taken,
    Verdict,
    after_loss,
    documents,
    judge,
    specimen,
)

GATE = frozenset({"sharedCounters", "consumesCounters"})


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    machine = SimulatedMachine.open(load_node("dgx-a100"), tmp_path_factory.mktemp("machine"))
    inventory = discover(simulated_hardware(machine).readers, "node-1")
    return Found.of(inventory, describe(inventory))


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


def test_dropped_groups_alone_are_enough_for_fixed_devices(found):
    lost = frozenset({"consumesCounters.compatibilityGroups"})

    verdict = judge(found, lambda slices: Taken(lost))

    assert verdict.form is Form.FIXED
    assert "feature gate DRADeviceCompatibilityGroups" in verdict.reason


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
