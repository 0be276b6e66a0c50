"""``tangram simulate``: traces of every format, the figures of policies, and the chart."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
import yaml

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT
from scheduler_core.frontends.occupancy import meter as meters
from scheduler_core.frontends.occupancy import room
from scheduler_core.frontends.occupancy.meter import GpuMeter
from scheduler_core.frontends.occupancy.values import Availability
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.planning.engine_holds import EngineHolds
from scheduler_core.planning.kinds import EVERY_DEVICE, kinds_of
from scheduler_core.planning.simulation import Arrival
from scheduler_core.state.cluster_state import ClusterState
from tangram.hardware import AllMachines
from tangram.planning.nodes import Added, added_pools
from tangram.planning.times import duration
from tangram.planning.traces import reading

ROOT = Path(__file__).parents[2]
ON = ("simulate", "--add", "1=a100x2")


@pytest.fixture
def simulated(tangram, written):
    """Replay a trace on two GPUs and return what best-fit makes of it."""

    def replay(text, *more, name="trace.csv"):
        answer = tangram(*ON, "--trace", written(name, text), *more, "--json")
        assert answer.status == 0, answer.err
        return answer.json["policies"]["best-fit"]

    return replay


def test_waits_and_refusals_of_a_trace_are_those_of_its_times(simulated):
    trace = "arrival,duration,profile,count\n100,50,gpu,2\n110,20,1g.5gb,\n120,30,gpu,1\n"

    waits, gives_up = simulated(trace), simulated(trace, "--patience", "35")

    assert (waits["placed"], waits["late"], waits["waitMostS"]) == (3, 2, 40.0)
    assert (gives_up["placed"], gives_up["refused"]) == (2, 1)


def test_csv_and_json_lines_say_the_same(simulated):
    rows = [
        {"arrival": 0, "duration": 60, "profile": "3g.20gb", "count": 2, "namespace": "team-a"},
        {"arrival": 30, "class": "gpu.tangram.dev"},
    ]
    table = "arrival,duration,profile,class,count,namespace\n0,60,3g.20gb,,2,team-a\n30,,,gpu.tangram.dev,,\n"

    assert simulated("\n".join(map(json.dumps, rows)), name="trace.jsonl") == simulated(table)


def test_a_trace_may_name_claims_of_files(simulated, examples):
    """The claim takes one of two GPUs whole, so the third arrival waits."""
    trace = "arrival,duration,claim\n0,100,mig-devices\n1,100,default/mig-devices\n2,10,mig-devices\n"

    assert simulated(trace, "--claim", examples / "mig-claim.yaml")["late"] == 1


def test_nodes_are_chosen_by_their_labels_as_tangram_plan_chooses_them(tangram, shipped, written):
    """One slice for the nodes of rack a: without the labels of the nodes nobody would get its GPUs."""
    published = tangram("show", "--machine", shipped("a100x2"), "--as", "v1").out
    in_rack_a = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}]}
    objects = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"rack": rack}}}
        for name, rack in (("n1", "a"), ("n2", "b"))
    ]
    for one in yaml.safe_load_all(published):
        del one["spec"]["nodeName"]
        one["spec"]["nodeSelector"] = {"nodeSelectorTerms": [in_rack_a]}
        objects.append(one)
    file = written("rack.yaml", yaml.safe_dump_all(objects))
    trace = written("trace.csv", "arrival,profile\n0,gpu\n1,gpu\n2,gpu\n")

    simulated = tangram("simulate", "-f", file, "--trace", trace, "--json").json
    planned = tangram("plan", "-f", file, "--json").json

    assert {name: one["placed"] for name, one in simulated["policies"].items()} == {
        "best-fit": 2,
        "first-fit": 2,
    }
    (gpus,) = [one for one in planned["room"] if one["kind"] == "gpu"]
    assert [(one["node"], one["count"]) for one in gpus["nodes"]] == [("n1", 2), ("n2", 0)]


def test_a_decision_log_is_replayed_with_its_waits_and_ends(simulated):
    spec = {
        "devices": {
            "requests": [{"name": "g", "exactly": {"deviceClassName": "gpu.tangram.dev", "count": 2}}]
        }
    }

    def decided(at, name, result, waited):
        claims = [{"claim": f"team-a/{name}", "spec": spec}]
        return {
            "at": at,
            "waited_s": waited,
            "pod": f"team-a/{name}",
            "uid": name,
            "result": result,
            "claims": claims,
        }

    log = [
        decided(1000.0, "first", "Placed", 0.0),
        decided(1010.0, "second", "Refused", 10.0),
        {"at": 1060.0, "result": "Freed", "claim": "team-a/first"},
        decided(1060.5, "second", "Placed", 60.5),
        {"at": 1100.5, "result": "Freed", "claim": "team-a/second"},
    ]

    found = simulated("\n".join(map(json.dumps, log)), name="decisions.jsonl")

    assert (found["placed"], found["late"], found["never"]) == (2, 1, 0)
    assert found["waitMostS"] == 60.0


COLUMNS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)
OPENB = f"""{COLUMNS}
pod-1,12000,16384,1,1000,,LS,Running,0,1000,0
pod-2,6000,12288,1,460,,LS,Running,100,1000,100
pod-3,6000,12288,1,110,V100M16|V100M32,BE,Running,100,200,150
pod-4,20000,65536,0,0,,LS,Running,150,900,152
pod-5,88000,327680,2,1000,,LS,Pending,160,170,
"""


def test_alibabas_trace_asks_for_gpus_and_for_the_smallest_profiles(tangram, written):
    answer = tangram(*ON, "--trace", written("openb.csv", OPENB), "--policy", "best-fit", "--json")

    assert answer.json["arrivals"] == 4
    assert answer.json["notes"] == [
        "1 pods without a GPU are left out",
        "1 pods ask for types of GPUs: here they take any",
    ]
    found = answer.json["policies"]["best-fit"]
    assert (found["placed"], found["late"], found["waitMostS"]) == (4, 1, 840.0)
    in_use = [one["inUse"] for one in found["samples"]]
    assert in_use[0] == 0.5
    assert max(in_use) == pytest.approx((8 + 4 + 1) / 16)  # a GPU, 4g.20gb for 460 of 1000, 1g.5gb for 110


def test_best_fit_refuses_no_more_than_first_fit_on_a_mix_and_the_same_each_time(tangram):
    asked = (
        "simulate",
        "--add",
        "2=a100x2",
        "--mix",
        "large",
        "--arrivals",
        "300",
        "--patience",
        "0",
        "--json",
    )

    first, again = tangram(*asked).json, tangram(*asked).json

    assert first == again
    found = first["policies"]
    assert found["best-fit"]["refused"] <= found["first-fit"]["refused"]
    assert all(one["placed"] + one["refused"] == 300 for one in found.values())


def test_the_chart_has_a_line_for_each_policy_in_each_panel(tangram, tmp_path):
    file = tmp_path / "chart.svg"

    tangram(*ON, "--mix", "small", "--arrivals", "50", "--svg", file)

    lines = [one for one in ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}polyline")]
    assert [one.get("class") for one in lines if "line" in one.get("class")] == ["line p0", "line p1"] * 3
    for one in lines:
        across = [float(point.split(",")[0]) for point in one.get("points").split()]
        assert all(left <= right for left, right in pairwise(across)) or one.get("class") == "axis"


@pytest.mark.parametrize("limit", [room.LIMIT, 3])
def test_use_and_fragmentation_are_those_of_tangram_top(limit, monkeypatch):
    """Also where few answers are kept, so that they are counted again."""
    for module in (room, meters):
        monkeypatch.setattr(module, "LIMIT", limit)
    pools = list(added_pools([Added(2, "a100x2")], AllMachines(), "tangram.dev"))
    state = ClusterState({EVERY_DEVICE.name: EVERY_DEVICE})
    for pool in pools:
        state.set_pool(pool)
    chance = Random(3)
    asks = [(one.claim(ClaimRef("n", one.name)),) for one in kinds_of(pools, ("type", "profile"))]
    nodes = [Node(pool.id.name) for pool in pools]
    holds = EngineHolds(Engine(state, BEST_FIT), asks, nodes)
    meter, view = GpuMeter(state), OccupancyView(state)
    held = []

    for number in range(60):
        if held and chance.random() < 0.4:
            holds.leave(held.pop(chance.randrange(len(held))))
        elif holds.place(number, Arrival(0, 1, chance.randrange(len(asks)))) is not None:
            held.append(number)
        use, cluster = meter.read(), view.cluster()
        slices = [one for node in cluster.nodes for gpu in node.gpus for one in gpu.memory_slices]
        assert (use.room.now, use.room.best) == (cluster.room.now, cluster.room.best)
        assert use.gpus == 4
        assert max(len(meter._rooms._rooms), *map(len, meter._known.values())) <= limit
        assert use.in_use / 4 == pytest.approx(
            sum(one.state is Availability.HELD for one in slices) / len(slices)
        )


def log_line(**fields):
    line = {"at": 1.0, "waited_s": 0.0, "uid": "a", "pod": "team-a/a", "result": "Placed", "claims": []}
    return json.dumps({**line, **fields}) + "\n"


def openb_row(**fields):
    row = {"name": "a", "num_gpu": "1", "gpu_milli": "1000", "gpu_spec": "", "creation_time": "0"}
    row |= {"deletion_time": "9", "scheduled_time": "1", **fields}
    return f"{','.join(row)}\n{','.join(row.values())}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "is no trace: it must be CSV with the columns arrival, duration"),
        ("arrival,profile\nsoon,gpu\n", "line 2: arrival: 'soon': must be seconds"),
        ("arrival,duration,profile\n1,-5,gpu\n", "line 2: duration: '-5': must be seconds, above 0"),
        ("arrival,profile\n1,9g.90gb\n", "line 2: profile: '9g.90gb': must be a profile or type"),
        ("arrival,class\n1,none\n", "line 2: class: 'none': must be a DeviceClass that is known"),
        ("arrival,claim\n1,none\n", "line 2: claim: 'none': must name one of the claims"),
        ("arrival,profile,class\n1,gpu,gpu.tangram.dev\n", "exactly one of them must be given"),
        ("arrival,profile,count\n1,gpu,0\n", "count: '0': must be a whole number from 1 to 32"),
        ("arrival,profile,size\n1,gpu,3\n", "size: '3': is no field"),
        ("arrival,profile\n1,gpu,3\n", "has more cells than the header"),
        ("arrival,profile\n", "no claim arrives"),
        ('{"arrival": 1, "profile": "gpu"}\n[1]\n', "line 2: must be a JSON object"),
        ('{"arrival": 1, "profile": "gpu"}\n{"arr\n', "line 2: is not JSON: "),
        ('{"arrival": 1, "class": "x", "arrival": 2}\n', "line 1: is not JSON: key 'arrival' comes twice"),
        (f'{{"arrival": {"[" * 200_000}\n', "line 1: nested deeper than 64 levels"),
        ('{"arrival": 1, "profile": "\\ud800"}\n', "is half of a surrogate pair"),
        ('{"result": "Placed"}\n', "line 1: is no line of a decision log"),
        (log_line(result="Refused", claims=["x"]), "line 1: is no line of a decision log"),
        (
            log_line(result="Refused", claims=[{"claim": "team-a/x"}]),
            "line 1: is no line of a decision log: KeyError('spec')",
        ),
        (log_line(at="Infinity"), "line 1: at: 'Infinity': must be seconds, at least 0"),
        (log_line(at=float("nan")), "line 1: nan is no value of JSON"),
        (log_line(waited_s=float("inf")), "line 1: inf is no value of JSON"),
        ('{"at": NaN, "result": "Freed", "claim": "a/b"}\n', "line 1: nan is no value of JSON"),
        (openb_row(creation_time="inf"), "line 2: creation_time: 'inf': must be seconds, at least 0"),
        (openb_row(deletion_time="nan"), "line 2: deletion_time: 'nan': must be seconds, at least 0"),
        (openb_row(scheduled_time="-1"), "line 2: scheduled_time: '-1': must be seconds, at least 0"),
        (openb_row(num_gpu="-1"), "line 2: num_gpu: '-1': must be a whole number from 0 to 32"),
        (openb_row(num_gpu="9999999"), "line 2: num_gpu: '9999999': must be a whole number from 0 to 32"),
        (openb_row(gpu_milli="1.5"), "line 2: gpu_milli: '1.5': must be a whole number from 0 to 1000"),
        ("", "is no trace"),
    ],
)
def test_a_wrong_trace_is_one_message_with_line_field_value_and_rule(tangram, written, text, told):
    answer = tangram(*ON, "--trace", written("trace.csv", text))

    assert answer.status == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_a_trace_without_end_is_refused_where_its_limit_is(tangram, written, monkeypatch):
    monkeypatch.setattr(reading, "_MOST", 2**20)
    path = written("trace.csv", "arrival,profile\n" + "\n" * 2**20)

    answer = tangram(*ON, "--trace", path)

    assert (answer.status, answer.err) == (2, f"tangram: {path}: is larger than 1 MiB\n")


def test_a_line_of_a_trace_that_does_not_end_is_not_kept(tangram):
    answer = tangram(*ON, "--trace", "/dev/zero")

    assert (answer.status, answer.err) == (2, "tangram: /dev/zero: line 1: is larger than 64 MiB\n")


def test_text_that_is_no_utf8_is_told_with_its_line(tangram, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_bytes(b"arrival,profile\n1,gpu\n2,\xff\n")

    answer = tangram(*ON, "--trace", path)

    assert (answer.status, answer.err) == (2, f"tangram: {path}: is not UTF-8 text: near line 1\n")


def test_a_trace_on_a_closed_standard_input_is_one_message(tangram, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)

    answer = tangram(*ON, "--trace", "-")

    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "standard input: is closed" in answer.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("simulate",), "say what arrives: --trace FILE, or --mix NAME"),
        (("simulate", "--mix", "mid"), "--add: no node is known"),
        (("simulate", "--add", "1=no-gpu", "--mix", "mid"), "--mix: no node has a GPU"),
        ((*ON, "--trace", "x", "--load", "2"), "--load: '2.0': is for --mix"),
        ((*ON, "--mix", "mid", "--load", "0"), "must be a number above 0"),
        ((*ON, "--mix", "mid", "--patience", "-1"), "must be seconds, at least 0"),
        ((*ON, "--trace", "/nonexistent.csv"), "/nonexistent.csv"),
    ],
)
def test_wrong_use_is_one_message_and_status_2(tangram, arguments, told):
    answer = tangram(*arguments)

    assert answer.status == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1


def test_times_are_told_in_the_largest_unit_that_they_have_twice():
    assert [duration(one) for one in (0, 90, 150, 9000, 200_000)] == [
        "0 s",
        "90 s",
        "2.5 min",
        "2.5 h",
        "2.31 d",
    ]
