"""``tangram explain``: why claims do not fit, or why they get these devices and not others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace

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
from tangram.allocation_input import AllocationInput, add_allocation_input, read_allocation_input
from tangram.cluster_options import add_cluster, check_cluster
from tangram.cluster_question import check_files, read_question
from tangram.commands.explain_pod import add_pod, check_without_pod, explain_pod, take_claim
from tangram.errors import BadInput
from tangram.face import DONE, Face, Subparsers, add_command
from tangram.pictures.allocation import allocation_picture
from tangram.pictures.explanation import choices_picture
from tangram.pictures.held import held_picture
from tangram.pictures.weighing import elsewhere_picture, weighed_picture
from tangram.plain import plain
from tangram.policies import BEST_FIT, FIRST_FIT, POLICIES, add_policy
from tangram.preparable import driver_of, refused_at_prepare
from tangram.summaries import SUMMARIES
from tangram.undecided import show_undecided


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
    add_cluster(parser, "a claim of a running cluster; the policy is then kube-scheduler's, first-fit")
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
    options.policy = options.policy or (FIRST_FIT if options.cluster else BEST_FIT)
    if not options.cluster:
        check_files(options)
        return _answer(read_allocation_input(options), options, face)
    question = read_question(options, face)
    if question.held is not None and not options.json:
        face.out.show(held_picture(question.held))
    return _answer(question.asked, options, face, question.held)


def _answer(
    asked: AllocationInput, options: Namespace, face: Face, held: AllocatedClaim | None = None
) -> int:
    engine = Engine(asked.state, POLICIES[options.policy])
    if options.why_not is not None:
        from tangram.explaining.asked import asked_in
        from tangram.explaining.why_not import why_not

        told = why_not(options.why_not, asked_in(asked), engine, face.out.width)
        return told.show(face, as_json=options.json)
    if asked.may_be_marked:
        from tangram.marked import marked_answer

        marked = marked_answer(asked, engine)
        if marked is not None:
            return _tell_marked(marked, asked, engine, options, face)
    match _decided(asked, engine):
        case Allocation() as allocation:
            answered_by = _answered_by(engine, allocation, asked)
            is_weighed = options.policy == BEST_FIT and answered_by.solver is Solver.TABLES
            others = _elsewhere(allocation, asked, engine)
            tell = _weighed if is_weighed else _in_order
            explained = tell(allocation, asked, others)
            refused = refused_at_prepare(allocation, held, asked.cluster.pools, driver_of(options))
            explained = replace(explained, answered_by=answered_by, refused=refused)
            _tell(explained, options, asked, face)
            return DONE
        case Unallocatable() as refusal:
            from tangram.explaining.asked import asked_in
            from tangram.explaining.refusal import refusal_told

            told = refusal_told(refusal, asked_in(asked), engine, face.out.width)
            return told.show(face, as_json=options.json)
        case Undecided() as undecided:
            return show_undecided(undecided, face, as_json=options.json)


def _decided(asked: AllocationInput, engine: Engine) -> Answer:
    """Return the answer. Raises: BadInput for a selector that fails on a device, with what was meant."""
    try:
        return engine.allocate_somewhere(asked.objects.claims, asked.nodes)
    except SelectorError as error:
        from scheduler_core.advice.misspelt import what_was_meant

        meant = what_was_meant(asked.objects.claims, engine, asked.nodes)
        raise BadInput(f"{error}{meant}") from error


def _tell_marked(
    found: Answer, asked: AllocationInput, engine: Engine, options: Namespace, face: Face
) -> int:
    from tangram.explaining.marked import marked_choice_told, marked_refusal_told

    width = face.out.width
    match found:
        case Undecided():
            return show_undecided(found, face, as_json=options.json)
        case Unallocatable():
            told = marked_refusal_told(found, asked, engine, width)
        case Allocation():
            refused = refused_at_prepare(found, None, asked.cluster.pools, driver_of(options))
            told = marked_choice_told(found, asked, refused, _refused_lines(refused), width)
    return told.show(face, as_json=options.json)


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


def _tell(explained: _Explained, options: Namespace, asked: AllocationInput, face: Face) -> None:
    allocation, cluster = explained.allocation, asked.cluster
    if options.json:
        face.out.json(
            {
                "allocated": True,
                "node": allocation.node,
                "policy": options.policy,
                "chosenBy": explained.chosen_by,
                "solver": plain(explained.answered_by),
                "choices": plain(explained.choices),
                "elsewhere": plain(explained.others.nodes),
                "notExplained": list(explained.others.rest),
                "refusedAtPrepare": plain(explained.refused),
            }
        )
        return
    head = f"policy {options.policy}, chosen by {explained.chosen_by}"
    face.out.show(allocation_picture(allocation, cluster.pools, cluster.allocated, face.out.width))
    face.out.show("", head, explained.picture, *_refused_lines(explained.refused))


def _refused_lines(refused: Sequence[str]) -> list[RenderableType]:
    return [Text(f"the plugin would refuse to prepare it: {sentence}") for sentence in refused]


def _node(name: str, asked: AllocationInput) -> Node:
    return next(node for node in asked.nodes if node.name == name)
