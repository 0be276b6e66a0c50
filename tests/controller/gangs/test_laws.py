"""Whatever fails and whoever restarts: at rest no group holds a part that is less than its minimum."""

from __future__ import annotations

from typing import Any

from claims_at_server.groups import add
from claims_at_server.life import KINDS, Life, check_holders, steps
from hypothesis import given, settings
from hypothesis import strategies as st

GROUPS = {"one": 2, "two": 3}
NAMES = tuple(f"{group}-{number}" for group in GROUPS for number in range(4))

own_steps = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(NAMES), st.sampled_from(KINDS)),
    st.tuples(st.just("create all"), st.sampled_from([*GROUPS]), st.sampled_from(KINDS)),
    st.tuples(st.just("fail"), st.sampled_from(NAMES), st.none()),
)


class LifeOfGroups(Life):
    """Pods of two groups; a pod's name begins with its group."""

    def happens(self, what: str, name: str, value: Any) -> None:
        server = self.world.server
        match what:
            case "create all":
                for one in NAMES:
                    if one.startswith(f"{name}-"):
                        self.happens("create", one, value)
            case "create" if name not in server.pods() and not self.has_claim(name):
                group, (kind, count) = name.partition("-")[0], value
                add(self.world, name, kind=kind, count=count, minimum=GROUPS[group], group=group)
            case "fail" if name in server.pods() and self.is_bound(name):
                server.put("Pod", {**server.pods()[name], "status": {"phase": "Failed"}})
            case _:
                super().happens(what, name, value)

    def is_over(self, name: str) -> bool:
        return bool(self.world.server.pods()[name].get("status", {}).get("phase"))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(own_steps, steps(*NAMES)), max_size=50))
def test_at_rest_a_group_has_its_minimum_or_holds_nothing_that_is_not_bound(script: list[Any]) -> None:
    life = LifeOfGroups()
    for step in script:
        life.step(*step)
        check_holders(life.world)
    life.finish()
    check_holders(life.world)
    world = life.world
    for group, minimum in GROUPS.items():
        mine = [
            name for name in world.server.pods() if name.startswith(f"{group}-") and not life.is_over(name)
        ]
        bound = [name for name in mine if life.is_bound(name)]
        holding = [name for name in mine if name not in bound and world.node_of(name)]
        assert not holding or len(bound) + len(holding) >= minimum, (group, holding, bound)
        assert not any(map(world.is_gated, holding)), "members with devices have lost their gate"
