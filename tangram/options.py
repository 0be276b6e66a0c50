"""Options that several subcommands take, and their checks."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from typing import Final

from scheduler_core.base.errors import shown
from scheduler_core.base.limits import POOL_NAME_LENGTH
from scheduler_core.model.names import DEFAULT_DRIVER, DRIVER_RULE, is_driver, is_pool
from tangram.errors import bad_argument
from tangram.face import Parser

CONFIGURED_DRIVER: Final = "Tangram's DRA driver, whose configurations are checked"


def add_driver_name(parser: Parser, purpose: str = "the DRA driver to publish as") -> None:
    """Add ``--driver-name``; it is None where it was not given."""
    parser.add_argument(
        "--driver-name",
        metavar="NAME",
        type=_driver_name,
        help=f"{purpose}; default: {DEFAULT_DRIVER}",
    )


def add_only_driver(parser: Parser) -> None:
    """Add ``--only-driver``; ``only_drivers`` is empty where it was not given."""
    parser.add_argument(
        "--only-driver",
        metavar="NAME",
        type=_driver_name,
        action="append",
        default=[],
        dest="only_drivers",
        help="only devices of this DRA driver; may be repeated; default: devices of all drivers",
    )


def _driver_name(text: str) -> str:
    if not is_driver(text):
        raise ArgumentTypeError(f"{shown(text)}: {DRIVER_RULE}")
    return text


def checked_node_name(name: str) -> str:
    """Return the name of a node, which becomes that of its pool. Raises: BadInput."""
    if "/" in name or not is_pool(name):
        raise bad_argument(
            "--node-name", name, f"must be a DNS subdomain of at most {POOL_NAME_LENGTH} characters"
        )
    return name


def host_name() -> str:
    """Return the node name that a kubelet on this host uses by default."""
    return os.uname().nodename.lower()
