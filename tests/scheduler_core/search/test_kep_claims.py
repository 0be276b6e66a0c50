"""KEP-4815's own claims: the MIG claim gives the KEP's answer; the TPU example is refused, then repaired."""

import copy

import pytest
import yaml

from scheduler_core.base.errors import SelectorError
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec.claims import decode_claim
from scheduler_core.codec.composite import decode_slice
from scheduler_core.codec.selections import write_selection
from scheduler_core.dialects.mixins import flatten
from scheduler_core.explain.allocate import allocate, allocate_somewhere, feasible_nodes
from scheduler_core.model.claim import DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Cause

MIG_CLASS = DeviceClass(
    name="mig.nvidia.com",
    selectors=("device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'",),
)


@pytest.fixture
def listing(kep):
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": "dgx"}, "nodeName": "dgx"} | kep("listing")
    return flatten([decode_slice({"metadata": {"name": "s"}, "spec": spec})])


def test_the_mig_claim_gets_the_partitions_that_the_kep_draws(kep, listing):
    claim = decode_claim(kep("mig-claim"))
    cluster = Cluster(pools=(listing,), classes={"mig.nvidia.com": MIG_CLASS})

    answer = allocate([claim], cluster, Node("dgx"))

    assert isinstance(answer, Allocation)
    assert {r.request: r.device.device for r in answer.results[claim.ref]} == {
        "mig-1g-5gb-0": "gpu-0-mig-1g.5gb-0",
        "mig-1g-5gb-1": "gpu-0-mig-1g.5gb-1",
        "mig-2g-10gb": "gpu-0-mig-2g.10gb-2-3",
        "mig-3g-20gb": "gpu-0-mig-3g.20gb-4-7",
    }


def test_the_kep_s_three_example_partitions_exclude_each_other_as_it_says(kep_text):
    devices = [
        *yaml.safe_load(kep_text("unrolled-gpu").replace("      ...\n", "      {}\n")),
        *yaml.safe_load(kep_text("unrolled-partitions").replace("      ...\n", "      {}\n")),
    ]
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": "n"}, "nodeName": "n", "devices": devices}
    ledger = Ledger(flatten([decode_slice({"metadata": {"name": "s"}, "spec": spec})]))

    ledger.take("gpu-0-mig-1g.5gb-0", "a")
    assert ledger.admits("gpu-0-mig-1g.5gb-1")
    assert not ledger.admits("gpu-0-mig-2g.10gb-0-1")
    assert not ledger.admits("gpu-0")


def test_the_simple_example_gives_four_quarters_or_the_whole(kep):
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": "n"}, "nodeName": "n"} | kep("simple-partitions")
    ledger = Ledger(flatten([decode_slice({"metadata": {"name": "s"}, "spec": spec})]))

    for part in range(4):
        ledger.take(f"gpu-0-partition-{part}", "a")
    assert not ledger.admits("gpu-0")


def test_the_mixin_example_flattens_to_four_plain_gpus(kep):
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": "n"}, "nodeName": "n"} | kep("mixins")
    flat = flatten([decode_slice({"metadata": {"name": "s"}, "spec": spec})])

    assert [device.name for device in flat.devices] == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
    assert all(len(device.attributes) == 10 and len(device.capacity) == 1 for device in flat.devices)


NODES = [Node(f"node-{i}", {"kubernetes.io/hostname": f"node-{i}"}) for i in range(1, 9)]
TPU_CLASS = DeviceClass(name="tpu.google.com", selectors=("device.driver == 'tpu.dra.example.com'",))


@pytest.fixture
def tpu_slice(kep_text):
    """The slice as printed: the two ellipses stand for a name."""
    text = (
        kep_text("tpu-slice")
        .replace("\n...\n", "\nmetadata: {name: tpu}\n")
        .replace("    ...\n", "    name: tpu\n")
    )
    return yaml.safe_load(text)


def test_the_tpu_slice_as_printed_is_refused_with_a_reason_per_device(tpu_slice):
    flat = flatten([decode_slice(tpu_slice)])

    assert flat.devices == ()
    reasons = {name: rejected.reason for name, rejected in flat.rejected.items()}
    assert set(reasons) == {
        "tpu-4x4-1",
        *(f"tpu-2x4-{i}" for i in (1, 2)),
        *(f"tpu-2x2-{i}" for i in range(1, 5)),
    }
    for name in ("tpu-4x4-1", "tpu-2x4-1", "tpu-2x4-2"):
        assert "'IN': must be one of In, NotIn" in reasons[name]
    for number in range(1, 5):
        assert "is unusable" in reasons[f"tpu-2x2-{number}"]


def test_with_the_operator_repaired_the_unknown_source_is_what_is_left(tpu_slice):
    flat = flatten([decode_slice(repaired(tpu_slice, REPAIRS[:1]))])

    reasons = {name: rejected.reason for name, rejected in flat.rejected.items()}
    assert reasons["tpu-4x4-1"] == "names unknown source 'tpu-4x8-1'"
    assert all("unknown source 'tpu-4x8-1'" in reason for reason in reasons.values())
    assert len(reasons) == 7


@pytest.mark.parametrize("name", ["tpu-claim-4x4", "tpu-claim-2x4"])
def test_the_tpu_claims_as_printed_do_not_compile_since_a_quantity_is_no_string(kep, tpu_slice, name):
    cluster = Cluster(pools=(flatten([decode_slice(tpu_slice)]),), classes={"tpu.google.com": TPU_CLASS})

    with pytest.raises(SelectorError, match="does not compile"):
        allocate([decode_claim(kep(name))], cluster, NODES[0])


# What has to change for the example to work, and nothing else.
REPAIRS = (
    ("slice: the operator IN is spelled In", "'IN'", "'In'"),
    ("slice: the 4x4 slice is the largest one here, it names no source", "tpu-4x8-1", None),
)
CLAIM_REPAIRS = (
    ("claim: capacities stand under the driver's domain", "'tpu.google.com'", "'tpu.dra.example.com'"),
    ("claim: a quantity is compared with a quantity", "== '8'", "== quantity('8')"),
)


def repaired(tpu_slice, repairs):
    fixed = copy.deepcopy(tpu_slice)
    for _, old, _ in repairs:
        for device in fixed["spec"]["devices"]:
            body = device["composite"]
            if old == "'IN'" and "nodeSelector" in body:
                body["nodeSelector"]["nodeSelectorTerms"][0]["matchExpressions"][0]["operator"] = "In"
            if old == "tpu-4x8-1" and body["consumesCapacityFrom"] == [{"name": old}]:
                del body["consumesCapacityFrom"]
    return fixed


def test_with_the_repairs_the_2x4_claim_gets_a_2x4_slice_and_the_selector_of_its_two_nodes(kep, tpu_slice):
    claim_object = kep("tpu-claim-2x4")
    cel = claim_object["spec"]["devices"]["requests"][0]["selectors"][0]["cel"]
    for _, old, new in CLAIM_REPAIRS:
        cel["expression"] = cel["expression"].replace(old, new)
    claim = decode_claim(claim_object)
    pool = flatten([decode_slice(repaired(tpu_slice, REPAIRS))])
    cluster = Cluster(pools=(pool,), classes={"tpu.google.com": TPU_CLASS})

    answer = allocate_somewhere([claim], cluster, NODES)

    assert isinstance(answer, Allocation)
    assert [r.device.device for r in answer.results[claim.ref]] == ["tpu-2x4-1"]
    (term,) = write_selection(answer.nodes[claim.ref])["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1", "node-2"]}
    ]
    assert feasible_nodes([claim], cluster, NODES).names == ("node-1", "node-2", "node-5", "node-6")


def test_a_node_without_a_tpu_is_told_so(kep, tpu_slice):
    claim_object = kep("tpu-claim-2x4")
    claim_object["spec"]["devices"]["requests"][0]["selectors"] = []
    pool = flatten([decode_slice(repaired(tpu_slice, REPAIRS))])
    cluster = Cluster(pools=(pool,), classes={"tpu.google.com": TPU_CLASS})

    answer = allocate([decode_claim(claim_object)], cluster, NODES[2])

    assert answer.cause is Cause.NO_MATCHING_DEVICE
