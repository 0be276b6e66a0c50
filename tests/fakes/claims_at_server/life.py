"""Steps on a small world in any order: what users, kubelets and kube-scheduler do, and writes that fail.

Laws draw lists of steps; each step is done where it is possible.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from hypothesis import strategies as st

from claims_at_server import device_class
from claims_at_server.world import World
from controller.plan.plans import Plan
from controller.run.ports import Why

KINDS: Final = (("half", 1), ("half", 2), ("gpu", 1), ("gpu", 2))
_FAILURES: Final = (
    None,
    (Why.UNKNOWN, True),
    (Why.UNKNOWN, False),
    (Why.OUTDATED, False),
    (Why.REFUSED, False),
)
_LONGEST_REST_S: Final = 61.0


def steps(*names: str) -> st.SearchStrategy[tuple[str, Any, Any]]:
    """Return the steps that every life has; pods have these names."""
    return st.one_of(
        st.tuples(st.sampled_from(("delete", "bind", "take away")), st.sampled_from(names), st.none()),
        st.tuples(st.sampled_from(("decide", "watch", "restart")), st.none(), st.none()),
        st.tuples(st.just("write"), st.none(), st.lists(st.sampled_from(_FAILURES), max_size=6)),
    )


class Life:
    """Steps on a world of two nodes with two GPUs. A test adds its own in ``happens``."""

    def __init__(self) -> None:
        self.world = World()
        for kind in ("gpu", "half"):
            self.world.server.put("DeviceClass", device_class(kind))
        self.world.add_nodes("node-a", "node-b")
        self.world.watch()
        self.world.pass_time(0)
        self.world.pass_time(3)
        self.plans: list[Plan] = []

    def step(self, what: str, name: str | None, value: Any) -> None:
        """Do a step. Shape: ``name`` of a pod, or of what the test's own steps are about."""
        world = self.world
        match what:
            case "decide":
                world.watch()
                self.plans += [*world.plans(), *world.coordinator.standing.plans]
                world.coordinator.standing.plans = []
            case "write" if self.plans:
                self._write(list(value))
            case "watch":
                world.watch()
            case "restart":
                self.plans.clear()
                world.restart()
            case _ if name is not None:
                self.happens(what, name, value)

    def happens(self, what: str, name: str, value: Any) -> None:
        """Do what users and kube-scheduler do with a pod whose claim has its name."""
        world = self.world
        is_there = name in world.server.pods()
        node = world.node_of(name) if is_there else None
        match what:
            case "delete" if is_there:
                world.server.drop("Pod", name)
            case "bind" if node is not None and not world.is_gated(name):
                world.bind(name, node)
            case "take away" if node is not None and not self.is_bound(name):
                world.give_back(name)

    def is_bound(self, name: str) -> bool:
        """Whether a pod has a node."""
        return bool(self.world.server.pods()[name]["spec"].get("nodeName"))

    def has_claim(self, name: str) -> bool:
        """Whether there is a claim of this name."""
        return name in self.world.server.objects.get("ResourceClaim", {})

    def finish(self) -> None:
        """Let everything that is under way end, and what was set aside be tried again."""
        for plan in self.plans:
            self.world.write(plan)
        self.plans.clear()
        for _ in range(3):
            self.world.pass_time(_LONGEST_REST_S)
            self.world.coordinator.wake()
            self.world.settle()

    def _write(self, failures: list[Any]) -> None:
        server = self.world.server
        server.failing = lambda: failures.pop() if failures else None
        self.world.write(self.plans.pop())
        server.failing = lambda: None


def check_holders(world: World) -> None:
    """No GPU is held as a whole and in halves, and none twice."""
    held: Counter[str] = Counter()
    for name in world.server.objects.get("ResourceClaim", {}):
        for device in world.devices_of(name):
            node, _, called = device.partition("/")
            kind, gpu, *_ = called.split("-")
            held[f"{node}/{gpu}"] += 2 if kind == "gpu" else 1
    assert all(count <= 2 for count in held.values()), held
