"""The law between allocators and plugin: what is allocated is prepared, or ``validate`` refuses it likewise.

Claims over every kind of device, allocated by our engine and by upstream's, are prepared by the plugin on the
simulated machine. ``TANGRAM_ALLOCATIONS=N`` tries N sequences of claims with each.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import needs
import pytest
from devices_of_kinds import ON_DEMAND
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kept_descriptions import describe_once
from random_claims import Allocator, Json, World, by_ours, policies, sequences, upstream, upstream_program
from shared_nvswitch import NAME, shared_node
from short_folders import short_folder

from agent.hardware.errors import HardwareError
from agent.inventory import describe, offered
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.slices import v1_slices
from plugin.base.errors import DeviceHeld, HardwareFailed, NotReady, PluginError
from plugin.claim.plan import PreparedDevice
from plugin.machine import node
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.codec.documents import Document
from scheduler_core.frontends.configuration.check import allocated_problems, unprepared_devices
from scheduler_core.frontends.objects import decode_objects
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid

DRIVER = "tangram.dev"
TRIES = int(os.environ.get("TANGRAM_ALLOCATIONS", "60"))
MACHINES: dict[str, dict[str, Any]] = {
    "all": {"node": "a100x2", "is_linked": True, "modes": GpuModes(ModesOfGpu(shared=100, mps=100))},
    "parts": {"node": "a100x2", "modes": GpuModes(ModesOfGpu(shared=50, mps=50))},
    "shares": {"node": "a100x2", "modes": GpuModes(ModesOfGpu(whole=False, mig=False, shared=40, mps=60))},
    "nics": {"node": "a30x4", "modes": GpuModes(ModesOfGpu(shared=100, mps=100))},
    "vfs on demand": {"node": "a30x4", "vfs": ON_DEMAND},
    "fabric": {"node": NAME, "file": shared_node()},
}
WAITS = ("interval", "admin access creates none", "of the same PF has")
"""What no scheduler sees: a GPU has one interval, a partition to look at may not be made, and a NIC
has each MAC once. The pod waits for the other claim (docs/modes.md, docs/kinds.md).
"""
outcomes = Counter[str]()


class Machines:
    """A machine of each kind, used again as long as claims leave nothing on it."""

    def __init__(self, root: Path, make: Any) -> None:
        self._root, self._make = root, make
        self._made: dict[str, tuple[Any, World]] = {}
        self._count = 0

    def get(self, name: str) -> tuple[Any, World]:
        found = self._made.get(name)
        if found is None:
            self._count += 1
            folder = self._root / str(self._count)
            folder.mkdir()
            bench = self._make(folder, **MACHINES[name])
            found = self._made[name] = (bench, world_of(bench))
        return found

    def discard(self, name: str) -> None:
        del self._made[name]


def world_of(bench: Any) -> World:
    inventory = bench.driver._node._options.on(bench.driver._node.snapshot.inventory)
    slices = v1_slices(describe(offered(inventory), DRIVER))
    documents = [Document(f"s:{index}", one) for index, one in enumerate(slices)]
    (pool,) = decode_objects(documents).pools()
    return World(bench.node, pool, slices)


@pytest.fixture(scope="module")
def machines(bench_for: Any) -> Iterator[Machines]:
    with short_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "describe", describe_once)
        yield Machines(Path(folder), bench_for)
        if TRIES > 1000:
            sys.stdout.write(f"{dict(outcomes)}\n")


@pytest.fixture(scope="module")
def peer() -> Iterator[Allocator]:
    program = upstream_program()
    if program is None:
        needs.fail_or_skip(needs.UPSTREAM)
    with upstream(program) as allocator:
        yield allocator


def judge(machines: Machines, name: str, allocator: Allocator, data: st.DataObject) -> None:
    bench, world = machines.get(name)
    asked = data.draw(sequences(world.types))
    statuses = allocator(world, asked)
    if statuses is None:
        outcomes["error of the allocator"] += 1
        return
    try:
        for claim, status in zip(asked, statuses, strict=True):
            if status is None:
                outcomes["does not fit"] += 1
                continue
            prepare(bench, world, claim, status)
        for claim in asked:
            ref = ClaimRef("default", claim["metadata"]["name"])
            bench.driver.unprepare(ClaimUid(claim["metadata"]["uid"]), ref)
        assert bench.leftovers() == []
    except BaseException:
        machines.discard(name)
        raise


def prepare(bench: Any, world: World, claim: Json, status: Json) -> None:
    allocated = decode_allocated_claim({**claim, "status": status})
    assert isinstance(allocated, AllocatedClaim)
    problems = [
        *(str(one) for one in allocated_problems(allocated, DRIVER, [world.pool])),
        *(reason for _, reason in unprepared_devices(allocated, DRIVER, [world.pool])),
    ]
    found = answer(bench, allocated)
    if isinstance(found, DeviceHeld | NotReady | HardwareFailed):
        assert any(words in str(found) for words in WAITS), (found, status)
        outcomes["waits"] += 1
    elif isinstance(found, Exception):
        assert any(problem in str(found) for problem in problems), (found, problems, status)
        outcomes["refused"] += 1
    else:
        prepared = found
        assert problems == [], status
        assert len(prepared) == len(allocated.results)
        ids = [one.cdi_ids[0] for one in prepared]
        assert len(set(ids)) == len(ids)
        outcomes["prepared"] += 1


def answer(bench: Any, claim: AllocatedClaim) -> tuple[PreparedDevice, ...] | Exception:
    """What the plugin answers to a claim."""
    try:
        prepared: tuple[PreparedDevice, ...] = bench.driver.prepare(claim)
    except (PluginError, HardwareError) as error:
        return error
    return prepared


SLOW = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)
law = settings(
    max_examples=TRIES,
    phases=[Phase.generate, Phase.shrink] if TRIES > 1000 else list(Phase),
    suppress_health_check=SLOW,
)


@law
@given(name=st.sampled_from(sorted(MACHINES)), policy=policies, data=st.data())
def test_what_our_engine_allocates_is_prepared_or_refused_in_the_words_of_validate(
    machines: Machines, name: str, policy: Any, data: st.DataObject
) -> None:
    judge(machines, name, by_ours(policy), data)


@law
@given(name=st.sampled_from(sorted(MACHINES)), data=st.data())
def test_what_upstream_allocates_is_prepared_or_refused_in_the_words_of_validate(
    machines: Machines, peer: Allocator, name: str, data: st.DataObject
) -> None:
    judge(machines, name, peer, data)
