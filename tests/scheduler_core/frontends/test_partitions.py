"""Partitions: which one a pod gets, and what a table may not say."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.frontends.annotations.errors import InvalidNode
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.model.result import Cause

EIGHT = "0:0 1:0 2:0 3:0 4:1 5:1 6:1 7:1"


def rows(*minors, **more):
    return [{"minors": list(one), "gpuLinkType": "NVLink", **more} for one in minors]


HOPPER = {
    "1": rows(*([n] for n in range(8)), allocationScore=1),
    "2": rows([0, 1], [2, 3], [4, 5], [6, 7], allocationScore=1),
    "4": rows([0, 1, 2, 3], [4, 5, 6, 7], allocationScore=1),
    "8": rows(range(8), allocationScore=1),
}


def gpus(count):
    return {"nvidia.com/gpu": count}


@pytest.mark.parametrize(
    ("used", "count", "expected"),
    [((4,), 2, [6, 7]), ((4,), 1, [5]), ((2, 3), 2, [0, 1]), ((), 4, [0, 1, 2, 3]), ((0, 1, 2), 1, [3])],
)
def test_among_equal_scores_the_partition_that_leaves_most_whole_is_taken(machine, used, count, expected):
    node = machine(EIGHT, table=HOPPER, policy="Honor").use("gpu", *used)

    assert node.place(gpus(count)) == {"gpu": expected}


def test_honor_refuses_a_size_that_the_table_lacks_and_prefer_does_not(machine):
    honored = machine(EIGHT, table=HOPPER, policy="Honor").place(gpus(3))
    preferred = machine(EIGHT, table=HOPPER, policy="Prefer").place(gpus(3))

    assert honored.cause is Cause.NO_MATCHING_DEVICE
    assert "it has 1, 2, 4, 8" in honored.detail
    assert len(preferred["gpu"]) == 3


@pytest.mark.parametrize("listed", [[], None])
def test_a_size_that_the_table_names_without_partitions_is_none_that_it_has(machine, listed):
    node = machine(EIGHT, table={"1": rows([0]), "2": listed}, policy="Honor")

    refused = node.place(gpus(2))

    assert refused.detail == "the table of partitions has no partition of 2; it has 1"


TWO_SCORES = {"2": [*rows([0, 1], allocationScore=2), *rows([2, 3], allocationScore=1)]}


def test_the_highest_score_comes_first_and_a_restricted_pod_takes_no_other(machine):
    free = machine("0:0 1:0 2:0 3:0", table=TWO_SCORES, policy="Honor")
    used = machine("0:0 1:0 2:0 3:0", table=TWO_SCORES, policy="Honor").use("gpu", 0)

    assert free.place(gpus(2)) == {"gpu": [0, 1]}
    assert used.place(gpus(2)) == {"gpu": [2, 3]}
    assert isinstance(used.place(gpus(2), spec={"allocatePolicy": "Restricted"}), JointRefusal)


def test_a_partition_of_unknown_bandwidth_never_serves_a_pod_that_names_one(machine):
    table = {"2": [*rows([0, 1]), *rows([2, 3], ringBusBandwidth="400Gi")]}
    node = machine("0:0 1:0 2:0 3:0", table=table, policy="Honor")

    assert node.place(gpus(2), spec={"ringBusBandwidth": "400Gi"}) == {"gpu": [2, 3]}
    assert isinstance(node.place(gpus(2), spec={"ringBusBandwidth": "401Gi"}), JointRefusal)


def test_one_gpu_without_a_figure_serves_any_bandwidth_for_it_has_no_ring(machine):
    table = {"1": [*rows([0], ringBusBandwidth="100Gi", allocationScore=2), *rows([1])], "2": rows([0, 1])}
    node = machine("0:0 1:0", table=table, policy="Honor")

    assert node.place(gpus(1), spec={"ringBusBandwidth": "200Gi"}) == {"gpu": [1]}
    assert node.place(gpus(1), spec={"ringBusBandwidth": "100Gi"}) == {"gpu": [0]}
    assert isinstance(node.place(gpus(2), spec={"ringBusBandwidth": "1"}), JointRefusal)


@pytest.mark.parametrize(
    ("figures", "spec", "used", "parts"),
    [
        ([{}, {}], {"ringBusBandwidth": "200Gi"}, (), ["none of the 2 partitions of 2 states a", "200Gi"]),
        (
            [{"ringBusBandwidth": "100Gi"}, {}],
            {"ringBusBandwidth": "200Gi"},
            (),
            ["none of the 2 partitions of 2 has a ringBusBandwidth above 100Gi", "200Gi is demanded"],
        ),
        (
            [{"ringBusBandwidth": "100Gi", "allocationScore": 7}, {"ringBusBandwidth": "400Gi"}],
            {"ringBusBandwidth": "200Gi", "allocatePolicy": "Restricted"},
            (),
            ["none of the partition of 2 with the highest score, 7, which Restricted demands", "above 100Gi"],
        ),
        (
            [{"ringBusBandwidth": "400Gi"}, {"ringBusBandwidth": "100Gi"}],
            {"ringBusBandwidth": "200Gi"},
            (0,),
            ["no suitable partition of 2 is free", "ringBusBandwidth of 200Gi", "have less"],
        ),
        (
            [{"allocationScore": 7}, {"allocationScore": 1}],
            {"allocatePolicy": "Restricted"},
            (0,),
            ["no suitable partition of 2 is free", "Restricted", "only partitions with a lower one are"],
        ),
    ],
)
def test_a_refusal_names_the_bandwidth_or_the_score_that_is_in_the_way(machine, figures, spec, used, parts):
    table = {"2": [*rows([0, 1], **figures[0]), *rows([2, 3], **figures[1])]}
    node = machine("0:0 1:0 2:0 3:0", table=table, policy="Honor").use("gpu", *used)

    refused = node.place(gpus(2), spec=spec)

    assert isinstance(refused, JointRefusal)
    assert all(part in refused.detail for part in parts), refused.detail


def test_a_partition_goes_where_its_nics_are_when_nothing_else_decides(machine):
    joint = {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}
    node = machine(EIGHT, "6:1 7:1", table=HOPPER, policy="Honor")

    found = node.place({"nvidia.com/gpu": 2, "koordinator.sh/rdma": 1}, joint=joint)

    assert found == {"gpu": [6, 7], "rdma": [0, 1]}


def test_a_part_of_a_gpu_never_comes_from_the_table(machine):
    assert machine(EIGHT, policy="Honor").place({"koordinator.sh/gpu": 50}) == {"gpu": [0]}


def test_a_table_without_scores_gets_them_from_what_each_partition_leaves():
    table = table_of("Node n", {"2": rows([0, 1], [1, 2]), "1": rows([0], [3]), "3": rows([1, 2, 3])})

    assert table.is_computed
    assert [one.score for one in table.by_size[1]] == [2, 1]
    assert any("computed" in one for one in table.warnings)


def test_other_spellings_of_the_proposal_are_read_with_a_warning():
    table = table_of(
        "Node n", {"1": [{"minors": [0], "ringAllReduceBandwidth": "400Gi", "allocationScore": "1"}]}
    )

    assert table.by_size[1][0].score == 1
    assert table.by_size[1][0].bandwidth.whole == 400 * 2**30
    assert len(table.warnings) == 2


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ({"two": []}, ["two", "a whole number, at least 1"]),
        ({"0": []}, ["'0'"]),
        ({"2": rows([0])}, ["2[0].minors", "must have 2 members"]),
        ({"1": rows([9])}, ["1[0].minors[0]", "9", "it has 0, 1"]),
        ({"1": rows([-1])}, ["1[0].minors[0]", "-1", "not negative"]),
        ({"2": rows([0, 0])}, ["2[0].minors[1]", "twice"]),
        ({"1": rows([0], [0])}, ["1[1].minors", "twice"]),
        ({"1": [{"NVLINK": {"minors": [0]}}]}, ["1[0].NVLINK"]),
        ({"1": rows([0], allocationScore=-1)}, ["1[0].allocationScore", "-1"]),
        ({"1": rows([0], allocationScore=1.5)}, ["1[0].allocationScore", "1.5"]),
        ({"1": rows([0], ringBusBandwidth="fast")}, ["1[0].ringBusBandwidth", "'fast'"]),
        ({"1": [{"minors": [0], "gpuLinkType": "PCI"}]}, ["1[0].gpuLinkType", "'PCI'", "NVLink"]),
        ({"1": rows([0], ringBusBandwidth="1", ringAllReduceBandwidth="1")}, ["ringAllReduceBandwidth"]),
    ],
)
def test_a_bad_table_is_refused_with_the_place_of_its_mistake(table, parts):
    with pytest.raises(InvalidNode) as refusal:
        table_of("Node n", json.dumps(table), [0, 1])

    assert str(refusal.value).startswith("Node n: annotation scheduling.koordinator.sh/gpu-partitions")
    assert all(part in str(refusal.value) for part in parts)


PRINTED = """{
  "1": [
      "NVLINK": {
          {
            # Which GPUs are included
            "minors": [
                0
            ],
            "gpuLinkType": "NVLink",
            "ringBusBandwidth": 400Gi
            "allocationScore": "1",
          },
      }
  ]
}"""


def test_the_listing_of_the_proposal_is_no_json_and_is_refused_loudly():
    with pytest.raises(InvalidNode, match="is not JSON at line 3 column 15"):
        table_of("Device node-1", PRINTED)


@settings(max_examples=100, deadline=None)
@given(st.sets(st.integers(0, 7)), st.sampled_from([1, 2, 3, 4, 8]))
def test_honor_gives_a_partition_whenever_one_is_free(machine, used, count):
    found = machine(EIGHT, table=HOPPER, policy="Honor").use("gpu", *used).place(gpus(count))

    whole = [one["minors"] for one in HOPPER.get(str(count), []) if not used & set(one["minors"])]
    assert (found["gpu"] in whole) if whole else isinstance(found, JointRefusal)


@settings(max_examples=100, deadline=None)
@given(st.sets(st.integers(0, 7)), st.sets(st.integers(0, 7)), st.sampled_from([1, 2, 4]))
def test_a_partition_with_all_its_nics_is_found_whenever_there_is_one(machine, used, without, count):
    nics = " ".join(text for number, text in enumerate(EIGHT.split()) if number not in without)
    joint = {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}
    node = machine(EIGHT, nics, table=HOPPER, policy="Honor").use("gpu", *used)

    found = node.place({"nvidia.com/gpu": count, "koordinator.sh/rdma": 1}, joint=joint)

    good = [one["minors"] for one in HOPPER[str(count)] if not (used | without) & set(one["minors"])]
    assert (found["gpu"] in good) if good else isinstance(found, JointRefusal)
