"""Annotated claims: joint allocation and partitions for the requests of ResourceClaims."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.claims.annotated_claims import allocate_marked, marks_of
from scheduler_core.frontends.claims.claim_demands import Marks
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import PartitionSpec, table_of
from scheduler_core.frontends.pods.hints import Joint
from scheduler_core.model.claim import MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.model.result import Allocation, Cause
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

ROOT = "resource.kubernetes.io/pcieRoot"
NUMA = "resource.kubernetes.io/numaNode"
JOINT = Joint(("gpu", "nic"))
SAME = Joint(("gpu", "nic"), is_same_pcie=True)


def of(kind):
    return f'device.attributes["{DRIVER}"].kind == "{kind}"'


def placed(kind, number, scope, numa=0):
    attributes = {"kind": kind, "minor": number, "rail": number % 2, ROOT: scope, NUMA: numa}
    return device(f"{kind}-{number}", attributes=attributes)


def ask(gpus, nics=1, **more):
    return claim(request("gpu", of("gpu"), count=gpus), request("nic", of("nic"), count=nics), **more)


def answer(wanted, devices, joint=JOINT, *, used=(), table=None, spec=None):
    cluster = Cluster(pools=(pool(*devices),), classes={"any": ANY}, allocated=(held(*used),) if used else ())
    return allocate_marked(
        [wanted], {wanted.ref: Marks(joint, spec)}, Engine.of(cluster, FIRST_FIT), NODE, table
    )


def names(found, wanted):
    return [one.device.device for one in found.results[wanted.ref]]


def test_the_second_request_follows_the_first_and_grows_with_its_scopes():
    wanted = ask(2)
    devices = [placed(kind, n, f"pci{n}") for kind in ("gpu", "nic") for n in range(3)]

    assert names(answer(wanted, devices), wanted) == ["gpu-0", "gpu-1", "nic-0", "nic-1"]


def test_the_claims_own_constraints_hold_beside_the_annotation():
    rail = MatchAttribute(qualified("rail", DRIVER), ())
    wanted = ask(2, constraints=[rail])
    devices = [placed(kind, n, f"pci{n}") for kind in ("gpu", "nic") for n in range(4)]

    assert names(answer(wanted, devices, SAME), wanted) == ["gpu-0", "gpu-2", "nic-0", "nic-2"]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 2), max_size=4),
    st.lists(st.integers(0, 2), max_size=4),
    st.integers(1, 3),
)
def test_same_pcie_is_met_whenever_it_can_be(gpus, nics, count):
    wanted = ask(count)
    devices = [placed("gpu", n, f"pci{scope}") for n, scope in enumerate(gpus)]
    devices += [placed("nic", n, f"pci{scope}") for n, scope in enumerate(nics)]

    found = answer(wanted, devices, SAME)

    served = [scope for scope in gpus if scope in nics]
    assert isinstance(found, Allocation) == (len(served) >= count)


TABLE = table_of("Node n", {"2": [{"minors": [0, 1]}, {"minors": [2, 3]}], "4": [{"minors": [0, 1, 2, 3]}]})


def only_gpus(count):
    return claim(request("gpu", of("gpu"), count=count))


@pytest.mark.parametrize(
    ("used", "count", "expected"),
    [
        ((), 2, ["gpu-0", "gpu-1"]),
        (("gpu-1",), 2, ["gpu-2", "gpu-3"]),
        ((), 4, [f"gpu-{n}" for n in range(4)]),
    ],
)
def test_a_claim_on_a_node_that_honors_its_table_gets_a_partition(used, count, expected):
    wanted = only_gpus(count)
    devices = [placed("gpu", n, f"pci{n}") for n in range(4)]

    found = answer(wanted, devices, None, used=used, table=NodeTable(table=TABLE, is_honored=True))

    assert names(found, wanted) == expected


@pytest.mark.parametrize(
    ("used", "count", "cause"),
    [((), 3, Cause.NO_MATCHING_DEVICE), (("gpu-0", "gpu-2"), 2, Cause.INSUFFICIENT)],
)
def test_what_is_no_free_partition_is_refused_with_the_cause(used, count, cause):
    wanted = only_gpus(count)
    devices = [placed("gpu", n, f"pci{n}") for n in range(4)]
    honored = NodeTable(table=TABLE, is_honored=True)

    assert answer(wanted, devices, None, used=used, table=honored).cause is cause
    preferred = answer(wanted, devices, None, used=used, table=NodeTable(table=TABLE))
    assert isinstance(preferred, Allocation)


def test_a_partition_spec_binds_whatever_the_node_says():
    wanted = only_gpus(3)
    devices = [placed("gpu", n, f"pci{n}") for n in range(4)]

    found = answer(wanted, devices, None, table=NodeTable(table=TABLE), spec=PartitionSpec())

    assert found.cause is Cause.NO_MATCHING_DEVICE


def test_marks_of_a_claim_name_its_requests():
    text = json.dumps({"deviceTypes": ["gpu", "disk"]})
    obj = {
        "metadata": {
            "name": "c",
            "annotations": {"scheduling.koordinator.sh/device-joint-allocate": text},
        },
        "spec": {"devices": {"requests": [{"name": "gpu"}, {"name": "nic"}]}},
    }

    with pytest.raises(InvalidPod, match="'disk': must be one of gpu, nic"):
        marks_of(obj)


def test_a_hint_on_a_claim_is_refused_since_claims_have_their_own_words():
    name = "scheduling.koordinator.sh/device-allocate-hint"

    with pytest.raises(InvalidPod, match="is for pods"):
        marks_of({"metadata": {"name": "c", "annotations": {name: "{}"}}, "spec": {}})
