"""MultiNodePools with ``-f``: what they become, on which nodes, and what keeps them from being published."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pool_server import PoolServer, publisher_of

from scheduler_core.codec.documents import Document
from scheduler_core.frontends.objects import decode_objects

DRIVER = "tpu.example.com"
NOW = "2026-01-01T00:00:00Z"


def pool(*devices, name="rack", driver=DRIVER, **spec):
    return {
        "apiVersion": "tangram.dev/v1alpha1",
        "kind": "MultiNodePool",
        "metadata": {"name": name},
        "spec": {"driver": driver, "devices": list(devices), **spec},
    }


def device(name, *sources, cores=None, **body):
    body |= {"consumesCapacityFrom": [{"name": one} for one in sources]} if sources else {}
    body |= {} if cores is None else {"capacity": {"cores": {"quantity": str(cores)}}}
    return {
        "name": name,
        "composite": body if {"nodeName", "nodeSelector"} & body.keys() else {**body, "allNodes": True},
    }


def labelled(key, *values):
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def node(name, **labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def claim(cores, name="want", **status):
    expression = f'device.capacity["{DRIVER}"].cores.compareTo(quantity("{cores}")) == 0'
    request = {"deviceClassName": "tpu", "selectors": [{"cel": {"expression": expression}}]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": request}]}},
        **status,
    }


CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "tpu"}, "spec": {}}


@pytest.fixture
def file(written):
    return lambda *documents: written("objects.yaml", yaml.safe_dump_all(documents))


def split(**body):
    """A device of two nodes that is cut into one on each."""
    return (
        device("whole", cores=2, nodeSelector=labelled("example.com/rack", "a"), **body),
        device("part-1", "whole", cores=1, nodeName="n1"),
        device("part-2", "whole", cores=1, nodeName="n2"),
    )


# What is shown is what the controller publishes


def published(objects, driver="tangram.dev"):
    server = PoolServer()
    at_server = [{**one, "metadata": {**one["metadata"], "uid": "u"}} for one in objects]
    publisher_of(server, driver).turn(at_server, NOW)
    return [one["spec"] for one in server.documents()]


def bodies(draws):
    cores = st.integers(min_value=0, max_value=3)
    names = st.lists(st.sampled_from(["a", "b", "c.d", "e"]), unique=True, min_size=1, max_size=4)
    listed = []
    for name in draws(names):
        sources = draws(st.lists(st.sampled_from(["a", "b", "c.d", "gone"]), unique=True, max_size=2))
        includes = draws(st.lists(st.sampled_from(["m", "n", "gone"]), unique=True, max_size=1))
        one = device(name, *sources, cores=draws(st.none() | cores))
        one["composite"] |= {"includes": [{"name": each} for each in includes]} if includes else {}
        listed.append(one)
    return listed


@given(st.data())
def test_a_pool_in_a_file_becomes_the_slices_that_the_controller_publishes(data):
    mixins = [
        {
            "name": name,
            "composite": {"capacity": {"cores": {"quantity": "1"}}, "attributes": {"k": {"string": name}}},
        }
        for name in ("m", "n")
    ]
    objects = [pool(*bodies(data.draw), name=name, deviceMixins=mixins) for name in ("x", "y")]

    tried = decode_objects(Document(f"f:{place}", one) for place, one in enumerate(objects)).multi_node

    assert [one["spec"] for each in tried for one in each.slices] == published(objects)
    assert [each.is_mistaken for each in tried] == [isinstance(each.problem, str) for each in tried]


def test_slices_are_printed_under_the_names_and_labels_that_they_will_have(tangram, examples):
    shown = tangram("show", "-f", examples / "multi-node/gpus.yaml", "--as", "v1", "--json").json
    objects = [yaml.safe_load((examples / "multi-node/gpus.yaml").read_text())]

    assert [one["spec"] for one in shown] == [
        {
            **spec,
            **({"devices": [without_taint(one) for one in spec["devices"]]} if "devices" in spec else {}),
        }
        for spec in published(objects)
    ]
    assert [one["metadata"]["labels"] for one in shown] == [{"tangram.dev/multi-node-pool": "gpus"}] * 2
    assert json.loads(shown[1]["metadata"]["annotations"]["tangram.dev/members"])["two-gpus-1"] == {
        "node-1": [0, 1]
    }


def without_taint(one):
    return {key: value for key, value in one.items() if key != "taints"}


# The devices, and their nodes


def test_the_shipped_pool_is_shown_with_its_nodes(tangram, examples):
    (shown,) = tangram("show", "-f", examples / "multi-node/tpus.yaml", "--json").json

    assert shown["pool"] == {"driver": DRIVER, "name": "multi-node/tpus"}
    assert {row["what"]: (len(row["names"]), row["nodes"]) for row in shown["devices"]} == {
        "tpus 64": (1, "16: node-1 … node-16"),
        "tpus 32": (2, "8 each of node-1 … node-16"),
        "tpus 16": (4, "4 each of node-1 … node-16"),
        "tpus 8": (8, "2 each of node-1 … node-16"),
        "tpus 4": (16, "1 each of node-1 … node-16"),
    }
    assert [one["form"] for one in shown["sizes"]] == ["composite", "v1", "v1-1.34"]


def test_the_shipped_pool_is_tried_as_the_page_says(tangram, examples, file):
    tpus, pods = examples / "multi-node/tpus.yaml", examples / "multi-node/deployment.yaml"
    nodes = file(*(node(f"node-{n}", **{"kubernetes.io/hostname": f"node-{n}"}) for n in range(1, 17)))

    assert "0 errors, 0 warnings" in tangram("validate", "-f", tpus).out
    answer = tangram("allocate", "-f", tpus, "-f", nodes, "-f", pods)
    assert (answer.status, answer.err, "tpu-2x4-1" in answer.out) == (0, "", True)


def test_labels_are_judged_by_the_nodes_of_the_files(tangram, file):
    nodes = [node("n1", **{"example.com/rack": "a"}), node("n2", **{"example.com/rack": "b"})]

    shown = tangram("show", "-f", file(pool(*split()), *nodes))

    assert shown.status == 0
    assert next(line for line in shown.out.splitlines() if "cores 2" in line).split()[-2:] == ["n1", "whole"]
    assert shown.err == ""


def test_without_the_nodes_the_devices_are_shown_and_what_is_missing_is_said(tangram, file):
    shown = tangram("show", "-f", file(pool(*split())))

    assert (shown.status, "part-1 … part-2" in shown.out) == (0, True)
    assert "1 of 3 devices can be used from no node that is known here" in shown.err
    assert "whole from nodes with example.com/rack=a" in shown.err


def test_a_node_that_no_file_has_is_named(tangram, file):
    given = file(pool(*split()), node("n1", **{"example.com/rack": "a"}), CLASS, claim(2))

    for command in ("show", "allocate"):
        assert "devices name n2, and no file has a Node of that name" in tangram(command, "-f", given).err


@pytest.mark.parametrize("command", ["allocate", "explain"])
def test_a_claim_gets_the_device_of_several_nodes(tangram, file, command):
    nodes = [node(name, **{"example.com/rack": "a"}) for name in ("n1", "n2")]

    answer = tangram(command, "-f", file(pool(*split()), CLASS, claim(2), *nodes))

    assert answer.status == 0
    assert "whole" in answer.out


def test_a_device_is_explained_on_a_node_from_which_it_can_be_used(tangram, file):
    given = file(pool(*split()), CLASS, claim(2), node("n1", **{"example.com/rack": "a"}))

    answer = tangram("explain", "-f", given, "--why-not", "part-2")

    assert "its cores is 1" in answer.out


def test_a_pool_that_takes_several_slices_is_shown_and_allocated_whole(tangram, file):
    parts = (device(f"p{number}", "all", cores=1, nodeName=f"n{number}") for number in range(100))
    given = file(pool(device("all", cores=100), *parts), CLASS, claim(100))

    (shown,) = tangram("show", "-f", given, "--json").json
    assert [one["slices"] for one in shown["sizes"]][:2] == [1, 3]
    assert sum(len(row["names"]) for row in shown["devices"]) == 101
    assert tangram("allocate", "-f", given, "--json").devices == ["all"]


def test_what_a_claim_has_keeps_its_parts_from_others(tangram, file):
    result = {"request": "r", "driver": DRIVER, "pool": "multi-node/rack", "device": "part-2"}
    held = claim(1, "held", status={"allocation": {"devices": {"results": [result]}}})
    nodes = [node(name, **{"example.com/rack": "a"}) for name in ("n1", "n2")]

    def answer(cores):
        return tangram("allocate", "-f", file(pool(*split()), CLASS, held, claim(cores), *nodes), "--json")

    assert answer(2).status == 1
    assert answer(1).devices == ["part-1"]


def test_where_no_node_is_known_the_refusal_says_which_are_missing(tangram, file):
    alone = device("whole", cores=2, nodeSelector=labelled("example.com/rack", "a"))

    answer = tangram("allocate", "-f", file(pool(alone), CLASS, claim(2)))

    assert answer.status == 2
    assert "nodes with example.com/rack=a" in answer.err


# Mistakes and conflicts


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        ((device("a", "gone", cores=1),), "names unknown source 'gone'"),
        ((device("a", includes=[{"name": "gone"}]),), "includes unknown mixin 'gone'"),
        ((device("a"), device("a")), "names must be unique"),
        ((device("a", compatibleOnlyWith={"expression": "true"}),), "v1 has no field"),
        (({"name": "a", "composite": {}},), "must have one of nodeName"),
    ],
)
def test_a_mistake_keeps_the_whole_pool_back_everywhere(tangram, file, devices, reason):
    given = file(pool(*devices, device("good", nodeName="n1")), CLASS, claim(1))

    for command in ("show", "validate", "allocate", "explain"):
        answer = tangram(command, "-f", given)
        assert answer.status == 2, command
        assert reason in answer.out + answer.err


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"metadata": {}},
        {"metadata": {"name": "Big"}, "spec": {}},
        {"metadata": {"name": "x"}, "spec": []},
    ],
)
def test_an_object_that_cannot_be_read_is_one_message(tangram, file, content):
    given = file({"apiVersion": "tangram.dev/v1alpha1", "kind": "MultiNodePool", **content})

    answer = tangram("show", "-f", given)

    assert (answer.status, len(answer.err.splitlines())) == (2, 1)
    assert tangram("validate", "-f", given).status == 2


def test_the_object_counts_and_not_the_slices_that_its_pool_has_now(tangram, file):
    (before,) = tangram("show", "-f", file(pool(device("old", nodeName="n1"))), "--as", "v1", "--json").json

    answer = tangram("show", "-f", file(pool(device("new", nodeName="n1")), before), "--json")

    (shown,) = answer.json
    assert [row["names"] for row in shown["devices"]] == [["new"]]
    assert shown["generation"] == 2
    assert (
        "its pool replaces the ResourceSlices of its name: multi-node.rack.tpu.example.com-00" in answer.err
    )
    same = tangram("show", "-f", file(pool(device("old", nodeName="n1")), before))
    assert (same.status, same.err) == (0, "")


def test_a_mistake_leaves_what_was_published_before(tangram, file):
    (before,) = tangram("show", "-f", file(pool(device("old", nodeName="n1"))), "--as", "v1", "--json").json

    answer = tangram("show", "-f", file(pool(device("new", "gone", cores=1)), before), "--json")

    assert answer.status == 2
    assert [row["names"] for row in answer.json[0]["devices"]] == [["old"]]
    assert "names unknown source 'gone'" in answer.err


def gpus(*minors, name="pair", nodes=("a100x2", "other")):
    text = {"string": ",".join(map(str, minors))}
    ends = [
        device(f"on-{one}", "both", cores=1, nodeName=one, attributes={"gpuMinors": text}) for one in nodes
    ]
    return pool(device("both", cores=2), *ends, name=name, driver="tangram.dev")


def test_a_gpu_that_its_node_publishes_cannot_be_allocated_in_the_pool(tangram, file):
    for form in ("v1", "composite"):
        slices = tangram("show", "--node", "a100x2", "--as", form, "--json").json
        both = claim(2)
        both["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [
            {"cel": {"expression": 'device.attributes["tangram.dev"].type == "multi-node-gpus"'}}
        ]

        def answer(command, pools, slices=slices, both=both):
            return tangram(command, "-f", file(*pools, CLASS, both, *slices))

        waiting = answer("allocate", [gpus(1)])
        assert waiting.status == 1
        assert "node a100x2 still publishes device gpu-1" in waiting.err
        assert "still publishes device gpu-1" in answer("validate", [gpus(1)]).out
        free = answer("allocate", [gpus(5)])
        assert free.status == 0
        assert "whether the GPUs are free on other is not known" in free.err


def test_a_gpu_is_in_one_pool_only(tangram, file):
    given = file(gpus(0, name="first"), gpus(0, 1, name="second"))

    assert "GPU 0 of node a100x2 is in MultiNodePool first already" in tangram("show", "-f", given).err
    judged = tangram("validate", "-f", given)
    assert (judged.status, "is in MultiNodePool first already" in judged.out) == (2, True)


def test_a_published_pool_of_gpus_does_not_change(tangram, file):
    before = tangram("show", "-f", file(gpus(0)), "--as", "v1", "--json").json

    answer = tangram("show", "-f", file(gpus(1), *before), "--as", "v1", "--json")

    assert answer.json == before
    assert "cannot change while they are published" in answer.err


def test_which_driver_is_ours_can_be_said(tangram, file):
    mine = gpus(0)
    mine["spec"]["driver"] = "gpu.nvidia.com"

    theirs = tangram("show", "-f", file(mine), "--json").json
    ours = tangram("show", "-f", file(mine), "--driver-name", "gpu.nvidia.com", "--json").json

    assert [row["kind"] for row in theirs[0]["devices"]] == ["device", "device"]
    assert {row["kind"] for row in ours[0]["devices"]} == {"multi-node-gpus"}
    slices = file(*tangram("show", "--node", "a100x2", "--as", "v1", "--json").json)
    idle = tangram("show", "-f", slices, "--driver-name", "gpu.nvidia.com")
    assert (idle.status, idle.out) == (2, "")
    assert "--driver-name: 'gpu.nvidia.com': has no effect with --file" in idle.err


# The slices are judged too


def test_a_device_of_the_pool_that_can_never_be_allocated_is_reported(tangram, file):
    given = file(pool(device("a", cores=1), device("b", "a", cores=2)))

    judged = tangram("validate", "-f", given, "--json")

    (found,) = judged.json["findings"]
    assert "draws 2 of cores from a, which has 1: it can never be allocated" in found["text"]
    assert found["subject"].startswith("ResourceSlice multi-node.rack")


def test_claims_are_compared_with_the_devices_of_the_pool(tangram, file):
    wanted = claim(2)
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "other.example.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d", "attributes": {"k": {"int": 1}}}],
        },
    }

    def findings(*pools):
        return tangram("validate", "-f", file(CLASS, wanted, slice_, *pools), "--json").json["findings"]

    assert "has the capacity tpu.example.com/cores" in findings()[0]["text"]
    assert findings(pool(*split())) == []
