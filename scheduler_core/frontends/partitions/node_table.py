"""What a Node or a Device object says of NVLink partitions: its table and its policy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.annotations.errors import InvalidNode
from scheduler_core.frontends.annotations.reading import SCHEDULING, choice
from scheduler_core.frontends.partitions.table import (
    HONOR,
    POLICY_LABEL,
    PREFER,
    TABLE,
    PartitionTable,
    table_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTable:
    """A node's table of partitions and its policy.

    Shape: ``table`` is None if the node has none; ``problem`` says why table or policy cannot be read. The
           node's GPUs are withheld then from pods that ask by amounts, whatever its label says: a table that
           cannot be read never counts as none.
    """

    table: PartitionTable | None = None
    is_honored: bool = False
    problem: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the node has neither a table nor a policy."""
        return self.table is None and not self.is_honored and not self.problem


def node_table_of(
    obj: Mapping[str, Any], minors: Collection[int] | None = None, *, any_name: bool = False
) -> NodeTable:
    """Return the table and policy in the annotations and labels of a Node or a Device object.

    Shape: ``minors`` are the node's GPUs, None where unknown; with ``any_name`` entries may name GPUs by
           address or module.
    Raises: InvalidNode.
    """
    subject = subject_of(obj, str(obj.get("kind") or "Node"))
    fields = Fields(obj, subject, "", InvalidNode)
    inner = fields.optional("metadata") if fields.has("metadata") else fields
    labels, annotations = inner.optional("labels"), inner.optional("annotations")
    policy = choice(labels, POLICY_LABEL, (HONOR, PREFER))
    text = annotations.text(SCHEDULING + TABLE) if annotations.has(SCHEDULING + TABLE) else None
    return NodeTable(
        table=table_of(subject, text, minors, any_name=any_name) if text is not None else None,
        is_honored=policy == HONOR,
    )


def node_table_or_problem(obj: Mapping[str, Any]) -> NodeTable:
    """Return the same, a mistake as the table's problem. For readers to which the Node is not an input.

    Entries are not compared with the node's GPUs: one that is lost costs its partitions and not the others.
    """
    try:
        return node_table_of(obj)
    except InvalidInput as error:
        return NodeTable(problem=str(error))


def effective_table(reported: NodeTable | None, annotated: NodeTable) -> NodeTable:
    """Return the one that counts of what a node's Device object and the Node itself say.

    The Device object counts where it has a table; otherwise the Node does, with its policy.
    """
    return reported if reported is not None and reported.table is not None else annotated
