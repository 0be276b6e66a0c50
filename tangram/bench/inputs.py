"""The inputs of the benchmarks B1 to B3, as ``tangram bench --input`` and the upstream allocator read them.

B1 is one claim, and B1b fills a node. B2 asks for one claim on many nodes where other claims hold whole GPUs;
in B2s they hold random partitions. B3 are the worst cases of a depth-first search. Each also exists with four
times the GPUs and up to four times the requests (a claim has at most 32 results). Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final

from tangram.bench.machine import (
    CLASSES,
    DRIVER,
    GPUS,
    NODE,
    SMALL,
    Dgx,
    held,
    named,
    scattered,
    small_partition,
    whole_gpus,
)
from tangram.bench.objects import (
    Json,
    Place,
    claim,
    device_class,
    on_node,
    question,
    request,
    resource_slice,
)

MOST_RESULTS: Final = 32
TIMES: Final = 4
FILL_NODES, FILL, FILL_SEED = 200, 0.6, 60
SEED_CLAIM: Final = (SMALL, SMALL, "2g.10gb", "3g.20gb")
PLAIN: Final = "plain.example.com"
PLAIN_CLASS: Final = device_class("plain", f'device.driver == "{PLAIN}"')


def names() -> tuple[str, ...]:
    """Return the names of all inputs, in the order of the benchmarks."""
    worst = [name for letter in _WORST for name in (f"B3-{letter}", f"B3-{letter}x{TIMES}")]
    return ("B1", "B1b", "B2", "B2s", *worst)


def benchmark(name: str, dgx: Dgx) -> Json:
    """Return one input on a machine of any size.

    Raises: KeyError for a name that is not in ``names``.
    """
    match name:
        case "B1":
            return _on_machine(dgx.slices(), name, [seed_claim()], repeat=200)
        case "B1b":
            claims = [small_claim(f"claim-{number:02d}", 1) for number in range(7 * GPUS)]
            return _on_machine(dgx.slices(), name, [], sequence=claims)
        case "B2":
            return many_nodes(name, dgx, whole_gpus)
        case "B2s":
            pool = dgx.pool()
            return many_nodes(name, dgx, lambda share, chance: scattered(share, chance, pool))
        case _:
            return _worst_case(name, dgx)


def _worst_case(name: str, dgx: Dgx) -> Json:
    letter, _, times = name.removeprefix("B3-").partition("x")
    return _WORST[letter](dgx, name, int(times or 1)) | {"repeat": 5}


def many_nodes(name: str, dgx: Dgx, fill: Callable[[float, Random], Iterator[str]]) -> Json:
    """Return the filter of many machines, each with other partitions in use."""
    chance = Random(FILL_SEED)
    nodes = [f"node-{number:04d}" for number in range(FILL_NODES)]
    in_use = [held(device, node) for node in nodes for device in fill(FILL, chance)]
    slices = [one for number, node in enumerate(nodes) for one in named(dgx.slices(), node, number)]
    return question(name, slices, CLASSES, [seed_claim()], in_use) | {"nodes": nodes, "repeat": 5}


def seed_claim(number: int = 0) -> Json:
    """Return the claim of KEP-4815: four partitions that fill one GPU."""
    requests = [_mig_request(f"r{index}", profile) for index, profile in enumerate(SEED_CLAIM)]
    return claim(f"claim-{number}", requests, _same_gpu())


def mig_claim(name: str, profiles: Sequence[str]) -> Json:
    """Return a claim for partitions anywhere, each a request."""
    return claim(name, [_mig_request(f"r{index}", profile) for index, profile in enumerate(profiles)])


def small_claim(name: str, requests: int, *constraints: Json) -> Json:
    """Return a claim for several of the smallest partition, each a request."""
    return claim(name, [_mig_request(f"r{index}", SMALL) for index in range(requests)], *constraints)


def _seed(dgx: Dgx, name: str, times: int) -> Json:
    return _on_machine(dgx.slices(times), name, _seed_claims(times))


def _blocked(dgx: Dgx, name: str, times: int) -> Json:
    """Every GPU has small partitions where the large ones of the claim would lie."""
    return _on_machine(dgx.slices(times), name, _seed_claims(times), in_use=_obstacles(range(GPUS * times)))


def _blocked_but_last(dgx: Dgx, name: str, times: int) -> Json:
    """The same, with as many GPUs free as there are claims: the last ones that a search comes to."""
    in_use = _obstacles(range(GPUS * times - times))
    return _on_machine(dgx.slices(times), name, _seed_claims(times), in_use)


def _eight_on_one_gpu(dgx: Dgx, name: str, times: int) -> Json:
    """A GPU holds seven of the smallest partition."""
    return _on_machine(dgx.slices(times), name, [small_claim("claim-0", _most(8 * times), _same_gpu())])


def _equal_devices(_dgx: Dgx, name: str, times: int) -> Json:
    """One request more than there are devices, all alike."""
    count = _most(9 * times)
    requests = [request(f"r{index}", "plain") for index in range(count)]
    return _on_plain(name, [{}] * (count - 1), claim("claim-0", requests))


def _distinct(_dgx: Dgx, name: str, times: int) -> Json:
    """One request more than the attribute, in which they must differ, has values."""
    devices = [{"rail": {"int": index % (3 * times)}} for index in range(24 * times)]
    requests = [request(f"r{index}", "plain") for index in range(3 * times + 1)]
    return _on_plain(name, devices, claim("claim-0", requests, {"distinctAttribute": f"{PLAIN}/rail"}))


def _one_too_many(_dgx: Dgx, name: str, times: int) -> Json:
    """One request for one device more than there are."""
    count = _most(23 * times)
    return _on_plain(name, [{}] * (count - 1), claim("claim-0", [request("r0", "plain", count=count)]))


def _count_on_one_gpu(dgx: Dgx, name: str, times: int) -> Json:
    """Eight on one GPU once more, as one request with a count."""
    asked = _mig_request("r0", SMALL, count=_most(8 * times))
    return _on_machine(dgx.slices(times), name, [claim("claim-0", [asked], _same_gpu())])


def _one_impossible(dgx: Dgx, name: str, times: int) -> Json:
    """Ordinary requests, and after them some that no device matches."""
    profiles = [SMALL] * (3 * times) + ["8g.80gb"] * times
    requests = [_mig_request(f"r{index}", profile) for index, profile in enumerate(profiles)]
    return _on_machine(dgx.slices(times), name, [claim("claim-0", requests)])


_WORST: Final[dict[str, Callable[[Dgx, str, int], Json]]] = {
    "A": _seed,
    "B": _blocked,
    "B2": _blocked_but_last,
    "C": _eight_on_one_gpu,
    "E": _equal_devices,
    "G": _distinct,
    "H": _one_too_many,
    "I": _count_on_one_gpu,
    "J": _one_impossible,
}


def _seed_claims(times: int) -> list[Json]:
    return [seed_claim(number) for number in range(times)]


def _obstacles(gpus: Sequence[int]) -> list[Json]:
    return [held(small_partition(gpu, start)) for gpu in gpus for start in (0, 4)]


def _most(count: int) -> int:
    return min(count, MOST_RESULTS)


def _same_gpu() -> Json:
    return {"matchAttribute": f"{DRIVER}/parentUUID"}


def _mig_request(name: str, profile: str, count: int = 1) -> Json:
    return request(name, "mig.tangram.dev", f'device.attributes["{DRIVER}"].profile == "{profile}"', count)


def _on_machine(
    slices: Sequence[Json], name: str, claims: list[Json], in_use: Sequence[Json] = (), **more: Any
) -> Json:
    return question(name, slices, CLASSES, claims, in_use) | on_node(NODE) | more


def _on_plain(name: str, attributes: Sequence[Json], asked: Json) -> Json:
    """Return an input whose devices have no counters, nothing but the attributes given."""
    devices = [
        {"name": f"device-{number:02d}"} | ({"attributes": own} if own else {})
        for number, own in enumerate(attributes)
    ]
    slices = [resource_slice("slice-0", Place(PLAIN, "node-1", 1, "node-1"), devices=devices)]
    return question(name, slices, [PLAIN_CLASS], [asked]) | on_node("node-1")
