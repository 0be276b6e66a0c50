"""Somebody else allocates devices of the controller: it is told once, never made worse, and heals."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

import pytest
from claims_at_server import DRIVER, claim, device_class, pod
from claims_at_server.world import World
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.metrics import Metrics
from controller.run.ports import Why
from controller.run.report import Report

_GPUS = ("node-a/gpu-0", "node-a/gpu-1", "node-b/gpu-0", "node-b/gpu-1")
_CLAIMS = ("c0", "c1", "c2", "c3")


def allocate(world: World, name: str, *devices: str) -> None:
    """Write an allocation, as somebody who asks nobody."""
    pairs = [one.split("/") for one in devices]
    results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": device} for pool, device in pairs]
    status = {"allocation": {"devices": {"results": results}}} if devices else {}
    world.server.put("ResourceClaim", {**claim(name, count=max(1, len(devices))), "status": status})


def ask(world: World, name: str, kind: str = "gpu", count: int = 1) -> None:
    world.server.put("ResourceClaim", claim(name, kind, count))
    world.server.put("Pod", pod(name, name))


def doubles(world: World) -> dict[str, set[str]]:
    """Return who holds each device that several claims hold, by what the server has."""
    held: dict[str, set[str]] = defaultdict(set)
    for name in world.server.objects.get("ResourceClaim", {}):
        for device in world.devices_of(name):
            held[device].add(name)
    return {device: names for device, names in held.items() if len(names) > 1}


def known_doubles(world: World) -> dict[str, set[str]]:
    found = world.coordinator.seen.doubles
    return {f"{one.pool}/{one.device}": {ref.name for ref in refs} for one, refs in found.items()}


def test_a_device_that_is_held_twice_is_told_once_with_both_claims(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics()
    report = Report(metrics, None, lambda: 0.0)
    ask(world, "ours")
    world.settle()
    (device,) = world.devices_of("ours")
    allocate(world, "foreign", device)
    world.settle()
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            report.state(world.coordinator, is_leading=True)
    (told,) = [one.getMessage() for one in caplog.records]
    assert "default/ours" in told
    assert "default/foreign" in told
    assert "tangram_controller_doubly_held_devices 1.0\n" in metrics.text()

    world.server.drop("ResourceClaim", "foreign")
    world.settle()
    report.state(world.coordinator, is_leading=True)
    assert "tangram_controller_doubly_held_devices 0.0\n" in metrics.text()


@pytest.mark.parametrize("first", ["ours", "foreign"])
def test_a_device_that_is_held_twice_is_given_to_nobody_before_both_are_gone(
    world: World, first: str
) -> None:
    ask(world, "ours")
    world.settle()
    (device,) = world.devices_of("ours")
    allocate(world, "foreign", device)
    for number in range(5):
        ask(world, f"more{number}")
    world.settle()
    given = [one for number in range(5) for one in world.devices_of(f"more{number}")]
    assert sorted([*given, device]) == list(_GPUS)

    second = {"ours": "foreign", "foreign": "ours"}[first]
    for name, is_free in ((first, False), (second, True)):
        if name == "ours":
            world.server.drop("Pod", "ours")
        else:
            world.server.drop("ResourceClaim", "foreign")
        world.settle()
        given = [one for number in range(5) for one in world.devices_of(f"more{number}")]
        assert (device in given) is is_free


def test_a_gpu_whose_half_is_held_by_somebody_else_is_given_neither_whole_nor_twice(world: World) -> None:
    ask(world, "ours")
    world.settle()
    (device,) = world.devices_of("ours")
    half = device.replace("gpu", "half") + "-0"
    allocate(world, "foreign", half)
    world.server.drop("Pod", "ours")
    for number in range(8):
        ask(world, f"more{number}", "half")
    world.settle()
    given = sorted(one for number in range(8) for one in world.devices_of(f"more{number}"))
    assert len(given) == len(set(given)) == 7
    assert half not in given


def test_a_double_that_our_own_refused_write_seemed_to_make_is_forgotten(world: World) -> None:
    ask(world, "ours")
    world.watch()
    (plan,) = world.plans()
    allocate(
        world, "foreign", *[str(one.device.pool) + "/" + one.device.device for one in plan.holds[0].results]
    )  # type: ignore[union-attr]
    world.server.failing = lambda: (Why.OUTDATED, False)
    world.write(plan)
    world.server.failing = lambda: None
    world.settle()
    assert known_doubles(world) == doubles(world) == {}


steps = st.one_of(
    st.tuples(st.sampled_from(_CLAIMS), st.lists(st.sampled_from(_GPUS), unique=True, max_size=3)),
    st.tuples(st.sampled_from(_CLAIMS), st.none()),
)


@settings(max_examples=50)
@given(st.lists(steps, max_size=30))
def test_the_doubles_that_are_known_are_those_at_the_server(script: list[Any]) -> None:
    world = World()
    for kind in ("gpu", "half"):
        world.server.put("DeviceClass", device_class(kind))
    world.add_nodes("node-a", "node-b")
    for name, devices in script:
        if devices is not None:
            allocate(world, name, *devices)
        elif name in world.server.objects.get("ResourceClaim", {}):
            world.server.drop("ResourceClaim", name)
        world.watch()
        assert known_doubles(world) == doubles(world)
