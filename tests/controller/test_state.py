"""What a running controller says of itself."""

from __future__ import annotations

from typing import Any

from claims_at_server import claim
from claims_at_server import pod as a_pod
from claims_at_server.world import World

from controller.status import ControllerState
from daemon.status.last_errors import LastErrors


class Loop:
    """A loop that stands still. Shape: ``coordinator`` one of its own."""

    is_ready = True

    def __init__(self, coordinator: Any) -> None:
        self.coordinator, self.watched = coordinator, ()


def test_pods_that_wait_are_told_with_their_time_and_the_reason(world: World) -> None:
    world.server.put("ResourceClaim", claim("c", count=3))
    world.server.put("Pod", a_pod("p", "c"))
    world.settle()
    why = world.told("p")

    status = ControllerState(
        loop=Loop(world.coordinator),  # type: ignore[arg-type]  # of the loop only this is read
        driver="tangram.dev",
        identity="replica-1",
        errors=LastErrors(),
        is_leading=lambda: True,
        clock=lambda: world.coordinator.standing.now,
        began_at=0.0,
    ).status()

    (pod,) = status.json()["waiting"]
    assert (pod["namespace"], pod["name"]) == ("default", "p")
    assert pod["age_seconds"] >= 60
    assert why
    assert pod["why"] == why
    assert f"default/p: {why[:20]}" in status.text()
