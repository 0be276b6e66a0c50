"""Whatever is written in a file, a command answers or says in one message what is wrong with it."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

DRIVER = "d.example.com"
EXPRESSION = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].kind == 'part'"
POOL = {"name": "n", "generation": 1, "resourceSliceCount": 2}
SPEC = {"driver": DRIVER, "pool": POOL, "nodeName": "n"}
V1 = "resource.k8s.io/v1"
JUNK: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 2**70, 1e400, "", "x", " ", "\x00", "\u202e", "a" * 300, "1Gi", "-5", "1e99"),
    *([], {}, [[]], [None], [{}], {"": ""}, {"string": 3}, {"value": "1"}, {"a": {"b": {"c": []}}}),
    *("device.driver ==", "[1].map(x, [1].map(y, x))", "All", "ExactCount", "n", "NoSchedule"),
)
"""What stands in for a value."""

COUNTERS = {
    "apiVersion": V1,
    "kind": "ResourceSlice",
    "metadata": {"name": "counters"},
    "spec": {
        **SPEC,
        "sharedCounters": [{"name": "board", "counters": {"m": {"value": "8Gi"}, "slot": {"value": "1"}}}],
    },
}
DEVICES = {
    "apiVersion": V1,
    "kind": "ResourceSlice",
    "metadata": {"name": "devices"},
    "spec": {
        **SPEC,
        "devices": [
            {
                "name": f"part-{number}",
                "attributes": {
                    "kind": {"string": "part"},
                    "number": {"int": number},
                    "tags": {"strings": ["a"]},
                },
                "capacity": {
                    "m": {"value": "2Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi"}}}
                },
                "consumesCounters": [{"counterSet": "board", "counters": {"m": {"value": "2Gi"}}}],
                "taints": [{"key": "k", "value": "v", "effect": "None"}],
                "allowMultipleAllocations": number == 2,
            }
            for number in range(3)
        ],
    },
}
COMPOSITE = {
    "kind": "ResourceSlice",
    "metadata": {"name": "composite"},
    "spec": {
        "driver": "c.example.com",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n",
        "deviceMixins": [{"name": "mixin", "composite": {"capacity": {"m": {"value": "1"}}}}],
        "devices": [
            {"name": "board", "composite": {"capacity": {"m": {"value": "2"}}}},
            {
                "name": "half",
                "composite": {
                    "includes": [{"name": "mixin"}],
                    "consumesCapacityFrom": [{"name": "board", "compatibilityGroups": ["a"]}],
                    "attributes": {"kind": {"string": "part"}, "v": {"version": "1.2"}},
                    "compatibleOnlyWith": {"expression": "true"},
                },
            },
        ],
    },
}
CLASS = {
    "apiVersion": V1,
    "kind": "DeviceClass",
    "metadata": {"name": "part"},
    "spec": {
        "selectors": [{"cel": {"expression": EXPRESSION}}],
        "config": [{"opaque": {"driver": DRIVER, "parameters": {"a": 1}}}],
    },
}
CLAIM = {
    "apiVersion": V1,
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "default", "uid": "u"},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "r",
                    "exactly": {
                        "deviceClassName": "part",
                        "allocationMode": "ExactCount",
                        "count": 1,
                        "selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}],
                        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
                        "capacity": {"requests": {"m": "1Gi"}},
                    },
                },
                {
                    "name": "either",
                    "firstAvailable": [
                        {"name": "two", "deviceClassName": "part", "count": 2},
                        {"name": "one", "deviceClassName": "part"},
                    ],
                },
            ],
            "constraints": [{"requests": ["r", "either"], "matchAttribute": f"{DRIVER}/kind"}],
            "config": [{"requests": ["r"], "opaque": {"driver": DRIVER, "parameters": {}}}],
        }
    },
}
HELD = {
    "kind": "ResourceClaim",
    "metadata": {"name": "h"},
    "spec": CLAIM["spec"],
    "status": {
        "allocation": {
            "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "n", "device": "part-0"}]},
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
                ]
            },
        }
    },
}
NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "labels": {"zone": "a"}}}
FILES = [COUNTERS, DEVICES, COMPOSITE, CLASS, CLAIM, HELD, NODE]
QUESTION = {
    "features": ["DRAPartitionableDevices", "DRAPrioritizedList", "DRAConsumableCapacity", "DRADeviceTaints"],
    "node": {"metadata": {"name": "n", "labels": {"zone": "a"}}},
    "classes": [CLASS],
    "slices": [COUNTERS, DEVICES],
    "claims": [CLAIM],
    "allocated": {
        "devices": [{"driver": DRIVER, "pool": "n", "device": "part-0"}],
        "shared": [{"driver": DRIVER, "pool": "n", "device": "part-2", "shareID": "s"}],
        "capacity": [{"driver": DRIVER, "pool": "n", "device": "part-2", "consumed": {"m": "1Gi"}}],
    },
    "repeat": 1,
    "sequence": [CLAIM],
}
CASE = {key: value for key, value in QUESTION.items() if key not in ("repeat", "sequence")} | {
    "name": "case",
    "expect": {"unschedulable": True},
}
NAMED = {
    "name": "named",
    "slices": [COMPOSITE],
    "classes": [CLASS],
    "node": {"name": "n", "labels": {}},
    "allocated": [HELD],
    "claims": [CLAIM],
    "expect": {
        "allocation": {"c": {"results": [{"request": "r", "driver": DRIVER, "pool": "n", "device": "half"}]}},
        "accept": [{"kind": "count", "request": "r", "n": 1}],
        "allocatable": ["half"],
        "steps": [{"allocate": ["half"], "allocatable": []}],
    },
}

SELECTOR = {
    "name": "selector",
    "expression": EXPRESSION,
    "device": DEVICES["spec"]["devices"][0] | {"driver": DRIVER, "capacity": {"m": {"value": "1"}}},
    "expect": {"match": True},
    "maxCost": 1,
    "cost": 1,
}
FEASIBLE = CASE | {
    "expect": {
        "feasible": True,
        "firstFit": [[{"request": "r", "driver": DRIVER, "pool": "n", "device": "part-0"}]],
    }
}
CASES = [CASE, NAMED, SELECTOR, FEASIBLE]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a value: what holds it, and its key or index there."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in list(children):
        yield value, key
        yield from places(child)


def mutated(original: Any, chance: Random) -> Any:
    """Return a copy with one to three things wrong, or merely unusual."""
    changed = copy.deepcopy(original)
    for _ in range(chance.randint(1, 3)):
        found = list(places(changed))
        if not found:
            break
        holder, key = chance.choice(found)
        kind = chance.choice(["replace", "replace", "remove", "repeat", "rename", "swap"])
        if kind == "replace":
            holder[key] = copy.deepcopy(chance.choice(JUNK))
        elif kind == "remove":
            del holder[key]
        elif kind == "repeat" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == "rename" and isinstance(holder, dict):
            holder[chance.choice(["x", "", "a" * 100, f"{DRIVER}/{key}"])] = holder.pop(key)
        elif kind == "swap":
            other, other_key = chance.choice(found)
            holder[key] = copy.deepcopy(other.get(other_key) if isinstance(other, dict) else None)
    return changed


SEEDS = st.integers(0, 2**48)
MUTATIONS = settings(
    max_examples=int(os.environ.get("TANGRAM_MUTATIONS", "100")),  # 500 and more now and then
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check(answer: Any, *allowed: int) -> None:
    """An answer, or one message and nothing changed."""
    assert "Traceback" not in answer.err
    assert answer.status in (*allowed, 2), answer.err
    said = [line for line in answer.err.splitlines() if "is left out" not in line]
    assert len(said) == (answer.status == 2), answer.err
    for line in said:
        assert line.startswith("tangram: ")
        assert not any(word in line for word in UNCLEAR), line


UNCLEAR = ("object is not", "object has no", "KeyError", "NoneType", "unhashable", "not subscriptable")
"""What Python says to a programmer, and what nobody else can use."""


def test_without_a_mistake_the_claims_fit(tangram, tmp_path):
    path = tmp_path / "input.json"
    path.write_text(json.dumps(QUESTION))

    allocated = tangram("allocate", "-f", written(tmp_path, FILES))
    timed = tangram("bench", "--json", "--input", path)

    assert allocated.status == timed.status == 0
    assert timed.json["fits"] == ["n"]


@pytest.mark.parametrize("command", ["allocate", "explain"])
@MUTATIONS
@given(seed=SEEDS)
def test_files_with_mistakes_are_answered_or_told_in_one_message(tangram, tmp_path, command, seed):
    chance = Random(seed)
    documents = mutated(FILES, chance)
    path = written(tmp_path, documents if isinstance(documents, list) else [documents])

    answer = tangram(command, "-f", path, *chance.choice([[], ["--json"]]))

    check(answer, 0, 1)


@MUTATIONS
@given(seed=SEEDS)
def test_inputs_with_mistakes_are_answered_or_told_in_one_message(tangram, tmp_path, seed):
    path = tmp_path / "input.json"
    path.write_text(json.dumps(mutated(QUESTION, Random(seed))))

    answer = tangram("bench", "--json", "--limit", "5", "--input", path)

    check(answer, 0)


@MUTATIONS
@given(seed=SEEDS)
def test_cases_with_mistakes_are_judged_or_told_in_one_message(tangram, tmp_path, seed):
    chance = Random(seed)
    path = tmp_path / "case.json"
    path.write_text(json.dumps(mutated(chance.choice(CASES), chance)))

    answer = tangram("conformance", path)

    check(answer, 0, 1, 3)
    assert not any(word in answer.out for word in UNCLEAR), answer.out


@MUTATIONS
@given(seed=SEEDS)
def test_damaged_text_is_answered_or_told_in_one_message(tangram, tmp_path, seed):
    chance = Random(seed)
    path = written(tmp_path, FILES)
    text = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 5)):
        place = chance.randrange(len(text))
        text[place : place + chance.randint(0, 3)] = chance.choice(
            [b"", b"\x00", b"\xff", b"{", b"&a *a", b"\n- "]
        )
    path.write_bytes(bytes(text))

    answer = tangram("allocate", "-f", path)

    check(answer, 0, 1)


def written(folder: Path, documents: list[Any]) -> Path:
    """Write documents as a YAML stream of JSON texts."""
    path = folder / "objects.yaml"
    path.write_text("\n---\n".join(json.dumps(document) for document in documents))
    return path
