"""In any order of events no device has two holders, and in the end every pod that fits is served."""

from __future__ import annotations

from typing import Any

from claims_at_server import claim, machine, node, pod
from claims_at_server.life import KINDS, Life, check_holders, steps
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decide.question import Question, question_of
from scheduler_core.model.nodes import Node

_NAMES = ("p0", "p1", "p2", "p3", "p4")
_BOTH = ("half", 2)
"""Pods with this claim have another one beside it."""
_NODES = ("node-a", "node-b")

own_steps = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(_NAMES), st.sampled_from([*KINDS, ("gpu", 3)])),
    st.tuples(st.just("drop claims"), st.sampled_from(_NAMES), st.none()),
    st.tuples(
        st.sampled_from(("node is gone", "node", "no slices", "their node")),
        st.sampled_from(_NODES),
        st.none(),
    ),
)


class LifeOfPods(Life):
    """Pods with one or two claims each."""

    def happens(self, what: str, name: str, value: Any) -> None:
        world, server = self.world, self.world.server
        is_there, claims = name in server.pods(), (name, f"{name}-too")
        match what:
            case "create" if not is_there and not any(map(self.has_claim, claims)):
                server.put("ResourceClaim", claim(name, *value))
                server.put("ResourceClaim", claim(f"{name}-too", "half"))
                server.put("Pod", pod(name, *claims) if value == _BOTH else pod(name, name))
            case "drop claims" if not is_there:
                for one in filter(self.has_claim, claims):
                    if world.node_of(one) is None:
                        server.drop("ResourceClaim", one)
            case "node is gone" | "node" | "no slices" | "their node":
                self._node(what, name)
            case _:
                super().happens(what, name, value)

    def _node(self, what: str, name: str) -> None:
        """Delete a node, make it, take its slices, or give it to kube-scheduler."""
        server = self.world.server
        if what == "node is gone":
            if name in server.objects["Node"]:
                server.drop("Node", name)
        else:
            is_ours = what != "their node"
            server.put("Node", node(name) if is_ours else {"metadata": {"name": name}})
        for one in machine(name, taints=what != "their node"):
            called = one["metadata"]["name"]
            if what in ("node", "their node"):
                server.put("ResourceSlice", one)
            elif called in server.objects["ResourceSlice"]:
                server.drop("ResourceSlice", called)


@settings(max_examples=300)
@given(st.lists(st.one_of(own_steps, steps(*_NAMES)), max_size=60))
def test_no_device_has_two_holders_and_what_fits_is_served(script: list[Any]) -> None:
    life = LifeOfPods()
    for step in script:
        life.step(*step)
        check_holders(life.world)
    life.finish()
    check_holders(life.world)
    world = life.world
    for name, stored in world.server.pods().items():
        nodes_of_pod = {world.node_of(one["resourceClaimName"]) for one in stored["spec"]["resourceClaims"]}
        assert len(nodes_of_pod) == 1, "all claims of a pod are on one node, or none has devices"
        if world.node_of(name) is not None:
            assert not world.is_gated(name)
            assert stored["metadata"]["uid"] in {
                one["uid"] for one in world.server.claim(name)["status"]["reservedFor"]
            }
        else:
            uid = stored["metadata"]["uid"]
            against = world.coordinator.standing.against.get(uid, {})
            question = question_of(world.coordinator.seen.waiting[uid], world.coordinator.seen)
            assert isinstance(question, Question)
            engine = world.coordinator.allocator.engine
            claims = [one.asked for one in question.wanted]
            seen = world.coordinator.seen
            usable = [one for one in _NODES if one in seen.nodes and seen.owned.is_settled(one)]
            nodes = [Node(one) for one in usable if one not in against]
            assert engine.feasible_nodes(claims, nodes).names == (), f"{name} fits"
