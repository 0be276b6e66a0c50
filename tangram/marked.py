"""Claims of files whose annotations, or whose nodes' tables of partitions, ask for more than the API says."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.codec.documents import InvalidDocument
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.claims.annotated_advice import MarkedQuestion
from scheduler_core.frontends.claims.annotated_documents import claim_marks, node_tables
from scheduler_core.frontends.claims.many_nodes import allocate_marked_somewhere
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.model.result import Answer
from tangram.allocation_input import AllocationInput
from tangram.errors import BadInput
from tangram.program.streams import complain


def tables_of(asked: AllocationInput) -> Mapping[str, NodeTable]:
    """Return what the nodes of the files say of partitions, by name; warnings go to standard error.

    Raises: BadInput for a bad table.
    """
    try:
        found = node_tables(asked.documents, asked.objects.reported, asked.state, asked.nodes)
    except InvalidDocument as error:
        raise BadInput(str(error)) from error
    for warning in found.warnings:
        complain(warning)
    return found.by_node


def marked_answer(asked: AllocationInput, engine: Engine) -> Answer | None:
    """Return the answer to annotated claims, None where neither claims nor nodes are annotated.

    Raises: BadInput for a bad annotation.
    """
    question = marked_question(asked)
    return allocate_marked_somewhere(question.claims, question.marks, engine, question.nodes, question.tables)


def marked_question(asked: AllocationInput) -> MarkedQuestion:
    """Return the claims with their annotations. Raises: BadInput for a bad annotation."""
    try:
        marks = claim_marks(asked.documents)
    except InvalidDocument as error:
        raise BadInput(str(error)) from error
    return MarkedQuestion(asked.objects.claims, marks, asked.nodes, tables_of(asked))
