"""Which of many nodes a pod with amounts gets: the one with the fewest free GPUs that has the devices."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.placement.decide import DecidedPod, NoNode, PodDecider
from scheduler_core.frontends.pods.place import entered
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Cause
from scheduler_core.state.assignments import holder_of
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, DRIVER, claim, device, pool, request

GPU, RDMA = "nvidia.com/gpu", "koordinator.sh/rdma"
GPUS = f'device.attributes["{DRIVER}"].type == "gpu"'
MIGS = f'device.attributes["{DRIVER}"].type == "mig"'
HONORED = NodeTable(is_honored=True)


def node_pool(name, gpus=2, nics=2, per_switch=1):
    """A node whose GPUs can be cut in two, with NICs below the same switches."""
    devices = []
    for n in range(gpus):
        place = {"minor": n, "uuid": f"{name}-{n}", "pcieSwitch": f"s{n // per_switch}"}
        devices.append(device(f"gpu-{n}", attributes={"type": "gpu", **place}, slices=2))
        devices += [
            device(f"mig-{n}-{k}", sources=[f"gpu-{n}"], attributes={"type": "mig", **place}, slices=1)
            for k in range(2)
        ]
    for n in range(nics):
        place = {"minor": n, "pfPciAddress": f"{name}-pf{n}", "pcieSwitch": f"s{n // per_switch}"}
        devices.append(device(f"nic-{n}", attributes={"type": "nic", **place}, ports=1))
    return pool(*devices, node=name)


def cluster(*pools):
    state = ClusterState({ANY.name: ANY})
    for one in pools:
        state.set_pool(one)
    return state, PodDecider(Engine(state, FIRST_FIT))


def asks(amounts, hint=None, joint=None, name="p"):
    marks = {"device-allocate-hint": hint, "device-joint-allocate": joint}
    return ask_of(f"Pod default/{name}", amounts, {key: one for key, one in marks.items() if one})


def take(state, decider, ask, name):
    found = decider.decide(ask, lambda node: True, {})
    assert isinstance(found, DecidedPod)
    state.hold(entered(ask, found.placed, ClaimRef("default", name)))
    return found


def everywhere(node):
    return True


def test_whole_nodes_stay_free():
    state, decider = cluster(*(node_pool(name) for name in "abc"))
    nodes = [take(state, decider, asks({GPU: 1}), f"p{number}").node for number in range(4)]

    assert nodes == ["a", "a", "b", "b"]


def test_a_gpu_of_which_a_part_is_in_use_is_not_free():
    state, decider = cluster(node_pool("a"), node_pool("b"))
    engine = Engine(state, FIRST_FIT)
    part = engine.decide([claim(request("m", MIGS), name="part")], Node("b"))
    state.hold(
        AllocatedClaim(ref=ClaimRef("default", "part"), results=part.results[ClaimRef("default", "part")])
    )

    assert decider.decide(asks({GPU: 1}), everywhere, {}).node == "b"
    assert decider.decide(asks({GPU: 2}), everywhere, {}).node == "a"


def test_a_node_that_the_pod_may_not_run_on_is_passed_over_and_asked_only_if_it_may_have_the_devices():
    _, decider = cluster(node_pool("a", gpus=1), node_pool("b", gpus=4), node_pool("c", gpus=4))
    asked = []

    def admits(node):
        asked.append(node.name)
        return node.name != "b"

    assert decider.decide(asks({GPU: 3}), admits, {}).node == "c"
    assert asked == ["b", "c"]


def test_the_labels_of_a_node_are_told_to_the_caller():
    state, decider = cluster(node_pool("a"))
    state.set_node(Node("a", {"zone": "1"}))

    found = decider.decide(asks({GPU: 1}), lambda node: node.labels == {"zone": "1"}, {})

    assert found.node == "a"


def test_where_no_node_has_the_devices_each_says_what_it_lacks():
    state, decider = cluster(node_pool("a", gpus=0), node_pool("b", gpus=2), node_pool("c", gpus=4))
    take(state, decider, asks({GPU: 4}), "p")

    found = decider.decide(asks({GPU: 3}), everywhere, {})

    assert isinstance(found, NoNode)
    assert {name: (one.cause, one.detail) for name, one in found.refused.items()} == {
        "a": (Cause.NO_MATCHING_DEVICE, "the node has no matching gpu"),
        "b": (Cause.NO_MATCHING_DEVICE, "3 needed, 2 of 2 free"),
        "c": (Cause.INSUFFICIENT, "3 needed, 0 of 4 free"),
    }


def test_more_devices_than_a_claim_can_have_are_refused():
    _, decider = cluster(node_pool("a", gpus=33, nics=0, per_switch=33))

    found = decider.decide(asks({GPU: 33}), everywhere, {})

    assert found.refused["a"].cause is Cause.TOO_MANY_DEVICES
    assert "33 devices are asked for; a claim has at most 32" in found.refused["a"].detail


def test_a_table_of_partitions_that_comes_later_counts():
    _, decider = cluster(node_pool("a"))
    ask = asks({GPU: 1})

    assert isinstance(decider.decide(ask, everywhere, {"a": HONORED}), NoNode)
    assert decider.decide(ask, everywhere, {"a": NodeTable()}).node == "a"


def test_a_pod_that_fits_nowhere_fits_when_what_it_lacks_is_released():
    state, decider = cluster(node_pool("a", gpus=4, nics=1))
    first = take(state, decider, asks({RDMA: 100}), "first")
    assert isinstance(decider.decide(asks({GPU: 1, RDMA: 100}), everywhere, {}), NoNode)

    state.release(holder_of(entered(asks({RDMA: 100}), first.placed, ClaimRef("default", "first"))))

    assert decider.decide(asks({GPU: 1, RDMA: 100}), everywhere, {}).node == "a"


def test_a_pod_that_fits_nowhere_fits_when_a_node_publishes_what_it_lacks():
    state, decider = cluster(node_pool("a", gpus=4, nics=0))
    assert isinstance(decider.decide(asks({GPU: 1, RDMA: 100}), everywhere, {}), NoNode)

    state.set_pool(node_pool("a", gpus=4, nics=1))

    assert decider.decide(asks({GPU: 1, RDMA: 100}), everywhere, {}).node == "a"


def test_a_node_that_leaves_is_not_tried_and_one_that_comes_is():
    state, decider = cluster(node_pool("a"), node_pool("b"))
    decider.decide(asks({GPU: 1}), everywhere, {})
    gone = next(one for one in state.pools() if one.id.name == "a")

    state.remove_pool(gone.id)
    state.set_pool(node_pool("c", gpus=1))

    assert decider.decide(asks({GPU: 1}), everywhere, {}).node == "c"
    assert decider.decide(asks({GPU: 2}), everywhere, {}).node == "b"


amounts = st.sampled_from(({GPU: 1}, {GPU: 2}, {GPU: 2, RDMA: 1}, {RDMA: 1}, {RDMA: 100, GPU: 1}))
hints = st.sampled_from(
    (None, {"rdma": {"exclusivePolicy": "PCIeLevel"}}, {"gpu": {"exclusivePolicy": "DeviceLevel"}})
)
joints = st.sampled_from((None, {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}))
steps = st.lists(st.tuples(amounts, hints, joints, st.integers(0, 5)), min_size=1, max_size=14)


@settings(max_examples=60)
@given(steps, st.integers(0, 2**32))
def test_the_answer_is_the_fitting_node_with_the_fewest_free_gpus_whatever_happened_before(history, seed):
    """The oracle places the pod on every node by itself, and counts free GPUs by trying them one by one."""
    chance = Random(seed)
    pools = [
        node_pool(name, chance.randint(0, 4), chance.randint(0, 4), chance.randint(1, 2)) for name in "abcd"
    ]
    state, decider = cluster(*pools)
    held = []
    for number, (wanted, hint, joint, kept) in enumerate(history):
        ask = asks(wanted, hint, joint)
        found = decider.decide(ask, everywhere, {})
        expected = oracle(state, ask)
        assert (found.node if isinstance(found, DecidedPod) else None) == expected
        if isinstance(found, NoNode):
            assert set(found.refused) == set("abcd")
        else:
            taken = entered(ask, found.placed, ClaimRef("default", f"p{number}"))
            state.hold(taken)
            held.append(taken)
        while len(held) > kept:
            state.release(holder_of(held.pop(chance.randrange(len(held)))))


def oracle(state, ask):
    placer = PodPlacer(state)
    fitting = [name for name in "abcd" if isinstance(placer.place(ask, Node(name)), PlacedPod)]
    return min(fitting, key=lambda name: (free_gpus(state, name), name), default=None)


def free_gpus(state, name):
    """How many GPUs claims could have at once, by the engine's own count."""
    engine = Engine(state, FIRST_FIT)
    most = 0
    while engine.feasible_nodes([claim(request("g", GPUS, count=most + 1))], [Node(name)]).names:
        most += 1
    return most


def holdings(state):
    return [sorted(map(str, state.assignments.concerning([(DRIVER, name)]))) for name in "abcd"]


def test_a_pod_and_its_claims_come_to_one_node_that_has_both():
    _state, decider = cluster(node_pool("a", gpus=1), node_pool("b", gpus=3))
    two = claim(request("g", GPUS, count=2))

    found = decider.decide(asks({GPU: 1}), everywhere, {}, [two])

    assert found.node == found.beside.node == "b"
    devices = [one.device for one in found.beside.results[two.ref]]
    assert not {*devices} & {one for mine in found.placed.devices["gpu"] for one in mine}


def test_the_claim_chooses_first_where_the_amounts_took_what_it_needs():
    _state, decider = cluster(node_pool("a", gpus=2))
    first = claim(request("g", f'device.attributes["{DRIVER}"].minor == 0', GPUS))

    found = decider.decide(asks({GPU: 1}), everywhere, {}, [first])

    assert [str(one.device.device) for one in found.beside.results[first.ref]] == ["gpu-0"]
    assert [str(one.device) for mine in found.placed.devices["gpu"] for one in mine] == ["gpu-1"]


@pytest.mark.parametrize(
    ("gpus", "detail"), [(2, "fit one by one"), (1, "the pod's claims do not fit there")]
)
def test_a_node_that_has_not_both_says_so_and_nothing_is_held(gpus, detail):
    state, decider = cluster(node_pool("a", gpus=gpus))
    before = holdings(state)

    found = decider.decide(asks({GPU: 1}), everywhere, {}, [claim(request("g", GPUS, count=2))])

    assert detail in found.refused["a"].detail
    assert holdings(state) == before


def test_claims_beside_do_not_spoil_what_is_remembered_of_the_amounts():
    _, decider = cluster(node_pool("a", gpus=2))
    decider.decide(asks({GPU: 1}), everywhere, {}, [claim(request("g", GPUS, count=2))])

    assert decider.decide(asks({GPU: 1}), everywhere, {}).node == "a"


def test_an_error_in_a_claim_leaves_nothing_held():
    state, decider = cluster(node_pool("a", gpus=2))
    with pytest.raises(SelectorError):
        decider.decide(asks({GPU: 1}), everywhere, {}, [claim(request("g", "1 +"))])

    assert holdings(state) == [[], [], [], []]
