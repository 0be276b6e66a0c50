"""What overlaps a foreign MIG instance is published with a taint that names it, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import MigSpec
from agent.inventory import discover
from agent.inventory.describer import Describer
from agent.inventory.foreign.finder import ForeignFinder
from agent.inventory.foreign.found import FOREIGN
from agent.inventory.foreign.overlap import in_the_way
from agent.inventory.foreign.records import Records
from agent.publishing.forms import TAINTS, Form, Found, Taken, Verdict, documents, judge
from agent.publishing.metrics import Metrics
from agent.publishing.sources import CompositeSource, V1Source
from scheduler_core.model.ownership import CONTROLLER, OWNER
from tangram.__main__ import main as tangram

EVERY_FIELD = lambda _slices: Taken()  # noqa: E731 - a server that stores what it is sent
OVERLAPPING = {"gpu-0", "gpu-0-mig-1g-5gb-0", "gpu-0-mig-2g-10gb-0-1", "gpu-0-mig-7g-40gb-0-7"}
FREE = {"gpu-0-mig-1g-5gb-1", "gpu-0-mig-3g-20gb-4-7", "gpu-1", "gpu-1-mig-1g-5gb-0"}


REPOSITORY = Path(__file__).parents[3]


class Site:
    """Two A100s, and the agent's look at them; no claim has anything."""

    def __init__(self, folder):
        self.machine = SimulatedMachine.open(load_node("a100x2"), folder)
        self.gpu = self.machine.gpus.gpus()[0].uuid
        self.readers = simulated_hardware(self.machine).readers
        self.finder = ForeignFinder(self.readers.gpus, lambda _boot: Records())
        self.describer = Describer("tangram.dev")

    def make(self, gpu=0):
        gpus = self.machine.gpus
        uuid = gpus.gpus()[gpu].uuid
        gpus.set_mig_mode(uuid, True)
        profile = next(one for one in gpus.profiles(uuid) if one.name == "1g.5gb")
        return gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, profile.placements[0]))

    def look(self, allocator=""):
        inventory = discover(self.readers, "node-1")
        devices = self.describer.devices(inventory)
        found = Found.of(inventory, devices, in_the_way(devices, self.finder(inventory)))
        return Found(found.devices, found.instances, allocator, in_the_way=found.in_the_way)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "machine")


def published(slices):
    return {one["name"]: one for slice_ in slices for one in slice_["spec"].get("devices", ())}


def tainted(slices):
    return {name: one["taints"] for name, one in published(slices).items() if "taints" in one}


@pytest.mark.parametrize("form", [Form.SEPARATE, Form.TOGETHER])
def test_in_both_forms_with_counters_it_has_the_taint_that_names_the_instance(form, site):
    gi_id = site.make()

    found = tainted(documents(site.look(), Verdict(form)))

    assert found.keys() >= OVERLAPPING
    assert FREE.isdisjoint(found)
    taint = {"key": FOREIGN, "value": f"gpu-0-gi-{gi_id}", "effect": "NoSchedule"}
    assert all(taints == [taint] for taints in found.values())


def test_where_nobody_counts_the_instance_itself_is_no_free_device(site):
    site.make()
    look = site.look()

    kept = documents(look, Verdict(Form.FIXED))
    dropped = documents(look, Verdict(Form.FIXED, lost=frozenset({TAINTS})))

    assert published(kept).keys() == {"gpu-0-mig-1g-5gb-0", "gpu-1"}
    assert tainted(kept).keys() == {"gpu-0-mig-1g-5gb-0"}
    assert published(dropped).keys() == {"gpu-1"}


@pytest.mark.parametrize("form", [Form.SEPARATE, Form.TOGETHER])
def test_where_the_server_drops_taints_it_is_withheld_since_it_would_seem_free(form, site):
    site.make()

    found = published(documents(site.look(), Verdict(form, lost=frozenset({TAINTS}))))

    assert OVERLAPPING.isdisjoint(found)
    assert found.keys() >= FREE


def test_a_server_that_was_asked_before_is_asked_again_whether_it_keeps_the_taint(site):
    source, asked = V1Source(Metrics(), None), []

    def ask(slices):
        asked.append(any("taints" in one for one in published(slices).values()))
        return Taken(frozenset({TAINTS}) if asked[-1] else frozenset())

    assert published(source.wanted(site.look(), ask)).keys() >= OVERLAPPING
    site.make()

    assert OVERLAPPING.isdisjoint(published(source.wanted(site.look(), ask)))
    assert asked == [False, True]


def test_the_composite_slices_have_the_same_taint(site):
    source = CompositeSource()
    before = source.wanted(site.look(), EVERY_FIELD)
    site.make()

    after = source.wanted(site.look(), EVERY_FIELD)

    v1 = tainted(V1Source(Metrics(), None).wanted(site.look(), EVERY_FIELD))
    bodies = {device["name"]: device["composite"] for one in after for device in one["spec"]["devices"]}
    assert {name: body["taints"] for name, body in bodies.items() if "taints" in body} == v1
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_the_taint_goes_with_the_instance(site):
    source = V1Source(Metrics(), None)
    before = source.wanted(site.look(), EVERY_FIELD)
    gi_id = site.make()
    assert tainted(source.wanted(site.look(), EVERY_FIELD))

    site.machine.gpus.destroy_gpu_instance(site.gpu, gi_id)

    assert source.wanted(site.look(), EVERY_FIELD) == before


def test_only_the_slices_of_its_gpu_change(site):
    source = V1Source(Metrics(), None)
    before = source.wanted(site.look(), EVERY_FIELD)
    site.make()

    after = source.wanted(site.look(), EVERY_FIELD)

    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1
    assert tainted(changed)


def test_on_a_node_of_the_controller_it_has_both_taints(site):
    site.make()

    found = tainted(documents(site.look(allocator=CONTROLLER), Verdict(Form.SEPARATE)))

    assert [taint["key"] for taint in found["gpu-0"]] == [FOREIGN, OWNER]
    assert [taint["key"] for taint in found["gpu-1"]] == [OWNER]


def test_the_first_question_to_a_server_has_the_taint(site):
    site.make()

    verdict = judge(site.look(), lambda slices: Taken(frozenset({TAINTS} if tainted(slices) else ())))

    assert verdict.lost == {TAINTS}
    assert verdict.is_full


@pytest.fixture
def allocate(tmp_path):
    """Ask the command for a claim of the examples."""

    def asked(look, claim):
        slices = tmp_path / "slices.yaml"
        slices.write_text("\n---\n".join(json.dumps(one) for one in documents(look, Verdict(Form.SEPARATE))))
        examples = REPOSITORY / "deploy/examples"
        files = [slices, examples / "device-classes.yaml", examples / claim]
        return tangram(["allocate", *(word for file in files for word in ("-f", str(file)))])

    return asked


def test_the_command_that_allocates_takes_another_gpu_or_says_which_instance_is_in_the_way(
    site, allocate, capsys
):
    site.make()

    assert allocate(site.look(), "mig-claim.yaml") == 0
    taken = capsys.readouterr().out
    assert "gpu-1-mig-3g-20gb" in taken
    assert "gpu-0-mig" not in taken

    gi_id = site.make(gpu=1)

    assert allocate(site.look(), "gpu-claim.yaml") == 1
    assert f"taint {FOREIGN}=gpu-1-gi-{gi_id}:NoSchedule is not tolerated" in " ".join(
        capsys.readouterr().out.split()
    )
