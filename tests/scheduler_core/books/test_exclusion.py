"""Mutual exclusion: the proposal's own examples, its four modes in both forms, and what is reported."""

from itertools import combinations
from pathlib import Path

import pytest
import yaml

from scheduler_core.base.features import Features
from scheduler_core.books.matrix import contradictions, matrix
from scheduler_core.codec import composite, v1
from scheduler_core.dialects import mixins
from scheduler_core.dialects.layout import Layout
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node, OnNode
from scheduler_core.state.testing import claim, request

EXAMPLES = Path(__file__).parents[2] / "data" / "exclusion"
DRIVER = "device.example.com"


def read(name):
    """Read an example; what it leaves out is: a pool on every node, and a capacity to share."""
    text = (EXAMPLES / f"{name}.yaml").read_text()
    text = text.replace("\n...\n", "\nmetadata: {name: example}\n").replace(
        "        ...\n", "        memory: {value: 10Gi, requestPolicy: {default: 1Gi}}\n"
    )
    document = yaml.safe_load(text)
    document["spec"] |= {"driver": DRIVER, "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": True}
    return document


def pool_of(document):
    (pool,) = v1.pools([v1.decode_slice(document)])
    assert pool.problem is None
    assert not pool.rejected
    return pool


def test_the_gpu_example_decodes_allocates_and_encodes_unchanged():
    document = read("gpu-example")
    pool = pool_of(document)
    cluster = Cluster(pools=(pool,), classes={"any": DeviceClass(name="any")})
    wanted = claim(request("r", f"device.attributes['{DRIVER}'].partitioningMode == 'MPSSharing'"))

    answer = allocate([wanted], cluster, Node("node-7"), lambda: "a-share")
    (again,) = v1.encode_pool(pool, Layout.TOGETHER)

    (result,) = answer.results[wanted.ref]
    assert (result.device.device, result.share_id) == ("gpu-0-mps-0", "a-share")
    assert {key: str(amount) for key, amount in result.consumed.items()} == {"memory": "1Gi"}
    assert answer.nodes[wanted.ref] == OnNode("node-7"), "bindsToNode narrows the result to the chosen node"
    assert again["spec"]["devices"] == document["spec"]["devices"]
    assert again["spec"]["sharedCounters"] == document["spec"]["sharedCounters"]


def test_the_groups_example_means_what_its_comments_say():
    found = matrix(pool_of(read("groups-example")))

    together = {pair for pair in combinations(found.devices, 2) if found.allows(*pair)}
    assert together == {("gpu-1-foo-part", "gpu-1-bar-part")}
    assert "sharing no" not in found.obstacles["gpu-1", "gpu-1-mig1"]
    assert "gpu-1-cs has too little multiprocessors left" in found.obstacles["gpu-1", "gpu-1-mig1"]
    assert "shares no compatibility group" in found.obstacles["gpu-1-mig1", "gpu-1-foo-part"]


# The proposal's four modes: what it says may stand beside what.
MODES = ("exclusive", "software-a", "software-b", "hardware")
SENTENCES = {("software-a", "software-b"), *((mode, mode) for mode in MODES[1:])}


def four_modes(declare):
    devices = [
        {"name": f"{mode}-{number}", "attributes": {"mode": {"string": mode}}} | declare(mode)
        for mode in MODES
        for number in range(1 if mode == "exclusive" else 2)
    ]
    sets = [{"name": "chip", "counters": {"units": {"value": "8"}}}]
    spec = {
        "driver": DRIVER,
        "pool": {"name": "p"},
        "allNodes": True,
        "sharedCounters": sets,
        "devices": devices,
    }
    return pool_of({"metadata": {"name": "s"}, "spec": spec})


def draws(mode, **more):
    amount = "8" if mode == "exclusive" else "1"
    return {"consumesCounters": [{"counterSet": "chip", "counters": {"units": {"value": amount}}} | more]}


def by_groups(mode):
    groups = {"software-a": ["software"], "software-b": ["software"], "hardware": ["hardware"]}
    return draws(mode, **({"compatibilityGroups": groups[mode]} if mode in groups else {}))


def by_expressions(mode):
    allowed = {
        "exclusive": "false",
        "software-a": f"device.attributes['{DRIVER}'].mode.startsWith('software')",
        "software-b": f"device.attributes['{DRIVER}'].mode.startsWith('software')",
        "hardware": f"device.attributes['{DRIVER}'].mode == 'hardware'",
    }
    return draws("none") | {"compatibleOnlyWith": {"expression": allowed[mode]}}


@pytest.mark.parametrize("declare", [by_groups, by_expressions])
def test_the_matrix_of_the_four_modes_equals_the_proposal_s_sentences_in_both_forms(declare):
    pool = four_modes(declare)

    found = matrix(pool)

    for one, other in combinations(found.devices, 2):
        modes = tuple(name.rsplit("-", 1)[0] for name in (one, other))
        assert found.allows(one, other) == (modes in SENTENCES), (one, other)
    assert contradictions(pool) == ()


def test_in_the_shipped_meaning_a_device_without_groups_goes_only_with_its_like():
    pool = four_modes(lambda mode: draws("none") if mode == "hardware" else by_groups(mode))

    ours = matrix(pool)
    shipped = matrix(pool, Features(groups="kep-5963"))

    assert ours.allows("software-a-0", "hardware-0")
    assert not shipped.allows("software-a-0", "hardware-0")
    assert shipped.allows("hardware-0", "hardware-1")


def with_expressions(**expressions):
    devices = [
        {"name": name, "attributes": {"name": {"string": name}}, "compatibleOnlyWith": {"expression": text}}
        for name, text in expressions.items()
    ]
    spec = {"driver": DRIVER, "pool": {"name": "p"}, "allNodes": True, "devices": devices}
    return pool_of({"metadata": {"name": "s"}, "spec": spec})


def test_an_expression_that_judges_one_way_only_is_reported():
    pool = with_expressions(a="true", b=f"device.attributes['{DRIVER}'].name != 'a'")

    assert contradictions(pool) == ("a accepts b, which refuses a",)


BROKEN = {"device.attributes[": "Syntax error", "1": "must evaluate to bool", "device.nope": "nope"}


@pytest.mark.parametrize(("expression", "reason"), BROKEN.items())
@pytest.mark.parametrize("is_composite", [False, True])
def test_a_device_whose_expression_does_not_compile_is_unusable_and_named(expression, reason, is_composite):
    bodies = {"a": {"compatibleOnlyWith": {"expression": expression}}, "b": {}}
    devices = [
        {"name": name} | ({"composite": body} if is_composite else body) for name, body in bodies.items()
    ]
    spec = {"driver": DRIVER, "pool": {"name": "p"}, "allNodes": True, "devices": devices}
    codec, pools = (composite, mixins.pools) if is_composite else (v1, v1.pools)

    (pool,) = pools([codec.decode_slice({"metadata": {"name": "s"}, "spec": spec})])

    assert [device.name for device in pool.devices] == ["b"]
    assert "compatibleOnlyWith.expression" in pool.rejected["a"].reason
    assert reason in pool.rejected["a"].reason
    assert contradictions(pool) == (f"a is left out: {pool.rejected['a'].reason}",)


def test_an_expression_that_fails_on_a_device_is_reported_and_stands_beside_no_such_device():
    pool = with_expressions(a=f"device.attributes['{DRIVER}'].absent == 'x'", b="true")

    (sentence, *_) = contradictions(pool)
    assert sentence.startswith("a refuses b, because its expression fails: selector")
    assert not matrix(pool).allows("a", "b")


def test_groups_that_join_what_an_expression_parts_are_reported():
    pool = four_modes(lambda mode: by_groups(mode) | ({"compatibleOnlyWith": {"expression": "false"}}))

    assert (
        "software-a-0 and software-a-1 share group software, but an expression refuses the pair"
        in contradictions(pool)
    )


@pytest.mark.parametrize("name", ["only-with-full", "only-with-modes"])
def test_the_proposal_s_patterns_are_read_with_their_bare_strings(name):
    devices = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    spec = {"driver": DRIVER, "pool": {"name": "p"}, "allNodes": True, "devices": devices}

    (device,) = pool_of({"metadata": {"name": "s"}, "spec": spec}).devices

    assert device.attributes[f"{DRIVER}/physicalDevice"] == "dev-0"
    assert device.only_with is not None
