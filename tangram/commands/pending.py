"""``tangram pending``: the pods that wait for devices of the controller, and why."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tangram.controlled.reading import read_controlled
from tangram.controlled.waiting import PodWaiting, waiting
from tangram.face import DONE, Face, Parser, Subparsers, add_command
from tangram.options import add_driver_name
from tangram.preparable import driver_of
from tangram.program.fitting import Column, FittingTable
from tangram.program.watching import watch
from tangram.summaries import SUMMARIES


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    example = """tangram pending -n team-a
  tangram pending --json
  tangram pending -A --watch

Each pod is decided about now, as the controller does it; nothing is written.
The controller need not run for that.

exit status:
  0  the cluster was read, whether pods wait or not
  2  wrong options
  3  the API server cannot be reached"""
    parser = add_command(
        parsers, "pending", SUMMARIES["pending"], example, _run, wide="with priority and devices"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("-n", "--namespace", metavar="NAME", help="pods of this namespace only")
    where.add_argument(
        "-A", "--all-namespaces", action="store_true", help="pods of all namespaces; the default"
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="go on, and print them again when they change"
    )
    add_kubeconfig(parser)
    add_driver_name(parser, "Tangram's DRA driver, whose devices the controller allocates")


def add_kubeconfig(parser: Parser) -> None:
    """Add the options that say which cluster."""
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="default: $KUBECONFIG, then ~/.kube/config"
    )
    parser.add_argument(
        "--context", metavar="NAME", help="a context of the kubeconfig; default: its current one"
    )


def _run(options: Namespace, face: Face) -> int:
    cluster = face.connect(options.kubeconfig, options.context)

    def look() -> list[PodWaiting]:
        found = waiting(read_controlled(cluster, driver_of(options), time.time()))
        return [one for one in found if options.namespace in (None, one.pod.ref.namespace)]

    if options.watch:
        watch(look, lambda shown: _show(shown, options, face), time.sleep)
    else:
        _show(look(), options, face)
    return DONE


def _show(shown: Sequence[PodWaiting], options: Namespace, face: Face) -> None:
    value = {"pods": [as_json(one) for one in shown]}
    if options.json and options.watch:
        face.out.json_line(value)
    elif options.json:
        face.out.json(value)
    elif not shown:
        face.out.text("no pod waits for devices")
    else:
        face.out.show(_table(shown, is_wide=face.out.is_wide), *([""] if options.watch else []))
    face.out.flush()


def as_json(one: PodWaiting) -> Mapping[str, Any]:
    """Return a waiting pod for machines."""
    return {
        "namespace": one.pod.ref.namespace,
        "name": one.pod.ref.name,
        "created": one.pod.created,
        "priority": one.pod.priority,
        "gated": one.pod.is_gated,
        "node": one.node,
        "devices": {claim: list(names) for claim, names in one.devices.items()},
        "reason": one.reason,
    }


def _table(found: Sequence[PodWaiting], *, is_wide: bool) -> FittingTable:
    wide = [Column("PRIORITY", is_right=True), Column("DEVICES", is_prose=True)] if is_wide else []
    names = [Column(heading) for heading in ("NAMESPACE", "POD", "SINCE")]
    return FittingTable([*names, *wide, Column("WHY", is_prose=True)], [_row(one, is_wide) for one in found])


def _row(one: PodWaiting, is_wide: bool) -> list[str]:
    devices = ", ".join(name for names in one.devices.values() for name in names)
    wide = [str(one.pod.priority), devices] if is_wide else []
    return [one.pod.ref.namespace, one.pod.ref.name, one.pod.created, *wide, _why(one)]


def _why(one: PodWaiting) -> str:
    if one.is_served:
        return "has its devices; the controller removes its gate"
    return one.reason or f"gets devices on {one.node} as soon as the controller runs"
