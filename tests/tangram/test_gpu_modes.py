"""GPUs in several modes, from the option to the container: shown, allocated, validated, prepared."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.slices import v1_slices
from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.codec import v1
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import (
    AllocatedClaim,
    Claim,
    ClaimRef,
    DeviceClass,
    DeviceRequest,
    Request,
)
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation

NODE = "a100x2"
EXAMPLE = "gpu-shares-claim.yaml"
TYPES = ("gpu", "mig", "gpu-shared", "gpu-mps", "gpu-shared", "gpu-mps")
SHARED = ("--gpu-modes", "all=whole,mig,shared")


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    machine = SimulatedMachine.open(load_node(NODE), tmp_path_factory.mktemp(NODE))
    return describe(
        replace(
            discover(simulated_hardware(machine).readers, NODE),
            modes=GpuModes(by_number={0: ModesOfGpu(shared=50, mps=50)}),
        )
    )


@pytest.fixture(scope="module")
def pools(described):
    (published,) = v1.pools(v1.decode_slice(one) for one in v1_slices(described))
    return {"composite": described.pool, "v1": published}


def class_of(device_type):
    expression = f'device.attributes["tangram.dev"].type == "{device_type}"'
    return DeviceClass(name=device_type, selectors=(expression,))


def claim_of(number, device_type, memory):
    amounts = (
        {"tangram.dev/memory": Quantity.parse(memory)} if device_type in ("gpu-shared", "gpu-mps") else {}
    )
    wanted = DeviceRequest(name="r", class_name=device_type, count=1, capacity=amounts)
    return Claim(ref=ClaimRef("default", f"c{number}"), requests=(Request(name="r", alternatives=(wanted,)),))


@pytest.mark.parametrize(
    ("dialect", "meaning"), [("composite", "kep-4815"), ("v1", "kep-4815"), ("v1", "kep-5963")]
)
@pytest.mark.parametrize("seed", range(6))
def test_tables_and_plain_search_give_the_same_devices_in_any_order_of_claims(pools, dialect, meaning, seed):
    chance, held, given = random.Random(seed), [], set()
    for number in range(14):
        kind = chance.choice(TYPES)
        asked = claim_of(number, kind, chance.choice(["1Gi", "5Gi", "20Gi", "1"]))
        classes = {one: class_of(one) for one in TYPES}
        cluster = Cluster(
            pools=(pools[dialect],), classes=classes, allocated=tuple(held), features=Features(groups=meaning)
        )

        answer = allocate([asked], cluster, Node(NODE))

        found = Engine.of(cluster, FIRST_FIT).allocate([asked], Node(NODE))
        assert isinstance(found, Allocation) == isinstance(answer, Allocation)
        if isinstance(answer, Allocation):
            assert found == answer
            results = answer.results[asked.ref]
            held.append(AllocatedClaim(ref=asked.ref, results=results))
            given.add(kind)
        if held and chance.random() < 0.3:
            held.pop(chance.randrange(len(held)))
    assert len(given) > 1


@pytest.fixture
def files(tangram, written, examples):
    """The slices of a node whose GPUs are shared, Tangram's classes, and the example."""
    shown = tangram("show", "--node", NODE, "--as", "v1", *SHARED)
    slices = written("slices.yaml", shown.out)
    return ["-f", slices, "-f", examples / "device-classes.yaml", "-f", examples / EXAMPLE]


@pytest.mark.parametrize("policy", ["first-fit", "best-fit"])
def test_the_example_gets_two_shares_of_one_gpu_without_a_warning(tangram, files, policy):
    answer = tangram("allocate", *files, "--policy", policy, "--json")

    results = [one["status"]["allocation"]["devices"]["results"][0] for one in answer.json["claims"]]
    assert (answer.status, answer.err) == (0, "")
    assert len({one["device"] for one in results}) == 1
    assert len({one["shareID"] for one in results}) == 2
    assert [one["consumedCapacity"] for one in results] == [
        {"memory": "10Gi", "multiprocessors": "0"},
        {"memory": "20Gi", "multiprocessors": "49"},
    ]


def test_the_example_is_valid_also_with_an_interval_and_with_mps_it_is_refused_by_name(
    tangram, files, written, examples
):
    assert tangram("validate", *files).status == 0

    def with_sharing(strategy):
        parameters = {
            "apiVersion": "tangram.dev/v1alpha1",
            "kind": "GpuConfig",
            "sharing": {"strategy": strategy},
        }
        config = {"opaque": {"driver": "tangram.dev", "parameters": parameters}}
        text = (examples / EXAMPLE).read_text()
        return text.replace("  devices:\n", f"  devices:\n    config: [{json.dumps(config)}]\n", 1)

    in_turns = tangram("validate", *files[:-1], written("turns.yaml", with_sharing("TimeSlicing")))
    under_mps = tangram("validate", *files[:-1], written("mps.yaml", with_sharing("MPS")))

    assert (in_turns.status, under_mps.status) == (0, 2)
    assert "GpuConfig.sharing: its claims take turns without MPS" in under_mps.out


def test_the_demo_prepares_the_example_and_leaves_nothing(tangram, examples):
    answer = tangram("demo", "--node", NODE, *SHARED, "--claim", examples / EXAMPLE, "--json")

    documents = list(answer.json["cdi"].values())
    told = [one["devices"][0]["containerEdits"]["env"] for one in documents]
    assert (answer.status, answer.err) == (0, "")
    assert len(documents) == 2
    assert json.dumps(answer.json["prepare"]).count('"share_id"') == 2
    assert any("TANGRAM_DEVICE_GPU_0_SHARED_MULTIPROCESSORS=49" in env for env in told)
    assert set(answer.json["unprepare"]["left"].values()) == {0}


def test_the_option_is_refused_where_it_says_nothing_or_nonsense(tangram, files):
    useless = tangram("show", *files[:2], *SHARED)
    nonsense = tangram("show", "--node", NODE, "--gpu-modes", "two")

    assert (useless.status, nonsense.status) == (2, 2)
    assert "--gpu-modes" in useless.err
    assert "has no effect with" in useless.err
    assert "must be GPUs=MODES" in nonsense.err
