"""Options of commands that can show a node: their names and helps, without what reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agent.node_options import POLICY, SHIPPED_BOARDS
from tangram.face import Parser

LABELS: Final = "--node-labels"
POLICIES: Final = ("Honor", "Prefer")


def add_partitions(parser: Parser) -> None:
    """Add the options that give a node a table."""
    parser.add_argument(
        "--partitions",
        metavar="TABLE",
        help=f"GPUs that links join: {', '.join(SHIPPED_BOARDS)}, or a file with a table or a Node",
    )
    parser.add_argument(
        "--partition-policy",
        type=str.capitalize,
        choices=POLICIES,
        help="Honor offers nothing that the table lacks; default: the Node's label, else Prefer",
    )


def add_policy(parser: Parser) -> None:
    """Add the options that say what the policy is, and for which labels of the node."""
    policy = "show the node under this policy; default: what of a policy is in effect on the machine"
    parser.add_argument(POLICY, type=Path, metavar="FILE", help=policy)
    parser.add_argument(LABELS, metavar="KEY=VALUE,...", help="with --policy: the labels of the node")
