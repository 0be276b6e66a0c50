"""Compare our allocator with upstream's: peer.py bench|test|inputs [OPTION...]

``bench`` times both on the inputs of tangram/bench/inputs.py and prints the ratios. ``test`` asks both
random questions and prints where they differ. Exit status 1 where an answer or a ratio is not as it must be,
2 where Go is missing.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator
from itertools import islice
from random import SystemRandom

from mode_questions import FAMILY, ModeQuestions
from peer_sides import Side, built_upstream, ours, upstream

from scheduler_core.base.quantity import Quantity
from tangram.bench.inputs import benchmark, names
from tangram.bench.machine import Dgx
from tangram.bench.objects import Json
from tangram.bench.random_questions import FAMILIES as V1_FAMILIES
from tangram.bench.random_questions import questions
from tangram.hardware import AllMachines

_NS = 1_000_000_000
FAMILIES = (*V1_FAMILIES, FAMILY)
_ROW = "{:<8} {:>11} {:>11} {:>11} {:>11} {:>13}  {:<17} {}"
_UNITS = (("s", _NS), ("ms", 10**6), ("µs", 10**3))


def bench(wanted: list[str], limit_s: float) -> bool:
    """Print a line per benchmark; return whether all is as it must be."""
    theirs, own = upstream(built_upstream(), limit_s), ours(limit_s)
    print(_ROW.format("", "upstream", "", "ours", "", "times", "", ""))
    print(_ROW.format("", "cold", "warm", "cold", "warm", "faster", "must", ""))
    dgx, verdicts = Dgx(AllMachines()), []
    for name in wanted:
        question = benchmark(name, dgx)
        (their,), (our,) = theirs([question]), own([question])
        ratio = _warm_ns(their) / _warm_ns(our)
        verdict = verdict_on(name, their, our, ratio)
        verdicts.append(verdict)
        times = [shown(answer, cold) for answer in (their, our) for cold in (True, False)]
        bound = (">" if their["timed_out"] else "") + f"{ratio:,.1f}"
        print(_ROW.format(name, *times, bound, must(name, their), verdict or "it is"), flush=True)
    return not any(verdicts)


def verdict_on(name: str, their: Json, our: Json, ratio: float) -> str:
    """Return what is not as it must be, nothing where all is."""
    if our["timed_out"] or our.get("error"):
        return f"ours comes to {_decision(our)}"
    if not their["timed_out"] and _decision(their) != _decision(our):
        return f"answers differ: {_decision(their)} against {_decision(our)}"
    if not name.startswith("B3"):
        return "" if ratio >= 25 else "must be 25 times faster"
    if _warm_ns(our) > _NS // 100:
        return "must be at most 10 ms"
    return "" if ratio >= 1000 or _warm_ns(their) < _NS else "must be 1000 times faster"


def must(name: str, their: Json) -> str:
    """Return what is asked of ours."""
    if not name.startswith("B3"):
        return "≥ 25"
    return "≥ 1,000, ≤ 10 ms" if _warm_ns(their) >= _NS else "≤ 10 ms"


def _decision(answer: Json) -> str:
    if answer["timed_out"]:
        return "no end"
    if answer.get("error"):
        return "an error"
    if answer["unschedulable"]:
        return "unschedulable"
    return f"{len(answer['fits'])} nodes fit"


def _warm_ns(answer: Json) -> float:
    """Return the median, never zero: what crashed took no time."""
    return float(max(1, statistics.median(answer["nanoseconds"])))


def shown(answer: Json, is_cold: bool) -> str:
    """Return a time in a unit that suits it."""
    took = answer["cold_nanoseconds"] if is_cold else _warm_ns(answer)
    unit, size = next((one for one in _UNITS if took >= one[1]), _UNITS[-1])
    text = f"{took / size:.3g} {unit}"
    return f"> {text}" if answer["timed_out"] else text


def test(families: list[str], count: int, seed: int, limit_s: float) -> bool:
    """Print every difference and the totals; return whether there is none."""
    theirs, own = upstream(built_upstream(), limit_s), ours(limit_s)
    print(f"seed {seed}")
    all_same = True
    for index, family in enumerate(families):
        share = count // len(families) + (index < count % len(families))
        same, cut_off, different = _compare(list(islice(asked(family, seed), share)), theirs, own)
        print(f"{family}: {same} the same, {different} different, {cut_off} cut off", flush=True)
        all_same = all_same and not different
    return all_same


def asked(family: str, seed: int) -> Iterator[Json]:
    """Yield the random questions of a family, without end."""
    return ModeQuestions(AllMachines()).questions(seed) if family == FAMILY else questions(family, seed)


def _compare(asked: list[Json], theirs: Side, own: Side) -> tuple[int, int, int]:
    same = cut_off = different = 0
    for question, their, our in zip(asked, theirs(asked), own(asked), strict=True):
        if their["timed_out"]:
            cut_off += 1
        elif devices_of(their) == devices_of(our):
            same += 1
        else:
            different += 1
            print(f"{question['name']}: upstream {_told(their)}, ours {_told(our)}", flush=True)
    return same, cut_off, different


def devices_of(answer: Json) -> object:
    """Return what must be the same: the devices per claim, their shares, and from where they can be used."""
    # Claims that do not fit have no results, or one null each.
    if answer.get("error") or answer["timed_out"] or not any(answer.get("results") or ()):
        return _decision(answer)
    return [
        None
        if result is None
        else (sorted(map(_device, result["devices"].get("results", []))), _nodes(result))
        for result in answer["results"]
    ]


def _device(result: Json) -> tuple[object, ...]:
    consumed = result.get("consumedCapacity") or {}
    amounts = sorted((name, Quantity.parse(amount).nano) for name, amount in consumed.items())
    return (*(result[key] for key in ("request", "driver", "pool", "device")), tuple(amounts))


def _nodes(result: Json) -> str:
    return json.dumps(result.get("nodeSelector"), sort_keys=True)


def _told(answer: Json) -> str:
    if answer["timed_out"]:
        return "does not end"
    if answer.get("error"):
        return f"error ({answer['error']})"
    if not answer.get("results"):
        return "nothing"
    chosen = (
        result and [one["device"] for one in result["devices"].get("results", [])]
        for result in answer["results"]
    )
    return json.dumps(list(chosen))


def inputs(wanted: list[str]) -> bool:
    """Print the inputs of these names, each made when it is asked for."""
    dgx = Dgx(AllMachines())
    for name in wanted:
        print(json.dumps(benchmark(name, dgx), separators=(",", ":")))
    return True


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parsers = parser.add_subparsers(required=True)
    one = parsers.add_parser("bench", help="time both on the benchmarks")
    one.add_argument("names", nargs="*", metavar="NAME", default=list(names()), help=", ".join(names()))
    one.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for one input (60)")
    one.set_defaults(run=lambda options: bench(options.names, options.limit))
    one = parsers.add_parser("test", help="compare answers to random questions")
    one.add_argument("--count", type=int, default=10_000, help="of questions (10000)")
    one.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6), help="another each time")
    one.add_argument("--family", action="append", choices=FAMILIES, help="only these; may be repeated")
    one.add_argument("--limit", type=float, default=10.0, metavar="SECONDS", help="for one question (10)")
    one.set_defaults(run=_test)
    one = parsers.add_parser("inputs", help="print inputs of the benchmarks, one per line, for either side")
    one.add_argument("names", nargs="*", metavar="NAME", default=list(names()), help=", ".join(names()))
    one.set_defaults(run=lambda options: inputs(options.names))
    options = parser.parse_args()
    run: Callable[[argparse.Namespace], bool] = options.run
    return 0 if run(options) else 1


def _test(options: argparse.Namespace) -> bool:
    return test(options.family or list(FAMILIES), options.count, options.seed, options.limit)


if __name__ == "__main__":
    raise SystemExit(main())
