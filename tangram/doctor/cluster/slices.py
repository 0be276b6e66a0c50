"""PURE: slices of nodes that are gone, pools that are not whole, and devices with old taints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from scheduler_core.model.ownership import OWNER
from tangram.doctor import kinds
from tangram.doctor.cluster.facts import ClusterFacts, Document, name_of, ref_of
from tangram.doctor.finding import Delete, Finding


def slice_findings(facts: ClusterFacts) -> Iterator[Finding]:
    """Yield what is wrong with the driver's slices."""
    yield from _of_gone_nodes(facts)
    yield from _of_pools(facts)
    yield from _of_taints(facts)


def _of_gone_nodes(facts: ClusterFacts) -> Iterator[Finding]:
    there = {name_of(one) for one in facts.nodes}
    gone: dict[str, list[Document]] = defaultdict(list)
    for one in facts.slices:
        node = one["spec"].get("nodeName")
        if node and node not in there:
            gone[node].append(one)
    for node, left in sorted(gone.items()):
        names = " ".join(name_of(one) for one in left)
        yield Finding(
            kind=kinds.SLICES_OF_GONE_NODE,
            object=node,
            problem=f"there is no node {node}, and these slices of it are left: {names}",
            remedies=(f"kubectl delete resourceslices {names}",),
            fix=Delete(tuple(ref_of(one, "ResourceSlice") for one in left)),
        )


def _of_pools(facts: ClusterFacts) -> Iterator[Finding]:
    pools: dict[str, list[Document]] = defaultdict(list)
    for one in facts.slices:
        pools[one["spec"]["pool"]["name"]].append(one)
    for name, found in sorted(pools.items()):
        newest = max(one["spec"]["pool"]["generation"] for one in found)
        current = [one for one in found if one["spec"]["pool"]["generation"] == newest]
        wanted = current[0]["spec"]["pool"]["resourceSliceCount"]
        show = (
            f"kubectl get resourceslices --field-selector spec.driver={facts.driver}",
            facts.log_of(name, "agent"),
        )
        if len(current) != wanted:
            yield Finding(
                kind=kinds.POOL_INCOMPLETE,
                object=name,
                problem=f"pool {name} has {len(current)} of {wanted} slices of generation {newest}",
                since=max(str(one["metadata"].get("creationTimestamp", "")) for one in current),
                remedies=show,
            )
        old = [name_of(one) for one in found if one not in current]
        if old:
            yield Finding(
                kind=kinds.SLICES_OF_OLD_GENERATION,
                object=name,
                problem=f"pool {name} has generation {newest}, and these slices are older: {' '.join(old)}",
                remedies=show,
            )


def _of_taints(facts: ClusterFacts) -> Iterator[Finding]:
    """Yield one finding for all devices of a pool that have one taint. The mark of an allocator is none."""
    found: dict[tuple[str, str, str, str], dict[str, str]] = defaultdict(dict)
    for one in facts.slices:
        for device in one["spec"].get("devices") or ():
            for taint in device.get("taints") or ():
                added = str(taint.get("timeAdded") or "")
                if taint["key"] != OWNER and facts.age_s(added) > facts.older_than_s:
                    pool, value = one["spec"]["pool"]["name"], taint.get("value", "")
                    found[pool, taint["key"], value, taint["effect"]][device["name"]] = added
    for (pool, key, value, effect), devices in sorted(found.items()):
        text = f"{key}{f'={value}' if value else ''}:{effect}"
        names = ", ".join(sorted(devices))
        yield Finding(
            kind=kinds.TAINT_OLD,
            object=f"{pool}/{text}",
            problem=f"pool {pool} has taint {text} on {names}",
            since=min(devices.values()),
            remedies=(facts.log_of(pool, "agent"), f"kubectl describe node {pool}"),
        )
