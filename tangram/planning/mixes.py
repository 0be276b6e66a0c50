"""The mixes of benchmark B9 as traces: claims of known shares, which arrive at random from a seed."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from dataclasses import replace
from math import isfinite
from typing import Final

from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.names import qualified
from scheduler_core.planning.simulation import Arrival, in_order
from tangram.bench.placement.mixes import MIXES
from tangram.bench.placement.traces import trace
from tangram.errors import BadInput, bad_argument
from tangram.face import Parser
from tangram.planning.reading import Known
from tangram.planning.traces.trace import MOST, Trace

_HOUR_S: Final = 3600.0
_MIXED: Final = tuple(name for name, mix in MIXES.items() if not mix.is_shared)
_OWN: Final = {"load": 0.9, "arrivals": 2000, "seed": 1}


def add_mix(parser: Parser) -> None:
    """Add the options that make a trace in the place of a file."""
    parser.add_argument(
        "--mix",
        choices=_MIXED,
        metavar="NAME",
        help="claims that arrive at random and stay an hour in the mean, as in tangram bench B9; one of: "
        f"{'; '.join(_MIXED)}",
    )
    parser.add_argument("--load", type=_load, metavar="X", help="with --mix: 1 fills the GPUs; default: 0.9")
    arrivals = "with --mix: how many claims arrive; default: 2000"
    parser.add_argument("--arrivals", type=_whole, metavar="N", help=arrivals)
    seed = "with --mix: the seed of the random numbers; default: 1"
    parser.add_argument("--seed", type=_whole, metavar="N", help=seed)


def mix_trace(options: Namespace, known: Known) -> Trace:
    """Return the trace of the options. Raises: BadInput where the nodes have no GPU."""
    wanted = {name: getattr(options, name) or default for name, default in _OWN.items()}
    mix = MIXES[options.mix]
    kind = qualified("type", known.driver)
    gpus = sum(
        device.attributes.get(kind) == "gpu" for pool in known.cluster.pools for device in pool.devices
    )
    if not gpus:
        raise BadInput("--mix: no node has a GPU of the driver")
    found = trace(mix, wanted["load"], gpus, int(wanted["arrivals"]), int(wanted["seed"]))
    arrivals = (Arrival(one.at * _HOUR_S, (one.stays or 0.0) * _HOUR_S, one.ask) for one in found)
    return Trace(
        asks=[(replace(kind.claim, ref=ClaimRef("mix", kind.name)),) for kind in mix.kinds],
        arrivals=in_order(arrivals),
    )


def check_mix(options: Namespace) -> None:
    """Refuse options that mean nothing without ``--mix``. Raises: BadInput."""
    for name in _OWN:
        value = getattr(options, name)
        if value is not None and options.mix is None:
            raise bad_argument(f"--{name}", str(value), "is for --mix")


def _load(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if isfinite(found) and 0 < found <= 100:
        return found
    raise ArgumentTypeError(f"{text!r}: must be a number above 0 and at most 100")


def _whole(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) <= MOST:
        return int(text)
    raise ArgumentTypeError(f"{text!r}: must be a whole number from 1 to {MOST}")
