"""Reads tables of GPU partitions: a shipped one, or a file with a table or with a Node."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from agent.inventory.model import Inventory, LinkedGpus
from agent.inventory.partitions import shipped_boards, shipped_table
from scheduler_core.base.errors import CoreError
from scheduler_core.frontends.partitions.node_table import NodeTable, node_table_of
from scheduler_core.frontends.partitions.table import HONOR, table_of
from tangram.documents import read_documents
from tangram.errors import BadInput, bad_argument
from tangram.program.streams import complain


def with_partitions(inventory: Inventory, options: Namespace) -> Inventory:
    """Return the inventory with the table of the options. Raises: BadInput for a bad one."""
    if options.partitions is None:
        if options.partition_policy is not None:
            rule = "has no effect without --partitions"
            raise bad_argument("--partition-policy", options.partition_policy, rule)
        return inventory
    found = _table(options.partitions, [entry.gpu.number for entry in inventory.gpus])
    table = found.table
    if table is None:
        raise bad_argument("--partitions", options.partitions, "has no table of partitions")
    for warning in table.warnings:
        complain(warning)
    is_honored = found.is_honored if options.partition_policy is None else options.partition_policy == HONOR
    return replace(inventory, linked=LinkedGpus(table, is_honored))


def _table(named: str, minors: list[int]) -> NodeTable:
    if named in shipped_boards():
        return NodeTable(table=shipped_table(named))
    (document, *others) = read_documents(named)
    if others:
        raise BadInput(f"{others[0].place}: is a second object; one table is enough")
    try:
        if document.content.get("kind") == "Node":
            return node_table_of(document.content, minors, any_name=True)
        return NodeTable(table=table_of(document.place, document.content, minors, any_name=True))
    except CoreError as error:
        raise BadInput(str(error)) from error
