"""Random claims over every kind of device that a node publishes, and two allocators that answer them.

Claims are API objects, so that upstream's allocator can be asked, too.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from scheduler_core.codec.allocations import claim_status
from scheduler_core.codec.claims import decode_claim, decode_class
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT, Policy
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation
from scheduler_core.search.answer import with_share_ids

Json = dict[str, Any]
DRIVER = "tangram.dev"
OWN = f'device.attributes["{DRIVER}"]'
FEATURES = (
    *("DRAConsumableCapacity", "DRAPartitionableDevices", "DRAPrioritizedList", "DRAAdminAccess"),
    "DRADeviceCompatibilityGroups",
)
PROGRAMS = Path(__file__).parents[3] / ".tangram/upstream-allocator"
SHARED = ("gpu-shared", "gpu-mps")


@dataclass(frozen=True)
class World:
    """What a node publishes. Shape: ``slices`` are those of ``pool``; ``types`` of its devices."""

    node: str
    pool: Pool
    slices: Sequence[Json]

    @property
    def types(self) -> list[str]:
        name = f"{DRIVER}/type"
        return sorted({str(device.attributes.get(name)) for device in self.pool.devices} - {"None"})  # type: ignore[call-overload]

    @property
    def classes(self) -> list[Json]:
        return [
            {
                "metadata": {"name": f"{one}.{DRIVER}"},
                "spec": {"selectors": [{"cel": {"expression": f'{OWN}.type == "{one}"'}}]},
            }
            for one in self.types
        ]


def _mps(**config: Any) -> Json:
    return {"strategy": "MPS", **({"mpsConfig": config} if config else {})}


def _turns(interval: str) -> Json:
    return {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}


PARAMETERS: tuple[Json, ...] = (
    {"kind": "GpuConfig"},
    {"kind": "GpuConfig", "sharing": {"strategy": "TimeSlicing"}},
    {"kind": "GpuConfig", "sharing": _turns("Short")},
    {"kind": "GpuConfig", "sharing": _turns("Long")},
    {"kind": "GpuConfig", "sharing": _mps()},
    {"kind": "GpuConfig", "sharing": _mps(defaultActiveThreadPercentage=50)},
    {"kind": "GpuConfig", "sharing": _mps(defaultPinnedDeviceMemoryLimit="2Gi")},
    {"kind": "GpuConfig", "sharing": _mps(defaultPinnedDeviceMemoryLimit="100Gi")},
    {"kind": "GpuConfig", "sharing": _mps(defaultPerDevicePinnedMemoryLimit={"1": "1Gi"})},
    {"kind": "MigConfig"},
    {"kind": "MigConfig", "sharing": _mps()},
    {"kind": "MigConfig", "sharing": _mps(defaultPinnedDeviceMemoryLimit="2Gi")},
    {"kind": "VfConfig", "mode": "rdma"},
    {"kind": "VfConfig", "mode": "rdma", "managementDevices": True},
    {"kind": "VfConfig", "mode": "vfio", "trust": True},
    {"kind": "VfConfig", "mode": "netdev", "netdev": {"mtu": 1400}},
    {"kind": "VfConfig", "mode": "netdev", "netdev": {"name": "fast0", "addresses": ["10.9.0.2/24"]}},
    {"kind": "VfConfig", "maxTxRate": 1000, "linkState": "enable", "spoofCheck": False},
    {"kind": "VfConfig", "vlan": {"id": 100}, "mac": "02:00:00:00:00:07"},
    {"kind": "VfConfig", "maxTxRate": 999_999},
    {"kind": "NicConfig"},
    {"kind": "NicConfig", "netdev": {"name": "fast1"}},
    {"kind": "NicConfig", "name": "fast1"},
)
AMOUNTS = ("1Mi", "1Gi", "5Gi", "12Gi", "20Gi", "40Gi")


@st.composite
def options(draw: st.DrawFn, types: Sequence[str]) -> Json:
    """One alternative of a request."""
    kind = draw(st.sampled_from(types))
    found: Json = {"deviceClassName": f"{kind}.{DRIVER}", "allocationMode": "ExactCount"}
    found["count"] = draw(st.sampled_from((1, 1, 1, 2, 3)))
    if kind in SHARED and draw(st.integers(0, 9)):
        requests = {"memory": draw(st.sampled_from(AMOUNTS))}
        if draw(st.booleans()):
            requests["multiprocessors"] = str(draw(st.sampled_from((1, 14, 49))))
        found["capacity"] = {"requests": requests}
    if kind == "mig" and draw(st.booleans()):
        profile = draw(st.sampled_from(("1g.5gb", "2g.10gb", "3g.20gb", "1g.6gb")))
        found["selectors"] = [{"cel": {"expression": f'{OWN}.profile == "{profile}"'}}]
    return found


@st.composite
def requests(draw: st.DrawFn, types: Sequence[str], name: str) -> Json:
    chance = draw(st.integers(0, 19))
    if chance == 0:
        return {"name": name, "exactly": draw(options(types)) | {"adminAccess": True}}
    if chance == 1:
        some = [draw(options(types)) | {"name": f"s{index}"} for index in range(2)]
        return {"name": name, "firstAvailable": some}
    if chance == 2:
        option = draw(options(types)) | {"allocationMode": "All"}
        return {"name": name, "exactly": {key: one for key, one in option.items() if key != "count"}}
    return {"name": name, "exactly": draw(options(types))}


@st.composite
def claims(draw: st.DrawFn, types: Sequence[str], number: int) -> Json:
    """A claim with some requests and configurations; many of the latter are wrong for its devices."""
    asked = [draw(requests(types, name)) for name in "abc"[: draw(st.integers(1, 3))]]
    names = [one["name"] for one in asked]
    configs = []
    for parameters in draw(st.lists(st.sampled_from(PARAMETERS), max_size=2)):
        opaque = {"driver": DRIVER, "parameters": {"apiVersion": f"{DRIVER}/v1alpha1", **parameters}}
        some = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
        configs.append({"opaque": opaque, **({"requests": some} if some else {})})
    devices: Json = {"requests": asked, **({"config": configs} if configs else {})}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "default", "name": f"c{number}", "uid": f"uid-{number}"},
        "spec": {"devices": devices},
    }


def sequences(types: Sequence[str]) -> st.SearchStrategy[list[Json]]:
    return st.integers(1, 3).flatmap(
        lambda length: st.tuples(*(claims(types, number) for number in range(length))).map(list)
    )


Allocator = Callable[[World, Sequence[Json]], "list[Json | None] | None"]
"""Allocates claims one after the other; returns their statuses, None for what does not fit or is an error."""
policies = st.sampled_from((FIRST_FIT, BEST_FIT))


def by_ours(policy: Policy) -> Allocator:
    def allocate(world: World, asked: Sequence[Json]) -> list[Json | None]:
        classes = [decode_class(one) for one in world.classes]
        cluster = Cluster(pools=(world.pool,), classes={one.name: one for one in classes})
        engine, found, numbers = Engine.of(cluster, policy), list[Json | None](), count()
        for one in asked:
            claim = decode_claim(one)
            answer = engine.allocate([claim], Node(world.node))
            if not isinstance(answer, Allocation):
                found.append(None)
                continue
            answer = with_share_ids(answer, cluster.pools, lambda: f"share-{next(numbers)}")
            engine.state.hold(AllocatedClaim(ref=claim.ref, results=answer.results[claim.ref]))
            found.append(claim_status(answer, claim.ref))
        return found

    return allocate


def upstream_program() -> Path | None:
    """Return upstream's allocator, None where hack/upstream-allocator/build.sh was not run."""
    return next(iter(sorted(PROGRAMS.glob("*/upstream-allocator"))), None)


@contextmanager
def upstream(program: Path) -> Iterator[Allocator]:
    """Return upstream's allocator as one running program."""
    with subprocess.Popen(
        [program, "-limit", "20s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin
        assert running.stdout
        sink, source = running.stdin, running.stdout

        def allocate(world: World, asked: Sequence[Json]) -> list[Json | None] | None:
            question = {
                "name": "q",
                "features": FEATURES,
                "slices": world.slices,
                "classes": world.classes,
                "claims": asked,
                "allocated": {"devices": [], "shared": [], "capacity": []},
                "node": {"metadata": {"name": world.node}},
                "sequence": True,
            }
            sink.write(json.dumps(question) + "\n")
            sink.flush()
            answer = json.loads(source.readline())
            if answer.get("error") or answer["timed_out"]:
                return None
            return [one and {"allocation": one} for one in answer["results"]]

        yield allocate
        sink.close()
