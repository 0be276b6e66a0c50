"""What a pod that waits is told: one sentence over all nodes, which begins as kube-scheduler's do."""

from __future__ import annotations

import pytest
from claims_at_server import DRIVER, TAINT, claim, device_class, machine, node, pod
from claims_at_server.reader import ask
from claims_at_server.world import World

from controller.decide.reasons import NodesAlike
from scheduler_core.frontends.configuration.preparable import ONE_DAEMON
from scheduler_core.model.ownership import AMOUNTS, CLAIM

BEGINS = "nodes with devices are available: "


@pytest.fixture
def world() -> World:
    """Two nodes of two GPUs, and classes of whole GPUs, halves, and devices that only node-b has."""
    made = World()
    for kind in ("gpu", "half", "card"):
        made.server.put("DeviceClass", device_class(kind))
    made.add_nodes("node-a", "node-b")
    settled(made)
    return made


def settled(world: World) -> None:
    """Let the controller own the nodes that came."""
    world.watch()
    world.pass_time(0)
    world.pass_time(3)


def told(world: World, name: str) -> str:
    world.settle()
    return world.told(name)


def ask_by_amounts(world: World, name: str, gpus: int) -> None:
    wanted = pod(name, f"{name}-amounts")
    amounts = f'{{"koordinator.sh/gpu": "{gpus * 100}"}}'
    wanted["metadata"]["annotations"] = {CLAIM: f"{name}-amounts", AMOUNTS: amounts}
    world.server.put("Pod", wanted)


def test_it_counts_the_nodes_and_names_one_of_several(world: World) -> None:
    ask(world, "p", count=3)
    assert told(world, "p") == (
        f"0/2 {BEGINS}on 2 nodes (such as node-a) request r of claim default/p needs 3 devices, "
        "and only 2 match"
    )


def test_a_node_that_is_alone_in_a_reason_is_named(world: World) -> None:
    world.server.put("Node", node("node-b", cpu="1"))
    ask(world, "p", count=3, cpu="2")
    assert told(world, "p") == (
        f"0/2 {BEGINS}on node node-a request r of claim default/p needs 3 devices, and only 2 match; "
        "1 node had too little cpu"
    )


def test_what_is_lacking_goes_on_without_the_name_of_a_node(world: World) -> None:
    counters, devices = machine("node-c")
    card = {"name": "card", "attributes": {"type": {"string": "card"}, "gpu": {"int": 0}}, "taints": [TAINT]}
    devices["spec"]["devices"].append(card)
    for document in (counters, devices):
        world.server.put("ResourceSlice", document)
    world.server.put("Node", node("node-c", cpu="1"))
    settled(world)
    ask(world, "p", kind="card", cpu="2")
    sentence = told(world, "p")
    lacking = "on 2 nodes (such as node-a) request r of claim default/p matches no device: card 'device"
    assert sentence.startswith(f"0/3 {BEGINS}{lacking}")
    assert sentence.endswith("; 1 node had too little cpu")


def test_amounts_name_the_devices_that_cannot_be_had(world: World) -> None:
    ask_by_amounts(world, "p", 3)
    lacking = "on 2 nodes (such as node-a) the gpu devices cannot be had: 3 needed, 2 of 2 free"
    assert told(world, "p") == f"0/2 {BEGINS}{lacking}"


def test_amounts_of_a_cluster_without_devices_name_the_driver() -> None:
    empty = World()
    ask_by_amounts(empty, "p", 1)
    assert told(empty, "p") == f"no node has devices of driver {DRIVER}"


@pytest.mark.parametrize("count", [1, 2])
def test_reasons_of_rules_read_alike_for_one_node_and_for_several(count: int) -> None:
    nodes = "1 node" if count == 1 else "2 nodes"
    assert str(NodesAlike(count=count, why="had too little cpu")) == f"{nodes} had too little cpu"


@pytest.mark.parametrize("count", [1, 2])
def test_what_no_plugin_would_prepare_is_not_allocated(world: World, count: int) -> None:
    parameters = {"apiVersion": f"{DRIVER}/v1alpha1", "kind": "GpuConfig", "sharing": {"strategy": "MPS"}}
    asked = claim("c", count=count)
    asked["spec"]["devices"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
    world.server.put("ResourceClaim", asked)
    world.server.put("Pod", pod("p", "c"))

    sentence = told(world, "p")

    assert (world.node_of("c") is None) == world.is_gated("p") == (ONE_DAEMON in sentence) == (count == 2)


@pytest.mark.parametrize(
    ("uses", "is_refused"),
    [
        ([{"name": "one"}, {"name": "two"}], True),
        ([{"name": "one"}], False),
        ([{"name": "one", "request": "r"}, {"name": "two", "request": "r"}], True),
    ],
)
def test_a_container_that_would_get_several_daemons_gets_no_devices(
    world: World, uses: list[dict[str, str]], is_refused: bool
) -> None:
    parameters = {"apiVersion": f"{DRIVER}/v1alpha1", "kind": "GpuConfig", "sharing": {"strategy": "MPS"}}
    for name in ("one", "two"):
        asked = claim(name)
        asked["spec"]["devices"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
        world.server.put("ResourceClaim", asked)
    wanted = pod("p", "one", "two")
    entries = [{"name": name, "resourceClaimName": name} for name in ("one", "two")]
    wanted["spec"] |= {
        "resourceClaims": entries,
        "initContainers": [{"name": "first", "resources": {"claims": uses}}],
    }
    world.server.put("Pod", wanted)

    sentence = told(world, "p")

    assert (world.node_of("one") is None) == world.is_gated("p") == is_refused
    assert ("container first gets several devices under MPS" in sentence) == is_refused


TABLE = "scheduling.koordinator.sh/gpu-partitions"
POLICY = "node.koordinator.sh/gpu-partition-policy"


@pytest.mark.parametrize(
    ("policy", "table", "parts"),
    [
        ("Honor", '{"2": [{"minors": [0, 1]}, {"minors": [2]}]}', [TABLE, "2[1].minors", "2 members"]),
        ("Prefer", '{"1": [{"minors": [0], "score": 1}]}', [TABLE, "1[0].score"]),
        ("Honor", "{", [TABLE, "is not JSON"]),
        ("honor", '{"1": [{"minors": [0]}]}', [f"metadata.labels.{POLICY}", "'honor'", "Honor, Prefer"]),
        ("honor", None, [f"metadata.labels.{POLICY}", "'honor'"]),
    ],
)
def test_a_table_or_policy_that_cannot_be_read_withholds_the_gpus_of_its_node(
    world: World, policy: str, table: str | None, parts: list[str]
) -> None:
    """Such a table counted as none, and with it the rule that nothing outside the table may be used."""
    for name in ("node-a", "node-b"):
        bad = node(name, **{POLICY: policy})
        bad["metadata"]["annotations"] = {} if table is None else {TABLE: table}
        world.server.put("Node", bad)
    ask_by_amounts(world, "p", 1)

    text = told(world, "p")

    assert "on node node-a the gpu devices cannot be had: the GPUs are withheld: Node default/node-a" in text
    assert all(part in text for part in parts), text

    world.server.put("Node", node("node-b"))
    world.settle()
    assert world.devices_of("p-amounts") == ["node-b/gpu-0"]
