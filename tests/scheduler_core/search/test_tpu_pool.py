"""KEP-4815's pool of 64 TPUs on 16 nodes: slices of slices, four good answers, and node selectors."""

import pytest

from scheduler_core.books.ledgers import ledgers_of
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.mixins import flatten
from scheduler_core.explain.allocate import allocate_somewhere
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Matching, Node
from scheduler_core.model.result import Allocation, Cause
from scheduler_core.state.testing import claim, request

DRIVER = "tpu.example.com"
NODES = [Node(f"node-{n}", {"kubernetes.io/hostname": f"node-{n}"}) for n in range(1, 17)]
GOOD = ({1, 2, 5, 6}, {3, 4, 7, 8}, {9, 10, 13, 14}, {11, 12, 15, 16})  # the KEP's four answers


def block(row, column, height, width):
    """Return the nodes of a block; each node holds 2x2 TPUs, four nodes make a row."""
    return {4 * r + c + 1 for r in range(row, row + height) for c in range(column, column + width)}


SHAPES = {"8x8": (4, 4), "4x8": (2, 4), "4x4": (2, 2), "2x4": (1, 2), "2x2": (1, 1)}
BLOCKS = {
    f"tpu-{shape}-{min(block(r, c, h, w))}": block(r, c, h, w)
    for shape, (h, w) in SHAPES.items()
    for r in range(0, 4, h)
    for c in range(0, 4, w)
}
ORDER = list(SHAPES)


def parent(name):
    """Return the next larger block around one."""
    shape = name.split("-")[1]
    if shape == "8x8":
        return None
    larger = ORDER[ORDER.index(shape) - 1]
    return next(other for other in BLOCKS if other.split("-")[1] == larger and BLOCKS[other] >= BLOCKS[name])


def device(name):
    hosts = [f"node-{n}" for n in sorted(BLOCKS[name])]
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": hosts}]}
    body = {
        "nodeSelector": {"nodeSelectorTerms": [term]},
        "attributes": {"shape": {"string": name.split("-")[1]}},
        "capacity": {"tpus": {"quantity": str(4 * len(hosts))}},
    }
    if parent(name):
        body["consumesCapacityFrom"] = [{"name": parent(name)}]
    return {"name": name, "composite": body}


@pytest.fixture(scope="module")
def pool():
    spec = {"driver": DRIVER, "pool": {"name": "tpu"}, "nodeSelectionDelegated": True}
    devices = [device(name) for name in BLOCKS]
    flat = flatten([decode_slice({"metadata": {"name": "tpu"}, "spec": spec | {"devices": devices}})])
    assert not flat.rejected
    assert len(flat.devices) == 1 + 2 + 4 + 8 + 16
    return flat


def wanted(tpus, name="c"):
    return claim(request("tpus", f"device.capacity['{DRIVER}'].tpus == quantity('{tpus}')"), name=name)


def test_the_4x4_claim_has_exactly_the_four_answers_and_a_fifth_is_refused(pool):
    held: list[AllocatedClaim] = []
    found = []
    for number in range(5):
        cluster = Cluster(pools=(pool,), classes={"any": DeviceClass(name="any")}, allocated=tuple(held))
        asked = wanted(16, f"c{number}")
        answer = allocate_somewhere([asked], cluster, NODES)
        if isinstance(answer, Allocation):
            found.append(BLOCKS[answer.results[asked.ref][0].device.device])
            held.append(AllocatedClaim(ref=asked.ref, results=answer.results[asked.ref]))

    assert sorted(found, key=min) == sorted(GOOD, key=min)
    assert answer.cause is Cause.INSUFFICIENT


def test_the_answer_s_node_selector_names_its_four_nodes(pool):
    cluster = Cluster(pools=(pool,), classes={"any": DeviceClass(name="any")})
    asked = wanted(16)

    answer = allocate_somewhere([asked], cluster, NODES)

    selection = answer.nodes[ClaimRef("default", "c")]
    assert isinstance(selection, Matching)
    (requirement,) = selection.requirements
    assert requirement.key == "kubernetes.io/hostname"
    assert {int(value.removeprefix("node-")) for value in requirement.values} == GOOD[0]


def test_one_busy_2x2_removes_the_blocks_around_it_and_no_other(pool):
    (ledger,) = ledgers_of([pool], [])
    ledger.take("tpu-2x2-7", "busy")

    gone = {name for name in BLOCKS if not ledger.admits(name)}

    assert gone == {"tpu-2x2-7", "tpu-2x4-7", "tpu-4x4-3", "tpu-4x8-1", "tpu-8x8-1"}
    assert gone == {name for name, nodes in BLOCKS.items() if 7 in nodes}
