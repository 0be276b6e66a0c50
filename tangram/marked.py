"""What files say beside the API: annotations of claims, and tables of partitions of nodes."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from scheduler_core.base.errors import CoreError
from scheduler_core.frontends.pods.annotated_claims import allocate_marked, marks_of
from scheduler_core.frontends.pods.claim_demands import Marks
from scheduler_core.frontends.pods.hints import GPU
from scheduler_core.frontends.pods.node_devices import NodeDevices
from scheduler_core.frontends.pods.place import NodeTable, node_table_of
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.result import Allocation, Answer, Unallocatable, Undecided
from tangram.allocation_input import AllocationInput
from tangram.errors import BadInput


def tables_of(asked: AllocationInput) -> Mapping[str, NodeTable]:
    """Return what the nodes of the files say of partitions, by name; warnings go to standard error.

    Raises: BadInput for a bad table. It is checked against the GPUs that the node publishes.
    """
    minors = {node.name: NodeDevices(asked.cluster, node).numbers(GPU) or None for node in asked.nodes}
    tables = {one.node: one.table for one in asked.objects.reported}
    for one in asked.objects.reported:
        _tell(one.table)
    for document in asked.documents:
        if document.content.get("kind") != "Node":
            continue
        name = str(document.content["metadata"]["name"])
        try:
            found = node_table_of(document.content, minors.get(name))
        except CoreError as error:
            raise BadInput(f"{document.place}: {error}") from error
        _tell(found)
        known = tables.get(name, NodeTable())
        # A Device object's table is more than a Node's; without one there the Node's policy stands.
        tables[name] = known if known.table is not None else found
    return tables


def _tell(found: NodeTable) -> None:
    for warning in found.table.warnings if found.table is not None else ():
        print(f"tangram: {warning}", file=sys.stderr)


def marked_answer(asked: AllocationInput) -> Answer | None:
    """Return the answer of the first node that fits, None where neither claims nor nodes are annotated.

    Raises: BadInput for a bad annotation.
    """
    marks = _marks(asked)
    tables = tables_of(asked)
    if set(marks.values()) <= {Marks()} and all(table.is_silent for table in tables.values()):
        return None
    others: list[Unallocatable | Undecided] = []
    for node in asked.nodes:
        found = allocate_marked(asked.objects.claims, marks, asked.cluster, node, tables.get(node.name))
        if isinstance(found, Allocation):
            return found
        others.append(found)
    return next((one for one in others if isinstance(one, Undecided)), others[0] if others else None)


def _marks(asked: AllocationInput) -> Mapping[ClaimRef, Marks]:
    found = {}
    for document in asked.documents:
        if document.content.get("kind") != "ResourceClaim":
            continue
        metadata = document.content["metadata"]
        try:
            marks = marks_of(document.content)
        except CoreError as error:
            raise BadInput(f"{document.place}: {error}") from error
        found[ClaimRef(metadata.get("namespace") or "default", metadata["name"])] = marks
    return found
