"""The table of kinds: a row for each published device, each row complete, and nobody else who knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from devices_of_kinds import EXAMPLES, example_of, setting_up, taking_down, told
from import_graph import Package

from agent.hardware.open import simulated_hardware
from agent.hardware.ports import Machine
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.model import LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.published import PublishedDevice, hardware_of
from plugin.assembly import assemble
from plugin.claim.record_format import VERSION
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import Common, PreparableKind, Wanted
from plugin.kinds.registry import KINDS, ClaimedDevice
from plugin.kinds.table import AnyKind
from plugin.machine.seen import SeenHardware
from scheduler_core.frontends.partitions.table import table_of

PAIR = LinkedGpus(table_of("table", {"2": [{"minors": [0, 1], "allocationScore": 1}]}))
ALL_MODES = GpuModes(ModesOfGpu(shared=100, mps=100))
COMMON = Common(requests=("r",), pool="n", device="d", cdi_id="x")
EACH_KIND = pytest.mark.parametrize("kind", KINDS.preparable, ids=lambda kind: type(kind).__name__)


@pytest.fixture
def linked_bench(folder: Path, linked_bench_in: Callable[..., Any], kind: AnyKind) -> Any:
    """The machine that has the example of a kind."""
    return linked_bench_in(folder, node=example_of(kind).node)


def published_on(machine: Machine, node: str, linked: LinkedGpus | None = None) -> Iterable[PublishedDevice]:
    found = replace(discover(machine.readers, node), linked=linked, modes=ALL_MODES)
    found = replace(found, split=SplitGpus(), imex_channels=2)
    return describe(found, "tangram.dev").by_name.values()


def machine_of(node: str, folder: Path) -> Machine:
    return simulated_hardware(SimulatedMachine.open(load_node(node), folder))


def test_every_device_that_the_agent_publishes_has_a_row() -> None:
    assert {row.published for row in KINDS.rows} == set(get_args(PublishedDevice))


def test_what_a_record_may_hold_is_what_the_rows_record() -> None:
    recorded = [kind.claimed for kind in KINDS.preparable]
    tags = [one.__struct_config__.tag for one in recorded]

    assert set(recorded) == set(get_args(ClaimedDevice))
    assert len(set(tags)) == len(tags) == len(recorded)
    assert max(one.RECORD_VERSION for one in recorded) <= VERSION


def test_every_row_is_complete_and_has_an_example_that_the_crash_tests_use() -> None:
    texts = [row.text for row in KINDS.rows]

    assert len(set(texts)) == len(texts)
    assert all(row.why_unprepared for row in KINDS.rows if row not in KINDS.preparable)
    assert {type(kind) for kind in KINDS.preparable} == EXAMPLES.keys()


@pytest.mark.parametrize("node", shipped_nodes())
def test_every_published_device_is_planned_by_its_row_as_the_hardware_that_it_is(
    tmp_path: Path, node: str
) -> None:
    for device in published_on(machine_of(node, tmp_path), node, PAIR):
        wanted = Wanted(device, COMMON)
        kind = KINDS.of_wanted(wanted)
        if not isinstance(kind, PreparableKind):
            assert kind.why_unprepared
            continue
        planned: Claimed = kind.plan(wanted)
        assert KINDS.of_claimed(planned) is kind
        assert planned.hardware == hardware_of(device)
        assert planned.as_planned() == planned
        assert planned.lock_targets


def test_every_row_says_why_a_device_is_ill_and_nothing_of_one_that_works(tmp_path: Path) -> None:
    machine = machine_of("dgx-a100", tmp_path)
    all_of_it, nothing = SeenHardware.on(machine.readers), SeenHardware(frozenset(), frozenset(), ())
    asked: set[type] = set()

    for device in published_on(machine, "dgx-a100", PAIR):
        row = KINDS.of_published(device)
        asked.add(row.published)
        assert row.why_ill(device, all_of_it) == ""
        assert row.why_ill(device, nothing).endswith("no longer exists")

    assert asked == {row.published for row in KINDS.rows}


@EACH_KIND
def test_the_crash_points_of_a_row_are_the_calls_that_change_the_machine(
    linked_bench: Any, kind: AnyKind
) -> None:
    example = example_of(kind)
    calls: list[str] = []
    machine = told(linked_bench.machine, calls.append, lambda _: None)
    clock = linked_bench.clock
    driver = assemble(machine, linked_bench.options, clock=clock, sleep=clock.sleep)
    example.prepare(linked_bench)
    claim = linked_bench.claim("u1", example.device, configs=example.configs)

    driver.prepare(claim)
    made, calls[:] = list(calls), []
    driver.unprepare(claim.uid, claim.ref)

    assert made == setting_up(kind)
    assert calls == taking_down(kind)


@EACH_KIND
def test_a_record_of_a_kind_that_is_set_up_is_its_plan_again_without_its_facts(
    linked_bench: Any, kind: AnyKind
) -> None:
    example = example_of(kind)
    linked_bench.driver.prepare(linked_bench.claim("u1", example.device, configs=example.configs))
    ((device,),) = (record.devices for record in linked_bench.records())

    planned = device.as_planned()

    assert KINDS.of_claimed(device) is kind
    assert (device != planned) == example.has_facts
    assert device.lock_targets == planned.lock_targets
    assert device.hardware == planned.hardware


def modules_of_rows() -> set[str]:
    """The module or folder of each row."""
    prefix = "plugin.kinds."
    return {prefix + type(row).__module__.removeprefix(prefix).split(".")[0] for row in KINDS.rows}


def is_in(module: str, folders: set[str]) -> set[str]:
    return {folder for folder in folders if module == folder or module.startswith(f"{folder}.")}


def test_only_the_table_knows_the_kinds_and_no_kind_knows_another() -> None:
    rows = modules_of_rows()
    known = {
        (module, other)
        for module, imported in Package.read("plugin").imports.items()
        for other in imported
        if is_in(other, rows) and is_in(module, rows) != is_in(other, rows)
    }

    assert {module for module, _ in known} == {"plugin.kinds.registry"}


def test_a_machine_that_tells_of_changes_is_asked_questions_in_silence(bench_of: Callable[..., Any]) -> None:
    calls: list[str] = []
    machine = told(bench_of("a100x2").machine, calls.append, calls.append)

    discover(machine.readers, "a100x2")

    assert calls == []
