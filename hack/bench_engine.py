"""Measure the engine: the benchmarks that the issue tracker calls B1 to B5, on synthetic 8-GPU nodes.

Run: .venv/bin/python hack/bench_engine.py [--nodes 1000] [NAME...]. Prints medians.
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from scheduler_core.engine import FIRST_FIT, Engine, best_fit
from scheduler_core.mixins import flatten
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
    Claim,
    ClaimRef,
    DeviceClass,
    DistinctAttribute,
    MatchAttribute,
)
from scheduler_core.model.composite import CompositeDevice, CompositeSlice, Mixin
from scheduler_core.model.device import DeviceId, DeviceName, QualifiedName
from scheduler_core.model.nodes import Node, OnNode
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.result import Allocation
from scheduler_core.quantity import Quantity
from scheduler_core.testing import DRIVER, claim, request
from scheduler_core.version import Version

PROFILES = [  # name, multiprocessors, copy engines, decoders, MiB, jpeg and ofa, placements (start, length)
    ("1g.10gb", 14, 1, 1, 9856, 0, [(start, 2) for start in (0, 2, 4, 6)]),
    ("1g.5gb", 14, 1, 0, 4864, 0, [(start, 1) for start in range(7)]),
    ("1g.5gb+me", 14, 1, 1, 4864, 1, [(start, 1) for start in range(7)]),
    ("2g.10gb", 28, 2, 1, 9856, 0, [(start, 2) for start in (0, 2, 4)]),
    ("3g.20gb", 42, 3, 2, 19968, 0, [(0, 4), (4, 4)]),
    ("4g.20gb", 56, 4, 2, 19968, 0, [(0, 4)]),
    ("7g.40gb", 98, 7, 5, 40192, 1, [(0, 8)]),
]
PARENT = QualifiedName(f"{DRIVER}/parentUUID")
CLASSES = {
    "any": DeviceClass(name="any", selectors=(f"device.driver == '{DRIVER}'",)),
}


def keys(values: dict[str, object]) -> dict[QualifiedName, object]:
    return {QualifiedName(f"{DRIVER}/{name}"): value for name, value in values.items()}


def amounts(sm: int, copy: int, decoders: int, mib: int, me: int) -> dict[str, Quantity]:
    found = {"multiprocessors": sm, "copy-engines": copy, "decoders": decoders, "jpeg-engines": me}
    found |= {"ofa-engines": me, "encoders": 0}
    return {name: Quantity.of(value) for name, value in found.items()} | {
        "memory": Quantity.bytes_of(mib * 2**20)
    }


def mixins(node: str, gpus: int) -> Iterator[Mixin]:
    base = {
        "driverVersion": Version.parse("560.35.03"),
        "cudaDriverVersion": Version.parse("12.6"),
        "architecture": "Ampere",
        "brand": "Nvidia",
        "productName": "NVIDIA A100-SXM4-40GB",
        "cudaComputeCapability": "8.0",
    }
    yield Mixin(
        name="gpu", attributes=keys(base | {"type": "gpu"}), capacity=keys(amounts(98, 7, 5, 40960, 1))
    )
    yield Mixin(name="mig", attributes=keys(base | {"type": "mig"}))
    for name, *numbers, _ in PROFILES:
        yield Mixin(name=name, attributes=keys({"profile": name}), capacity=keys(amounts(*numbers)))
    for start, length in {place for *_, places in PROFILES for place in places}:
        slices = {f"memorySlice{i}": Quantity.of(1) for i in range(start, start + length)}
        yield Mixin(name=f"at-{start}-{length}", capacity=keys(slices))
    for gpu in range(gpus):
        uuid, where = f"GPU-{node}-{gpu}", {"pcieRoot": f"pci{gpu // 2}", "numaNode": gpu // 4}
        yield Mixin(name=f"gpu-{gpu}", attributes=keys({"uuid": uuid, "index": gpu} | where))
        yield Mixin(name=f"mig-{gpu}", attributes=keys({"parentUUID": uuid, "parentIndex": gpu} | where))


def devices(gpus: int) -> Iterator[CompositeDevice]:
    for gpu in range(gpus):
        name = DeviceName(f"gpu-{gpu}")
        yield CompositeDevice(name=name, includes=("gpu", f"gpu-{gpu}", "at-0-8"))
        for profile, *_, places in PROFILES:
            for start, length in places:
                part = f"{name}-mig-{profile.replace('.', '-').replace('+', '-')}-{start}"
                includes = ("mig", profile, f"mig-{gpu}", f"at-{start}-{length}")
                yield CompositeDevice(name=DeviceName(part), includes=includes, sources=(name,))


def pool_of(node: str, gpus: int = 8) -> Pool:
    slice_ = CompositeSlice(
        name=node,
        pool=PoolId(DRIVER, node),
        nodes=OnNode(node),
        mixins=tuple(mixins(node, gpus)),
        devices=tuple(devices(gpus)),
    )
    return flatten([slice_])


def profile(name: str) -> str:
    return f"device.attributes['{DRIVER}'].type == 'mig' && device.attributes['{DRIVER}'].profile == '{name}'"


def wanted(*profiles: str, is_matched: bool = False, name: str = "claim") -> Claim:
    requests = [request(f"r{i}", profile(one)) for i, one in enumerate(profiles)]
    return claim(*requests, constraints=[MatchAttribute(PARENT)] if is_matched else [], name=name)


SEED = ("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb")


def timed(work: Callable[[], object], times: int) -> float:
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return statistics.median(found)


def show(name: str, seconds: float, note: str = "") -> None:
    unit, factor = ("µs", 1e6) if seconds < 1e-3 else ("ms", 1e3)
    print(f"{name:44} {seconds * factor:10.2f} {unit}  {note}")


def engine_of(*pools: Pool) -> Engine:
    engine = Engine(CLASSES, FIRST_FIT)
    for pool in pools:
        engine.set_pool(pool)
    return engine


def held(answer: Allocation, ref: ClaimRef | None = None) -> AllocatedClaim:
    ((name, results),) = answer.results.items()
    return AllocatedClaim(ref=ref or name, results=results)


def b1() -> None:
    pool, node = pool_of("n0"), Node("n0")
    cold = []
    for _ in range(7):
        engine = engine_of(pool)
        cold.append(timed(lambda: engine.allocate([wanted(*SEED, is_matched=True)], node), 1))
    show("B1 seed claim, cold", statistics.median(cold))
    same = [wanted(*SEED, is_matched=True)]
    show("B1 seed claim, warm, same claim", timed(lambda: engine.allocate(same, node), 2000))
    others = [[wanted(*SEED, is_matched=True, name=f"c{i}")] for i in range(2000)]
    waiting = iter(others)
    show("B1 seed claim, warm, equal claims", timed(lambda: engine.allocate(next(waiting), node), 2000))


def b1b() -> None:
    node = Node("n0")
    for label, make in (("equal claims", lambda i: wanted("1g.5gb", name=f"c{i}")),):
        engine = engine_of(pool_of("n0"))
        for run in ("first", "second"):
            spent = []
            for i in range(56):
                one = make(i)
                begin = time.perf_counter()
                answer = engine.allocate([one], node)
                assert isinstance(answer, Allocation)
                engine.hold(held(answer))
                spent.append(time.perf_counter() - begin)
            for i in range(56):
                engine.release(ClaimRef("default", f"c{i}"))
            show(
                f"B1b 56 x 1g.5gb, {label}, {run} run",
                statistics.median(spent),
                f"max {max(spent) * 1e6:.0f} µs",
            )


def filled(nodes: int, policy: object = FIRST_FIT) -> tuple[Engine, list[Node]]:
    """Return a cluster at about 60 %, filled at random."""
    engine, chance = Engine(CLASSES, policy), random.Random(1)
    begin = time.perf_counter()
    spent = 0.0
    for number in range(nodes):
        pool = pool_of(f"n{number:05}")
        middle = time.perf_counter()
        engine.set_pool(pool)
        spent += time.perf_counter() - middle
    show(f"   {nodes} pools built", time.perf_counter() - begin, f"of it compiling {spent:.2f} s")
    found = [Node(name) for name in engine._sites.names]
    for node in found:
        for component in engine._sites.site(node).components:
            for _ in range(chance.randrange(0, 5)):
                shape = component.template.shape
                free = [p for p in range(1, shape.size) if shape.free(component.state) >> p & 1]
                if free:
                    before = component.state
                    component.state |= 1 << chance.choice(free)
                    engine._chooser.moved(component, before)
    return engine, found


def b2(nodes: int) -> None:
    engine, found = filled(nodes)
    for label, claims in (
        ("seed claim", [wanted(*SEED, is_matched=True)]),
        ("seed claim without constraint", [wanted(*SEED)]),
        ("3g.20gb", [wanted("3g.20gb")]),
    ):
        begin = time.perf_counter()
        fits = engine.feasible_nodes(claims, found)
        show(f"B2 {nodes} nodes, {label}, cold", time.perf_counter() - begin, f"{len(fits)} fit")
        show(f"B2 {nodes} nodes, {label}, warm", timed(lambda: engine.feasible_nodes(claims, found), 7))


def blocked(engine: Engine, gpus: int, starts: tuple[int, ...], but: int = 0) -> None:
    names = [f"gpu-{gpu}-mig-1g-5gb-{start}" for gpu in range(gpus - but) for start in starts]
    engine.hold(taken(names))


def taken(names: list[str]) -> AllocatedClaim:
    results = tuple(AllocatedDevice("r", DeviceId(DRIVER, "n0", DeviceName(name))) for name in names)
    return AllocatedClaim(ref=ClaimRef("default", "holder"), results=results)


def plain_pool(count: int, values: int = 1) -> Pool:
    found = tuple(
        CompositeDevice(
            name=DeviceName(f"d{i}"), attributes=keys({"color": f"c{i % values}", "serial": f"s{i}"})
        )
        for i in range(count)
    )
    return flatten([CompositeSlice(name="n0", pool=PoolId(DRIVER, "n0"), nodes=OnNode("n0"), devices=found)])


def distinct(count: int, *, same: int = 1) -> Claim:
    requests = [
        request(f"r{i}", f"device.driver == '{DRIVER}' || {i} > 99", count=same) for i in range(count)
    ]
    return claim(*requests, constraints=[DistinctAttribute(QualifiedName(f"{DRIVER}/color"))])


def equals(count: int) -> Claim:
    return claim(*(request(f"r{i}", f"device.driver == '{DRIVER}' || {i} > 99") for i in range(count)))


def b3() -> None:
    cases: list[tuple[str, Callable[[], Engine], Claim]] = []
    for times in (1, 4):
        gpus, many = 8 * times, min(32, 8 * times)

        def mig(starts: tuple[int, ...] = (), but: int = 0, gpus: int = gpus) -> Engine:
            engine = engine_of(pool_of("n0", gpus))
            blocked(engine, gpus, starts, but)
            return engine

        def plain(count: int, values: int = 1) -> Engine:
            return engine_of(plain_pool(count, values))

        label = f"x{times}"
        cases += [
            (f"A {label}", mig, wanted(*SEED, is_matched=True)),
            (f"B {label}", partial(mig, (0, 4)), wanted(*SEED, is_matched=True)),
            (f"B2 {label}", partial(mig, (0, 4), 1), wanted(*SEED, is_matched=True)),
            (f"C {label}", mig, wanted(*["1g.5gb"] * many, is_matched=True)),
            (f"E {label}", partial(plain, min(9 * times, 32) - 1), equals(min(9 * times, 32))),
            (f"G {label}", partial(plain, 24 * times, 3 * times), distinct(4 * times)),
            (f"G' {label}", partial(plain, 24 * times, 4 * times), distinct(4 * times)),
            (
                f"H {label}",
                partial(plain, min(23 * times, 32) - 1),
                claim(request("r", count=min(23 * times, 32))),
            ),
            (
                f"I {label}",
                mig,
                claim(request("r", profile("1g.5gb"), count=many), constraints=[MatchAttribute(PARENT)]),
            ),
            (f"J {label}", mig, wanted(*["1g.5gb"] * (3 * times), "none")),
            (f"K {label}", mig, wanted(*["3g.20gb", "4g.20gb"] * many)),
            (
                f"L {label}",
                partial(mig, (3,)),
                wanted(*["3g.20gb", "2g.10gb", "1g.5gb"] * min(10, 4 * times)),
            ),
        ]
    for name, make, one in cases:
        engine = make()
        node = [Node("n0")]
        begin = time.perf_counter()
        fits = engine.feasible_nodes([one], node)
        cold = time.perf_counter() - begin
        begin = time.perf_counter()
        answer = engine.decide([one], node[0])
        whole = time.perf_counter() - begin
        warm = timed(lambda: engine.decide([one], node[0]), 5)
        begin = time.perf_counter()
        engine.allocate([one], node[0])
        explained = time.perf_counter() - begin
        assert bool(fits) == (answer is not None)
        note = f"decide {whole * 1e3:.2f} ms, warm {warm * 1e3:.3f} ms, {engine.effort.steps} steps"
        note += f", with reasons {explained * 1e3:.1f} ms"
        show(f"B3 {name} {'fits' if fits else 'does not fit'}, cold", cold, note)


def b4(nodes: int, stream: int, policy: object) -> None:
    engine, _ = filled(nodes, policy)
    chance = random.Random(2)
    spent, held_claims, refused = [], [], 0
    begin = time.perf_counter()
    for number in range(stream):
        one = wanted(chance.choice(PROFILES)[0], name=f"c{number}")
        start = time.perf_counter()
        answer = engine.decide_somewhere([one])
        if answer is not None:
            engine.hold(held(answer))
            held_claims.append(one.ref)
        else:
            refused += 1
        if len(held_claims) > 200 or answer is None:
            if held_claims:
                engine.release(held_claims.pop(chance.randrange(len(held_claims))))
        spent.append(time.perf_counter() - start)
    spent.sort()
    show(
        f"B4 {stream} claims, {nodes} nodes, median",
        statistics.median(spent),
        f"p99 {spent[int(len(spent) * 0.99)] * 1e6:.0f} µs, {stream / sum(spent):.0f} claims/s, {refused} refused",
    )


MIXES = {
    "uniform": [1, 1, 1, 1, 1, 1],
    "small": [5, 2, 3, 1, 0.5, 0.5],
    "mid": [1, 1, 2, 3, 2, 0.5],
    "large": [1, 0.5, 1, 2, 2, 2],
}
SIZES = {
    "1g.5gb": 1 / 7,
    "1g.10gb": 2 / 8,
    "2g.10gb": 2 / 7,
    "3g.20gb": 4 / 8,
    "4g.20gb": 4 / 7,
    "7g.40gb": 1.0,
}


def trace(policy: object, mix: list[float], load: float, arrivals: int, seed: int) -> tuple[int, int]:
    """Return how many of the arriving claims are refused, and how many arrived; 16 GPUs, the first fifth unseen."""
    engine = Engine(CLASSES, policy)
    for number in range(2):
        engine.set_pool(pool_of(f"n{number}"))
    chance, names = random.Random(seed), list(SIZES)
    mean = sum(weight * size for weight, size in zip(mix, SIZES.values())) / sum(mix)
    now, leaving, refused, seen = 0.0, [], 0, 0
    for number in range(arrivals):
        now += chance.expovariate(load * 16 / mean)
        profile_name, stay = chance.choices(names, mix)[0], chance.expovariate(1.0)
        while leaving and leaving[0][0] <= now:
            engine.release(heapq.heappop(leaving)[1])
        one = wanted(profile_name, name=f"c{number}")
        answer = engine.decide_somewhere([one])
        seen += number >= arrivals // 5
        if answer is None:
            refused += number >= arrivals // 5
        else:
            engine.hold(held(answer))
            heapq.heappush(leaving, (now + stay, one.ref))
    return refused, seen


def b9(arrivals: int) -> None:
    gains = []
    for mix_name, mix in MIXES.items():
        for load in (0.7, 0.9, 1.1):
            first, best = 0, 0
            for seed in (1, 2):
                first += trace(FIRST_FIT, mix, load, arrivals, seed)[0]
                best += trace(best_fit(), mix, load, arrivals, seed)[0]
            gains.append(best / first - 1)
            print(
                f"B9 {mix_name:8} {load}: refused first-fit {first}, best-fit {best}, {best / first - 1:+.1%}"
            )
    print(f"B9 mean {statistics.mean(gains):+.1%}, worst {max(gains):+.1%}")


def b5() -> None:
    pools = [pool_of(f"n{i}") for i in range(9)]
    show("B5 flatten one node", timed(lambda: pool_of("nx"), 5))
    engine = engine_of(pools[0], pools[1])
    waiting = iter(pools[2:])
    show("B5 compile one node", timed(lambda: engine.set_pool(next(waiting)), 7))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--stream", type=int, default=20000)
    parser.add_argument("--arrivals", type=int, default=3000)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    benchmarks = {
        "B1": b1,
        "B1b": b1b,
        "B2": lambda: b2(arguments.nodes),
        "B3": b3,
        "B4": lambda: b4(arguments.nodes, arguments.stream, FIRST_FIT),
        "B4b": lambda: b4(arguments.nodes, arguments.stream, best_fit()),
        "B5": b5,
        "B9": lambda: b9(arguments.arrivals),
    }
    for name, run in benchmarks.items():
        if not arguments.names or name in arguments.names:
            run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
