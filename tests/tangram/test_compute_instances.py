"""Compute instances of one GPU instance, from the option to the container: shown, allocated, prepared."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.model import SplitGpus
from agent.slices import v1_slices
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
EXAMPLE = "compute-instances-claim.yaml"
PROFILES = ("1c.3g.20gb", "2c.3g.20gb", "1c.2g.10gb", "1c.4g.20gb", "3g.20gb", "1g.5gb", "2g.10gb")


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    machine = SimulatedMachine.open(load_node(NODE), tmp_path_factory.mktemp(NODE))
    inventory = discover(simulated_hardware(machine).readers, NODE)
    described = describe(replace(inventory, split=SplitGpus(frozenset({0}))))
    (published,) = v1.pools(v1.decode_slice(one) for one in v1_slices(described))
    return {"composite": described.pool, "v1": published}


def class_of(profile):
    attributes = 'device.attributes["tangram.dev"]'
    expression = f'has({attributes}.profile) && {attributes}.profile == "{profile}"'
    return DeviceClass(name=profile, selectors=(expression,))


def claim_of(number, profile, count):
    wanted = DeviceRequest(name="r", class_name=profile, count=count)
    return Claim(ref=ClaimRef("default", f"c{number}"), requests=(Request(name="r", alternatives=(wanted,)),))


@pytest.mark.parametrize("seed", range(5))
def test_tables_and_plain_search_give_the_same_devices_from_both_dialects(pools, seed):
    chance, held, given = random.Random(seed), [], set()
    for number in range(14):
        profile = chance.choice(PROFILES)
        asked = claim_of(number, profile, chance.choice([1, 1, 2]))
        classes = {one: class_of(one) for one in PROFILES}
        found = []
        for pool in pools.values():
            cluster = Cluster(pools=(pool,), classes=classes, allocated=tuple(held))
            answer = allocate([asked], cluster, Node(NODE))
            tabled = Engine.of(cluster, FIRST_FIT).allocate([asked], Node(NODE))
            assert isinstance(tabled, Allocation) == isinstance(answer, Allocation)
            found += [answer.results] if isinstance(answer, Allocation) else []
            assert not isinstance(answer, Allocation) or tabled == answer
        assert len(found) in {0, 2}
        if found:
            assert found[0] == found[1]
            held.append(AllocatedClaim(ref=asked.ref, results=found[0][asked.ref]))
            given.add(profile)
        if held and chance.random() < 0.3:
            held.pop(chance.randrange(len(held)))
    assert len(given) > 2


@pytest.fixture
def files(tangram, written, examples):
    """The slices of a node whose GPU instances are offered in parts, Tangram's classes, and the example."""
    shown = tangram("show", "--node", NODE, "--as", "v1", "--compute-instances", "0")
    slices = written("slices.yaml", shown.out)
    return ["-f", slices, "-f", examples / "device-classes.yaml", "-f", examples / EXAMPLE]


@pytest.mark.parametrize("policy", ["first-fit", "best-fit"])
def test_the_example_gets_two_parts_of_one_gpu_instance(tangram, files, policy):
    answer = tangram("allocate", *files, "--policy", policy, "--json")

    results = [one["status"]["allocation"]["devices"]["results"][0] for one in answer.json["claims"]]
    wide, narrow = (one["device"] for one in results)
    assert (answer.status, answer.err) == (0, "")
    assert wide.startswith("gpu-0-mig-2c-3g-20gb-")
    assert narrow.startswith("gpu-0-mig-1c-3g-20gb-")
    assert wide.endswith("-ci-0-1")


def test_the_example_is_valid(tangram, files):
    assert tangram("validate", *files).status == 0


ANY_PARTITION = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {namespace: default, name: any}
spec:
  devices:
    requests:
    - {name: r, exactly: {deviceClassName: mig.tangram.dev, allocationMode: ExactCount, count: 16}}
"""


def test_a_claim_for_any_mig_partition_gets_no_part_of_one(tangram, files, written):
    """A part shares its memory, which who asks for a MIG partition does not expect."""
    answer = tangram("allocate", *files[:4], "-f", written("any.yaml", ANY_PARTITION), "--json")
    fewer = written("fewer.yaml", ANY_PARTITION.replace("count: 16", "count: 14"))

    assert answer.status == 1
    assert tangram("allocate", *files[:4], "-f", fewer).status == 0


def test_the_demo_prepares_the_example_and_leaves_nothing(tangram, examples):
    answer = tangram(
        *("demo", "--node", NODE, "--compute-instances", "all", "--claim", examples / EXAMPLE, "--json")
    )

    documents = list(answer.json["cdi"].values())
    told = [one["devices"][0]["containerEdits"]["env"] for one in documents]
    (instance,) = answer.json["mig"]
    assert (answer.status, answer.err) == (0, "")
    assert len(documents) == len(instance["computeInstances"]) == 2
    assert len({env for one in told for env in one if "_CI_" in env}) == 2
    assert set(answer.json["unprepare"]["left"].values()) == {0}


def test_the_demo_names_each_compute_instance_by_its_own_profile(tangram, examples):
    answer = tangram("demo", "--node", NODE, "--compute-instances", "0", "--claim", examples / EXAMPLE)

    assert "2c.3g.20gb  0-3" in answer.out
    assert "1c.3g.20gb  0-3" in answer.out


def test_the_picture_of_an_allocation_shows_the_gpu_instance_that_is_in_parts(tangram, files):
    slices = tangram("show", "--node", NODE, "--as", "composite", "--compute-instances", "0")
    files[1].write_text(slices.out)

    answer = tangram("allocate", *files)

    assert "3g.20gb in parts" in answer.out


def test_the_option_is_refused_where_it_says_nothing_or_nonsense(tangram, files):
    useless = tangram("show", *files[:2], "--compute-instances", "all")
    nonsense = tangram("show", "--node", NODE, "--compute-instances", "two")

    assert (useless.status, nonsense.status) == (2, 2)
    assert "--compute-instances" in useless.err
    assert "has no effect with" in useless.err
    assert "must be all, or numbers of GPUs" in nonsense.err


def test_show_says_which_gpu_instances_stay_whole_and_why(tangram):
    answer = tangram("show", "--node", NODE, "--compute-instances", "0")

    assert "compute-instance" in answer.out
    assert "none in 7g.40gb" in " ".join(answer.out.split())
