"""``tangram allocate``: allocates claims from files, or prints why they do not fit."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import Any

from scheduler_core.codec.allocations import claim_status
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.objects import Objects
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation, Unallocatable, Undecided
from scheduler_core.search.answer import with_share_ids
from tangram.allocation_answer import answered, share_ids
from tangram.allocation_input import (
    add_allocation_input,
    read_allocation_input,
    warn_of_kube_scheduler,
)
from tangram.errors import BadInput
from tangram.face import DOES_NOT_FIT, DONE, Face, Subparsers, add_command
from tangram.pictures.allocation import allocation_picture, refusal_picture
from tangram.policies import POLICIES, add_policy
from tangram.preparable import driver_of, refuse_unpreparable, refuse_unreadable
from tangram.refusals import refusal_value
from tangram.summaries import SUMMARIES
from tangram.undecided import show_undecided


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "allocate",
        SUMMARIES["allocate"],
        "tangram show --node a100x2 --as v1 | tangram allocate -f - \\\n"
        "    -f deploy/examples/device-classes.yaml -f deploy/examples/mig-claim.yaml",
        _run,
    )
    add_allocation_input(parser)
    add_policy(parser)


def _run(options: Namespace, face: Face) -> int:
    if options.pods:
        from tangram.pods import run_pods

        return run_pods(options, face)
    asked = read_allocation_input(options)
    objects, pools = asked.objects, asked.cluster.pools
    refuse_unreadable(objects.claims, driver_of(options))
    engine = Engine(asked.state, POLICIES[options.policy])
    if asked.others or objects.pods:
        from tangram.pods_with_claims import allocate_pods, read_pods

        pods = read_pods(asked)
        if pods:
            return allocate_pods(pods, asked, engine, options, face)
        if not objects.claims:
            raise BadInput(f"{', '.join(options.files)}: no pod names a claim, and there is no claim")
    match answered(asked, engine):
        case Allocation() as allocation:
            refuse_unpreparable(allocation, pools, driver_of(options))
            warn_of_kube_scheduler(asked, allocation)
            if options.json:
                face.out.json(_answer(allocation, objects, pools))
            else:
                face.out.show(allocation_picture(allocation, pools, objects.allocated, face.out.width))
            return DONE
        case Unallocatable() as refusal:
            if options.json:
                face.out.json(refusal_value(refusal))
            else:
                face.out.show(refusal_picture(refusal))
            return DOES_NOT_FIT
        case Undecided() as undecided:
            return show_undecided(undecided, face, as_json=options.json)


def _answer(found: Allocation, objects: Objects, pools: Sequence[Pool]) -> dict[str, Any]:
    allocation = with_share_ids(found, pools, partial(next, share_ids(objects.claims)))
    claims = [
        {"claim": str(claim.ref), "status": claim_status(allocation, claim.ref)} for claim in objects.claims
    ]
    return {"allocated": True, "node": allocation.node, "claims": claims}
