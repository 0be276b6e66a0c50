"""``tangram explain``: why claims do not fit, or why they get these devices and not others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.comparison.best_fit_reasons import BestFitChoice, best_fit_choices
from scheduler_core.comparison.elsewhere import NOWHERE, Elsewhere, compare_elsewhere
from scheduler_core.engine.decider import AnsweredBy, Solver
from scheduler_core.engine.engine import Engine
from scheduler_core.explain.first_fit_reasons import FirstFitChoice, first_fit_choices
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Answer, Unallocatable, Undecided
from tangram.allocation_input import (
    AllocationInput,
    add_allocation_input,
    read_allocation_input,
    warn_of_kube_scheduler,
)
from tangram.cluster_options import add_cluster, check_cluster
from tangram.cluster_question import check_files
from tangram.commands.explain_pod import add_pod, check_without_pod, explain_pod, take_claim
from tangram.errors import BadInput
from tangram.face import DONE, Face, Subparsers, add_command
from tangram.pictures.allocation import allocation_picture
from tangram.pictures.explanation import choices_picture
from tangram.pictures.weighing import elsewhere_picture, weighed_picture
from tangram.plain import plain
from tangram.policies import BEST_FIT, POLICIES, add_policy
from tangram.preparable import driver_of, refused_at_prepare
from tangram.program.streams import complain
from tangram.summaries import SUMMARIES
from tangram.told import Told
from tangram.undecided import undecided_told


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "explain",
        SUMMARIES["explain"],
        "tangram show --node a100x2 --as v1 | tangram explain -f - \\\n"
        "    -f deploy/examples/device-classes.yaml -f deploy/examples/mig-claim.yaml\n"
        "  tangram explain pod/train-0 -n team-a\n"
        "  tangram explain pod/train-0 -n team-a --why-not node-7\n"
        "  tangram explain claim/train-0-gpus -n team-a",
        _run,
    )
    add_pod(parser)
    add_allocation_input(parser, needs_files=False)
    add_policy(parser)
    parser.set_defaults(policy=None)
    add_cluster(
        parser,
        "a claim of a running cluster; the policy is then that of who allocates it: first-fit of "
        "kube-scheduler, best-fit of the controller",
    )
    parser.add_argument(
        "--why-not",
        metavar="NODE|DEVICE",
        help="explain this node or device alone; a device as NAME, or POOL/NAME where several pools have it",
    )
    parser.add_argument(
        "--claim", metavar="[NS/]NAME", help="with --cluster: the claim, pending or allocated"
    )


def _run(options: Namespace, face: Face) -> int:
    take_claim(options)
    if options.subject is not None:
        return explain_pod(options, face)
    check_without_pod(options)
    if options.pods:
        from tangram.explaining.pods import explain_pods

        return explain_pods(options, face)
    check_cluster(options, ("files",), own=("claim",))
    if options.cluster:
        from tangram.explaining.cluster_claim import claim_told

        told = claim_told(options, face, partial(_answer, options, face.out.width))
    else:
        check_files(options)
        asked = read_allocation_input(options)
        for one in asked.others:
            what = f"{one.content['kind']} is passed over: its claims are explained, not its pods"
            complain(f"{one.place}: {what}")
        told = _answer(options, face.out.width, asked, options.policy or BEST_FIT)
    return told.show(face, as_json=options.json)


def _answer(
    options: Namespace, width: int, asked: AllocationInput, policy: str, held: AllocatedClaim | None = None
) -> Told:
    """Answer a question. Shape: ``width`` of the terminal in columns. Raises: BadInput."""
    engine = Engine(asked.state, POLICIES[policy])
    if options.why_not is not None:
        from tangram.explaining.asked import asked_in
        from tangram.explaining.why_not import why_not

        return why_not(options.why_not, asked_in(asked), engine, width)
    if asked.may_be_marked:
        from tangram.marked import marked_answer

        marked = marked_answer(asked, engine)
        if marked is not None:
            return _marked_told(marked, asked, engine, options, width)
    match _decided(asked, engine):
        case Allocation() as allocation:
            warn_of_kube_scheduler(asked, allocation)
            answered_by = _answered_by(engine, allocation, asked)
            is_weighed = policy == BEST_FIT and answered_by.solver is Solver.TABLES
            others = _elsewhere(allocation, asked, engine)
            tell = _weighed if is_weighed else _in_order
            explained = tell(allocation, asked, others)
            refused = refused_at_prepare(allocation, held, asked.cluster.pools, driver_of(options))
            explained = replace(explained, answered_by=answered_by, refused=refused)
            return _told(explained, policy, asked, width)
        case Unallocatable() as refusal:
            from tangram.explaining.asked import asked_in
            from tangram.explaining.refusal import refusal_told

            return refusal_told(refusal, asked_in(asked), engine, width)
        case Undecided() as undecided:
            return undecided_told(undecided)


def _decided(asked: AllocationInput, engine: Engine) -> Answer:
    """Return the answer. Raises: BadInput for a selector that fails on a device, with what was meant."""
    try:
        return engine.allocate_somewhere(asked.objects.claims, asked.nodes)
    except SelectorError as error:
        from scheduler_core.advice.misspelt import what_was_meant

        meant = what_was_meant(asked.objects.claims, engine, asked.nodes)
        raise BadInput(f"{error}{meant}") from error


def _marked_told(
    found: Answer, asked: AllocationInput, engine: Engine, options: Namespace, width: int
) -> Told:
    from tangram.explaining.marked import marked_choice_told, marked_refusal_told

    match found:
        case Undecided():
            return undecided_told(found)
        case Unallocatable():
            return marked_refusal_told(found, asked, engine, width)
        case Allocation():
            refused = refused_at_prepare(found, None, asked.cluster.pools, driver_of(options))
            return marked_choice_told(found, asked, refused, _refused_lines(refused), width)


@dataclass(frozen=True, slots=True)
class _Explained:
    """An allocation and why it is as it is.

    Shape: ``chosen_by`` ends the sentence "chosen by ..."; ``refused`` is what the plugin would not prepare.
    """

    allocation: Allocation
    chosen_by: str
    choices: Sequence[FirstFitChoice] | Sequence[BestFitChoice]
    picture: RenderableType
    others: Elsewhere = NOWHERE
    answered_by: AnsweredBy | None = None
    refused: Sequence[str] = ()


def _answered_by(engine: Engine, allocation: Allocation, asked: AllocationInput) -> AnsweredBy:
    """Return which solver answered on the node of the allocation, and why not the tables."""
    engine.decide(asked.objects.claims, _node(allocation.node, asked))
    return engine.answered_by


def _elsewhere(allocation: Allocation, asked: AllocationInput, engine: Engine) -> Elsewhere:
    claims = asked.objects.claims
    return compare_elsewhere(allocation, claims, engine, asked.nodes, lambda _: asked.cluster)


def _weighed(allocation: Allocation, asked: AllocationInput, others: Elsewhere) -> _Explained:
    found = best_fit_choices(allocation, asked.objects.claims, asked.cluster, _node(allocation.node, asked))
    by = "what is left for later claims"
    picture = Group(weighed_picture(found), elsewhere_picture(others))
    return _Explained(allocation, by, found, picture, others)


def _in_order(allocation: Allocation, asked: AllocationInput, others: Elsewhere) -> _Explained:
    found = first_fit_choices(allocation, asked.objects.claims, asked.cluster, _node(allocation.node, asked))
    picture = Group(choices_picture(found), elsewhere_picture(others, is_first_fit=True))
    return _Explained(allocation, "listed order", found, picture, others)


def _told(explained: _Explained, policy: str, asked: AllocationInput, width: int) -> Told:
    allocation, cluster = explained.allocation, asked.cluster
    value = {
        "allocated": True,
        "node": allocation.node,
        "policy": policy,
        "chosenBy": explained.chosen_by,
        "solver": plain(explained.answered_by),
        "choices": plain(explained.choices),
        "elsewhere": plain(explained.others.nodes),
        "notExplained": list(explained.others.rest),
        "refusedAtPrepare": plain(explained.refused),
    }
    head = f"policy {policy}, chosen by {explained.chosen_by}"
    picture = allocation_picture(allocation, cluster.pools, cluster.allocated, width)
    return Told(DONE, value, (picture, "", head, explained.picture, *_refused_lines(explained.refused)))


def _refused_lines(refused: Sequence[str]) -> list[RenderableType]:
    return [Text(f"the plugin would refuse to prepare it: {sentence}") for sentence in refused]


def _node(name: str, asked: AllocationInput) -> Node:
    return next(node for node in asked.nodes if node.name == name)
