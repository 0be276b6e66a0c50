"""Reads ``--shared-gpus``: which GPUs of a node several claims may share.

Takes the text of the option; returns a value, or one error. The option may name GPUs that the node does not
have yet: the description of the node lists what it leaves out.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from typing import Final

from agent.inventory.model import SharedGpus
from daemon.command_line import require

OPTION: Final = "--shared-gpus"
_ALL: Final = "all"
_LAST_MINOR: Final = 255
_RANGE: Final = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?", re.ASCII)
_RULE: Final = f"must be all, or minors of GPUs from 0 to {_LAST_MINOR} such as 0,2-5"


def add_option(parser: ArgumentParser) -> None:
    """Add the option. Agent and plugin of a node need equal values, since they name the same devices."""
    parser.add_argument(
        OPTION,
        metavar="MINORS",
        help="GPUs that several claims may also share: all, or minors such as 0,2-5; default: none; "
        "agent and plugin of a node need the same value",
    )


def read_shared_gpus(text: str | None) -> SharedGpus | None:
    """Return the GPUs that the option names, None without it. Raises: InvalidOption."""
    return None if text is None else SharedGpus(read_minors(OPTION, text))


def read_minors(option: str, text: str) -> frozenset[int] | None:
    """Return the minors of the GPUs that an option names, None for all. Raises: InvalidOption."""
    if text == _ALL:
        return None
    minors: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        require(first <= last <= _LAST_MINOR, option, text, _RULE)
        minors.update(range(first, last + 1))
    return frozenset(minors)
