"""``tangram plan``: does a workload fit, how much more fits, and what to end or add so that it does."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from typing import Final

from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.occupancy.meter import GpuMeter
from scheduler_core.model.result import Allocation
from scheduler_core.planning.kinds import kinds_of
from scheduler_core.planning.node_kinds import Buyable
from scheduler_core.planning.plan import Where, Workload, plan, room_by_kind
from scheduler_core.state.cluster_state import ClusterState
from tangram.errors import bad_argument
from tangram.face import DOES_NOT_FIT, DONE, UNDECIDED, Face, Subparsers, add_command
from tangram.planning.nodes import add_kinds, node_kind
from tangram.planning.plan_picture import plan_picture, plan_value, room_picture, room_value
from tangram.planning.reading import KEYS, Known, add_known, read_claims, read_known
from tangram.policies import POLICIES, add_policy
from tangram.preparable import refuse_unpreparable, refuse_unreadable
from tangram.program.streams import complain
from tangram.summaries import SUMMARIES

_MOST_COPIES: Final = 100_000


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    example = """tangram plan --add 4=dgx-a100
  tangram plan --add 2=a100x2 --claim deploy/examples/mig-claim.yaml --count 5
  tangram plan --cluster --claim train.yaml --count 40 --may-add dgx-a100

exit status:
  0  all copies fit, or no claim is asked about
  1  they do not all fit under --policy
  2  wrong input
  3  the API server cannot be reached
  4  the search stopped at its bound before all copies were decided"""
    parser = add_command(parsers, "plan", SUMMARIES["plan"], example, _run)
    add_known(parser)
    parser.add_argument(
        "--claim",
        action="append",
        metavar="FILE",
        dest="claims",
        help="the workload: claims or templates that are allocated together on one node; may be repeated",
    )
    parser.add_argument("--count", type=_count, metavar="N", help="copies of the workload; default: 1")
    add_kinds(parser)
    add_policy(parser, "both are shown; this one decides the exit status and what to end: ")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) <= _MOST_COPIES:
        return int(text)
    raise ArgumentTypeError(f"{text!r}: must be a whole number from 1 to {_MOST_COPIES}")


def _run(options: Namespace, face: Face) -> int:
    if options.count is not None and not options.claims:
        raise bad_argument("--count", str(options.count), "is for --claim")
    if options.may_add and not options.claims:
        raise bad_argument("--may-add", options.may_add[0], "is for --claim")
    known = read_known(options, face)
    _tell_waiting(known)
    where = Where(
        nodes=known.nodes,
        kinds=kinds_of(known.cluster.pools, KEYS),
        specs=known.specs,
        buyable=Buyable(
            kinds=[node_kind(one, face.machines, known.driver) for one in dict.fromkeys(options.may_add)],
            names=known.added,
        ),
        fragmentation=lambda state: GpuMeter(state).read().room.fragmentation,
    )
    engines = {name: Engine(ClusterState.of(known.cluster), one) for name, one in POLICIES.items()}
    if not options.claims:
        rooms = room_by_kind(engines[options.policy], where)
        if options.json:
            face.out.json({"room": room_value(rooms)})
        else:
            face.out.show(room_picture(rooms, len(known.nodes)))
        return DONE
    workload = Workload(claims=read_claims(options.claims), count=options.count or 1)
    refuse_unreadable(workload.claims, known.driver)
    first = engines[options.policy].decide_somewhere(workload.claims, known.nodes)
    if isinstance(first, Allocation):
        refuse_unpreparable(first, known.cluster.pools, known.driver)
    found = plan(engines, workload, where, options.policy)
    if options.json:
        face.out.json(plan_value(found, workload, options.policy))
    else:
        face.out.show(plan_picture(found, workload, options.policy))
    placement = found.outcomes[options.policy].placement
    if placement.undecided is not None:
        return UNDECIDED
    return DONE if placement.placed == placement.asked else DOES_NOT_FIT


def _tell_waiting(known: Known) -> None:
    if known.waiting:
        names = ", ".join(str(claim.ref) for claim in known.waiting)
        complain(f"claims without devices are not planned for: {names}; give them with --claim")
