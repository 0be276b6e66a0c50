"""The log of a program: one line for each record, on standard error, which the kubelet keeps."""

from __future__ import annotations

import logging
import sys
from typing import Final

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_standard_error() -> logging.Handler:
    """Set up the log from level INFO on, and return its handler."""
    # The format does not show these, so they are not looked up for every line.
    # Source: the logging HOWTO, "Optimization".
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    return handler
