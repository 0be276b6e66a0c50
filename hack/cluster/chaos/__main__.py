"""Chaos in a cluster of the launcher's: ``make chaos``, with OPTIONS="--seconds 60 --seed 2".

In go options; what happens is told on standard error, the report goes to standard output. Exit status: 0
where all is well, 1 where something was double, lost, left over or unexpected.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from launcher.client import ClusterControl

from chaos.campaign import Choice, has_controller, run
from chaos.parts import PARTS, parts_of
from chaos.pods import KINDS, kinds_of

_MOST = 12
_PAUSE_S = (2.0, 8.0)
_CALM_S = 30.0


def main(arguments: Sequence[str]) -> int:
    """Run one campaign."""
    options = _parser().parse_args(arguments)
    folder = os.environ.get("TANGRAM_CLUSTER")
    if not folder:
        print("chaos: there is no cluster to kill: start one by make chaos", file=sys.stderr)
        return 1
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"chaos: {time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    control = ClusterControl(Path(folder))
    is_controlled = has_controller(control)
    kinds, parts = kinds_of(has_controller=is_controlled), parts_of(has_controller=is_controlled)
    absent = sorted({*(options.kinds or ()), *(options.parts or ())} - {*kinds, *parts})
    if absent:
        there = "with" if is_controlled else "without"
        print(f"chaos: this cluster, {there} the controller, has no {', '.join(absent)}", file=sys.stderr)
        return 1
    choice = _choice(options, options.kinds or kinds, options.parts or parts, is_controlled)
    report = run(control, choice, say)
    print(json.dumps(report.document()) if options.json else "\n".join(report.lines()))
    return 0 if report.is_well else 1


def _choice(
    options: argparse.Namespace, kinds: Sequence[str], parts: Sequence[str], is_controlled: bool
) -> Choice:
    return Choice(
        seed=options.seed,
        seconds=options.seconds,
        kinds=kinds,
        parts=parts,
        has_controller=is_controlled,
        most=_MOST,
        pause_s=_PAUSE_S,
        calm_s=_CALM_S,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make chaos OPTIONS=", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("--seconds", type=float, default=600.0, help="how long parts are killed, each once at least (600)")
    add("--seed", type=int, default=1, help="which pods come and what is killed, in which order (1)")
    add("--kinds", type=_among(KINDS), metavar="A,B", help=f"of pods, all that can run: {', '.join(KINDS)}")
    add("--parts", type=_among(PARTS), metavar="A,B", help=f"to kill, all that there are: {', '.join(PARTS)}")
    add("--json", action="store_true", help="print the report as JSON")
    return parser


def _among(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        found = tuple(filter(None, text.split(",")))
        wrong = [one for one in found if one not in known]
        if wrong or not found:
            raise argparse.ArgumentTypeError(f"{text!r}: name some of {', '.join(known)}")
        return found

    return read


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
