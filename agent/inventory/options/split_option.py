"""Reads ``--compute-instances``: on which GPUs a GPU instance may have several compute instances.

Takes the text of the option; returns a value, or one error. The option may name GPUs that the node does not
have yet: the description of the node lists what it leaves out.
"""

from __future__ import annotations

from typing import Final

from agent import node_options
from agent.inventory.model import SplitGpus
from agent.inventory.options.mode_option import read_numbers

OPTION: Final = node_options.COMPUTE_INSTANCES


def read_split_gpus(text: str | None) -> SplitGpus | None:
    """Return the GPUs that the option names, None without it. Raises: InvalidOption."""
    return None if text is None else SplitGpus(read_numbers(OPTION, text))
