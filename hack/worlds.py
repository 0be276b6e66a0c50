"""Random worlds of the v1 API, decided twice: worlds.py engine|upstream [--count N] [--seed S]

``engine`` compares the engine with the exhaustive search, on two nodes and under both policies. ``upstream``
compares it with kube-scheduler's allocator (hack/upstream-allocator) and assigns every difference to a class
of docs/semantics.md. A line after every thousand worlds has the counts. Exit status 1 after a world that
differs, or differs in no known way; its name repeats it. ``PYTHONPATH`` must have tests/fakes.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from random import SystemRandom

from peer_sides import built_upstream, upstream
from random_worlds import world
from random_worlds.classes import Sides, classified
from random_worlds.decided import answers, disagreement

from tangram.bench.objects import Json

_ROUND = 1000


def worlds(seed: int) -> Iterator[Json]:
    """Yield the worlds of a campaign, without end."""
    number = 0
    while True:
        yield world(f"{seed}-{number}")
        number += 1


def engine(count: int, seed: int) -> bool:
    """Return whether the engine decides as the exhaustive search in so many worlds."""
    started, wrong = time.monotonic(), 0
    for number, asked in enumerate(islice(worlds(seed), count), 1):
        found = disagreement(asked)
        if found is not None:
            wrong += 1
            print(f"{asked['name']}: {found}", flush=True)
        if number % _ROUND == 0 or number == count:
            print(f"{number:,} worlds, {wrong} differ, {time.monotonic() - started:,.0f} s", flush=True)
    return not wrong


def against_upstream(count: int, seed: int) -> bool:
    """Return whether every difference from upstream in so many worlds has a class."""
    sides = Sides(theirs=upstream(built_upstream(), 10), ours=answers)
    found, left, source = Counter[str](), count, worlds(seed)
    while left > 0:
        asked = list(islice(source, min(_ROUND, left)))
        left -= len(asked)
        for name, label in classified(asked, sides):
            found[label] += 1
            if label == "unclassified":
                print(f"{name}: {label}", flush=True)
        counts = ", ".join(f"{label} {number}" for label, number in sorted(found.items()))
        print(f"{count - left:,} worlds: {counts}", flush=True)
    return not found["unclassified"]


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("against", choices=("engine", "upstream"))
    parser.add_argument("--count", type=int, default=10_000, help="of worlds (10000)")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**9), help="another each time")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    run = engine if options.against == "engine" else against_upstream
    return 0 if run(options.count, options.seed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
