"""Reads ``--compute-instances``: on which GPUs a GPU instance may have several compute instances.

Takes the text of the option; returns a value, or one error. The option may name GPUs that the node does not
have yet: the description of the node lists what it leaves out.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Final

from agent.inventory.model import SplitGpus
from agent.inventory.options.mode_option import read_numbers

OPTION: Final = "--compute-instances"


def add_option(parser: ArgumentParser) -> None:
    """Add the option. Agent and plugin of a node need equal values, since they name the same devices."""
    parser.add_argument(
        OPTION,
        metavar="NUMBERS",
        help="GPUs whose GPU instances are also offered in parts (1c.3g.20gb), to several claims: all, or "
        "numbers such as 0,2-5; default: none; agent and plugin of a node need the same value",
    )


def read_split_gpus(text: str | None) -> SplitGpus | None:
    """Return the GPUs that the option names, None without it. Raises: InvalidOption."""
    return None if text is None else SplitGpus(read_numbers(OPTION, text))
