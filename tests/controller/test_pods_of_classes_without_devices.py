"""A pod that asks for a resource class which no pod can get has the reason in its condition."""

from __future__ import annotations

from typing import Any

import pytest
from claims_at_server import pod
from claims_at_server.world import World

from controller.run.classes import ResourceClasses
from scheduler_core.model.ownership import AMOUNTS, CLAIM


def class_object(key: str, *values: str) -> dict[str, Any]:
    entry = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    metadata = {"name": "huge", "generation": 1}
    return {"kind": "ResourceClass", "metadata": metadata, "spec": {"resourceSelector": [entry]}}


class Site:
    """A controller with a resource class, and a pod that asks for one device of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._classes = ResourceClasses(world.coordinator.seen, lambda: 0.0, lambda: "2026-01-01T00:00:00Z")

    def set_class(self, document: dict[str, Any] | None) -> None:
        self.world.coordinator.take(self._classes.changed("huge", document))

    def ask(self) -> None:
        asking = dict(pod("p", "p-devices"))
        asking["metadata"]["annotations"] = {AMOUNTS: '{"class.tangram.dev/huge": "1"}', CLAIM: "p-devices"}
        self.world.server.put("Pod", asking)
        self.world.settle()


@pytest.fixture
def site(world: World) -> Site:
    return Site(world)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            class_object("Kind", "huge-pages"),
            "ResourceClass huge: Kind huge-pages: Tangram publishes no such devices",
        ),
        (
            class_object("Kind"),
            "ResourceClass huge: spec.resourceSelector[0].matchExpressions[0].values: []: ",
        ),
        (
            class_object("model", *("m" * 200 + str(n) for n in range(99))),
            "cannot be written as a DeviceClass",
        ),
        (None, "'huge': no ResourceClass has this name"),
    ],
    ids=["kinds that nothing publishes", "unreadable", "too long", "missing"],
)
def test_the_pods_condition_says_why(site: Site, document: dict[str, Any] | None, message: str) -> None:
    site.set_class(document)
    site.ask()

    assert message in site.world.told("p")


def test_the_pod_gets_devices_when_another_class_of_the_name_selects_some(site: Site) -> None:
    site.set_class(class_object("Kind", "huge-pages"))
    site.ask()
    assert "huge-pages" in site.world.told("p")

    site.set_class(None)
    site.set_class(class_object("type", "gpu"))
    site.world.settle()

    assert site.world.devices_of("p-devices")


def test_devices_that_have_such_a_kind_after_all_are_allocated(site: Site) -> None:
    site.set_class(class_object("type", "gpu"))
    site.world.coordinator.seen.unserved_classes["huge"] = "of a kind that nothing publishes"

    site.ask()

    assert site.world.devices_of("p-devices")
