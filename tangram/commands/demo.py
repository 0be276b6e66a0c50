"""``tangram demo``: the main job on a simulated node, step by step."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from scheduler_core.model.names import DEFAULT_DRIVER
from scheduler_core.model.result import Allocation
from tangram.demo import act, decide, request
from tangram.demo.station import STATIONS, Station
from tangram.documents import read_documents
from tangram.face import DOES_NOT_FIT, DONE, Face, Subparsers, add_command
from tangram.machines import SimulatedNode
from tangram.node_options.offered import add_offered, read_offered
from tangram.options import add_driver_name
from tangram.program.completion import completes, node_names
from tangram.program.throwaway import throwaway_folder
from tangram.summaries import SUMMARIES


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "demo",
        SUMMARIES["demo"],
        "tangram demo --node a100x2 --until allocation",
        _run,
    )
    node = parser.add_argument(
        "--node",
        metavar="NODE",
        default="dgx-a100",
        help="a shipped machine or a node file; default: dgx-a100",
    )
    completes(node, node_names)
    parser.add_argument(
        "--claim", metavar="FILE", help="claims to allocate; default: one that suits the machine; - for stdin"
    )
    parser.add_argument("--until", metavar="STATION", choices=STATIONS, help=f"one of {', '.join(STATIONS)}")
    add_driver_name(parser)
    add_offered(parser)


def _run(options: Namespace, face: Face) -> int:
    driver = options.driver_name or DEFAULT_DRIVER
    asked, offered = _asked(options.claim, driver), read_offered(options)
    found: dict[str, Any] = {}
    is_end = False
    with throwaway_folder() as folder:
        workspace = act.Workspace(folder)
        node = face.machines.simulated(options.node, workspace.root / "machine")
        for station in _stations(node, workspace, decide.Decision(node.name, asked, offered), driver, face):
            found[station.name] = station.value
            is_end = station.is_end
            if not options.json:
                number = STATIONS.index(station.name) + 1
                face.out.heading(f"{number} {station.name}", station.made_by)
                face.out.show(station.picture)
            if station.name == options.until:
                break
    if options.json:
        face.out.json(found)
    return DOES_NOT_FIT if is_end else DONE


def _asked(path: str | None, driver: str) -> request.Asked | None:
    """Return what a file asks for, None without one: the claim is then made to suit the machine."""
    return None if path is None else request.from_documents(read_documents(path), driver)


def _stations(
    node: SimulatedNode, workspace: act.Workspace, decision: decide.Decision, driver: str, face: Face
) -> Iterator[Station]:
    options = workspace.options(driver, node.name, decision.offered)
    yield from decide.stations(node.machine.readers, decision, driver, face.out.width)
    if isinstance(decision.answer, Allocation) and decision.asked is not None:
        decided = (decision.asked, decision.answer)
        yield from act.stations(node.machine, options, workspace, decided, face.serve)
