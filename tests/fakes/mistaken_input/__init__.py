"""Input of every kind that a command reads, without a mistake, and what puts mistakes into it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

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
CONFIGS = [
    {"kind": "GpuConfig", "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Short"}}},
    {
        "kind": "MigConfig",
        "sharing": {
            "strategy": "MPS",
            "mpsConfig": {
                "defaultActiveThreadPercentage": 50,
                "defaultPerDevicePinnedMemoryLimit": {"0": "1Gi"},
            },
        },
    },
    {
        "kind": "VfConfig",
        "mode": "netdev",
        "mac": "02:00:00:00:00:01",
        "vlan": {"id": 7, "qos": 1},
        "maxTxRate": 100,
        "netdev": {
            "name": "net1",
            "addresses": ["192.0.2.1/24"],
            "routes": [{"destination": "198.51.100.0/24"}],
        },
    },
    {"kind": "NicConfig", "mtu": 9000},
]
CONFIGURED_CLAIM = {
    "kind": "ResourceClaim",
    "metadata": {"name": "configured"},
    "spec": {
        "devices": {
            "requests": [
                {"name": kind, "exactly": {"deviceClassName": kind}} for kind in ("gpu", "mig", "vf")
            ],
            "config": [
                {
                    "requests": [],
                    "opaque": {"driver": DRIVER, "parameters": {"apiVersion": "tangram.dev/v1alpha1", **one}},
                }
                for one in CONFIGS
            ],
        }
    },
}
POD = {
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {
        "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
        "containers": [{"name": "main", "resources": {"claims": [{"name": "c", "request": "r"}]}}],
    },
}
TYPED = [
    {
        "kind": "DeviceClass",
        "metadata": {"name": kind},
        "spec": {"selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].type == '{kind}'"}}]},
    }
    for kind in ("gpu", "mig", "vf")
]
CONFIGURED = [*TYPED, CONFIGURED_CLAIM, POD]
"""What only ``validate`` judges: configurations for the devices' types, and a pod."""
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
