"""Reads ``--partitions`` and ``--partition-policy``: a table of NVLink partitions, shipped or from a file.

Takes the texts of the two options; returns the table, or one error. The table may name GPUs that the node
does not have yet: the description of the node lists the partitions that it leaves out.
"""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from pathlib import Path

from agent.inventory.model import LinkedGpus
from agent.inventory.partitions import shipped_boards, shipped_table
from daemon import documents
from daemon.document import Document, NotReadable
from scheduler_core.base.errors import CoreError, message
from scheduler_core.frontends.partitions.node_table import node_table_of
from scheduler_core.frontends.partitions.table import HONOR, PREFER, PartitionTable, table_of

_log = logging.getLogger(__name__)


class BadTable(Exception):
    """A table of partitions, or an option that names one, that a user must correct."""


def add_options(parser: ArgumentParser) -> None:
    """Add the two options. Agent and plugin of a node need equal values, since they name the same devices."""
    boards = ", ".join(shipped_boards())
    parser.add_argument(
        "--partitions",
        metavar="TABLE",
        help=f"groups of GPUs joined by NVLink, offered as devices: {boards}, or a file (table or Node); "
        "agent and plugin of a node need the same value",
    )
    parser.add_argument(
        "--partition-policy",
        type=str.capitalize,
        choices=(HONOR, PREFER),
        help="honor: offer only the GPUs and groups of the table; default: the Node's label, else prefer",
    )


def read_table(table: str | None, policy: str | None) -> LinkedGpus | None:
    """Return the table that the options name, None without one; log warnings about it.

    Shape: ``policy`` Honor, Prefer or None.
    Raises: BadTable naming the option or the file, the value and the rule.
    """
    if table is None:
        if policy is not None:
            raise BadTable(message("--partition-policy", "", policy, "has no effect without --partitions"))
        return None
    found, is_honored = (shipped_table(table), False) if table in shipped_boards() else _file(table)
    if found is None or not any(found.by_size.values()):
        raise BadTable(message("--partitions", "", table, "has no table of partitions"))
    for warning in found.warnings:
        _log.warning("--partitions %s: %s", table, warning)
    return LinkedGpus(found, is_honored if policy is None else policy == HONOR)


def _file(path: str) -> tuple[PartitionTable | None, bool]:
    """Return the table of a file, None for a Node without one, and whether the Node's label honors it."""
    document = _document(path)
    try:
        if isinstance(document.content, dict) and document.content.get("kind") == "Node":
            node = node_table_of(document.content, any_name=True)
            return node.table, node.is_honored
        return table_of(document.place, document.content, any_name=True), False
    except CoreError as error:
        raise BadTable(f"--partitions: {error}") from error


def _document(path: str) -> Document:
    try:
        text = documents.decode(path, documents.read_bytes(Path(path)))
        found = tuple(documents.documents(path, text))
    except OSError as error:
        known = ", ".join(shipped_boards())
        rule = f"cannot be read: {error.strerror or error}; shipped tables are {known}"
        raise BadTable(message("--partitions", "", path, rule)) from error
    except NotReadable as error:
        raise BadTable(f"--partitions: {error}") from error
    if len(found) != 1:
        raise BadTable(message("--partitions", "", path, f"must hold one table, found {len(found)}"))
    return found[0]
