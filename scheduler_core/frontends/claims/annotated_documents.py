"""What the annotations of documents say: joint allocation of claims, and partitions of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.documents import Document, decoded
from scheduler_core.frontends.claims.annotated_claims import marks_of
from scheduler_core.frontends.claims.claim_demands import Marks
from scheduler_core.frontends.partitions.device_value import DeviceObject
from scheduler_core.frontends.partitions.node_table import NodeTable, effective_table, node_table_of
from scheduler_core.frontends.pods.hints import GPU
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState


@dataclass(frozen=True, slots=True)
class NodeTables:
    """What nodes say of partitions.

    Shape: ``by_node`` the table that counts on each node; ``warnings`` of all tables, those that do not
           count too, in the order of reading.
    """

    by_node: Mapping[str, NodeTable]
    warnings: tuple[str, ...]


def node_tables(
    documents: Iterable[Document],
    reported: Sequence[DeviceObject],
    state: ClusterState,
    nodes: Sequence[Node],
) -> NodeTables:
    """Return the tables of Device objects and of Node documents; other documents are skipped.

    Shape: a Node's table is checked against the GPUs that the cluster has on it, if it is one of ``nodes``.
    Raises: InvalidDocument for a bad table.
    """
    placer = PodPlacer(state)
    published = {node.name: placer.numbers(GPU, node) or None for node in nodes}
    tables = {one.node: one.table for one in reported}
    read = [one.table for one in reported]
    for document in documents:
        if document.content.get("kind") != "Node":
            continue
        name = str(document.content["metadata"]["name"])
        annotated = decoded(document, partial(node_table_of, minors=published.get(name)))
        read.append(annotated)
        tables[name] = effective_table(tables.get(name), annotated)
    warnings = tuple(text for one in read if one.table is not None for text in one.table.warnings)
    return NodeTables(tables, warnings)


def claim_marks(documents: Iterable[Document]) -> Mapping[ClaimRef, Marks]:
    """Return what ResourceClaims say in annotations; other documents are skipped.

    Raises: InvalidDocument for a bad annotation.
    """
    found = {}
    for document in documents:
        if document.content.get("kind") == "ResourceClaim":
            metadata = document.content["metadata"]
            ref = ClaimRef(metadata.get("namespace") or "default", metadata["name"])
            found[ref] = decoded(document, marks_of)
    return found
