"""Options that several subcommands take, and their checks."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError

from agent.inventory import DEFAULT_DRIVER
from scheduler_core.errors import shown
from scheduler_core.names import DRIVER_RULE, is_driver
from tangram.face import Parser


def add_driver_name(parser: Parser) -> None:
    """Add ``--driver-name``."""
    parser.add_argument(
        "--driver-name",
        metavar="NAME",
        type=_driver_name,
        default=DEFAULT_DRIVER,
        help=f"the DRA driver to publish as; default: {DEFAULT_DRIVER}",
    )


def _driver_name(text: str) -> str:
    if not is_driver(text):
        raise ArgumentTypeError(f"{shown(text)}: {DRIVER_RULE}")
    return text


def host_name() -> str:
    """Return what kubelets call this host unless they are told otherwise."""
    return os.uname().nodename.lower()
