"""B12: builds a cluster state from the bytes of an API server, and measures single changes of it.

Every node is the same machine with its own names, UUIDs and serial numbers. These are written into the text
before the clock starts.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Final

from controller.model.slice_text import read_v1_slice
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import v1
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.nodes import Node
from scheduler_core.rules.selectors import compile_selector
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.cluster import classes, features, the_claim
from tangram.bench.machine import DRIVER, GPUS, as_server_sends, small_partition
from tangram.bench.objects import Json
from tangram.bench.report import MS, US, Report, Row, Unit, times
from tangram.bench.settings import Settings

_NODES: Final = 1000
_PER_NODE_NS: Final = 10 * MS
_MOST_MIB: Final = {1000: 150, 5000: 500}
_CLAIMS: Final = 1000
_CHANGED_SLICES: Final = 50
_MIB: Final = 1 << 20


@dataclass(slots=True)
class _Fed:
    """A state that was fed with all nodes. Units: nanoseconds per node, bytes."""

    state: ClusterState
    engines: tuple[Engine, ...]
    decoding: list[int] = field(default_factory=list)
    entering: list[int] = field(default_factory=list)
    processor_ns: int = 0
    memory: int = 0


def following(settings: Settings) -> Report:
    """Time a state that is built from bytes, and changes of it."""
    count = settings.nodes or _NODES
    machine = settings.dgx.slices()
    compile_selector.cache_clear()
    fed = _fed(settings, count)
    per_node = [one + two for one, two in zip(fed.decoding, fed.entering, strict=True)]
    nodes = [Node(_name(number)) for number in range(count)]
    fits = [len(engine.feasible_nodes([the_claim()], nodes).names) for engine in fed.engines]
    misread = tuple(_misread(fed.state, machine))
    claims, slices = list(_claims_changed(fed.state, count)), list(_slices_changed(fed.state, machine, count))
    size = sum(map(len, as_server_sends(machine, _name(0), 0)))
    rows = (
        times("a node, bytes to engine", per_node, _PER_NODE_NS, f"{size:,} bytes in {len(machine)} slices"),
        times("of this, JSON and decoding", fed.decoding),
        times("of this, pool, state and engines", fed.entering),
        times(f"all {count} nodes", [sum(per_node)], count * _PER_NODE_NS, _processor_time(fed.processor_ns)),
        Row(
            case="memory for them, at most",
            unit=Unit.MEBIBYTES,
            median=fed.memory / _MIB,
            must=_MOST_MIB.get(count),
            note="above the interpreter and its imports",
        ),
        times("one claim changed", claims, 50 * US, "state changed, engines of both policies updated"),
        times("one slice changed, bytes to engine", slices),
    )
    wrong = [f"{found} of {count} nodes fit" for found in fits if found != count]
    return Report(
        name="B12",
        title=f"cluster state of {count} nodes from bytes",
        rows=rows,
        wrong=(*wrong, *misread),
    )


def _name(number: int) -> str:
    return f"node-{number:05d}"


def _fed(settings: Settings, count: int) -> _Fed:
    """Return a state of ``count`` nodes, two engines on it, and the times per node."""
    machine = settings.dgx.slices()
    state = ClusterState(classes(), features())
    fed = _Fed(state, (Engine(state, FIRST_FIT), Engine(state, BEST_FIT)))
    gc.collect()
    before = _resident_bytes()
    for number in range(count):
        if number % 500 == 0:
            settings.say(f"node {number} of {count}")
        texts = as_server_sends(machine, _name(number), number)
        started, spent = perf_counter_ns(), process_time_ns()
        slices = [read_v1_slice(text) for text in texts]
        decoded = perf_counter_ns()
        state.upsert_slices(slices)
        fed.decoding.append(decoded - started)
        fed.entering.append(perf_counter_ns() - decoded)
        fed.processor_ns += process_time_ns() - spent
        fed.memory = max(fed.memory, _resident_bytes() - before)
    return fed


def _processor_time(nanoseconds: int) -> str:
    return f"{nanoseconds / (1_000 * MS):.3g} s of processor time"


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _claims_changed(state: ClusterState, count: int) -> Iterator[int]:
    """Yield how long it takes that a claim has another partition than before, of another GPU."""
    for number in range(_CLAIMS):
        node = _name(number % count)
        held = [_claim(number, node, small_partition((number + step) % GPUS, 0)) for step in range(2)]
        state.hold(held[0])
        started = perf_counter_ns()
        state.hold(held[1])
        yield perf_counter_ns() - started
        state.release(ClaimUid(f"uid-{number}"))


def _claim(number: int, node: str, device: str) -> AllocatedClaim:
    return AllocatedClaim(
        ref=ClaimRef("default", f"claim-{number}"),
        uid=ClaimUid(f"uid-{number}"),
        results=(AllocatedDevice("r", DeviceId(DRIVER, node, DeviceName(device))),),
    )


def _slices_changed(state: ClusterState, machine: Sequence[Json], count: int) -> Iterator[int]:
    """Yield how long it takes that one slice has devices with other UUIDs than before."""
    for number in range(_CHANGED_SLICES):
        texts = as_server_sends(machine, _name(number % count), count + number)
        text = texts[2 + number % (len(texts) - 2)]
        started = perf_counter_ns()
        state.upsert_slices([read_v1_slice(text)])
        yield perf_counter_ns() - started


def _misread(state: ClusterState, machine: Sequence[Json]) -> Iterator[str]:
    """Yield what is wrong with the first pool, compared with its documents as the codec reads them alone."""
    pool = next(iter(state.pools()))
    texts = as_server_sends(machine, pool.id.name, 0)
    if pool != v1.pool_of([v1.decode_slice(json.loads(text)) for text in texts]):
        yield f"pool {pool.id} differs from the one that its documents describe"
