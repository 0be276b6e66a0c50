"""The options that say where a program serves the page, and to whom: those of metrics, by other names."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from daemon.metrics_options import NONE, TOKEN, MetricsOptions, protected

RIGHT: Final = "/tangram/page"
"""The nonResourceURL that a caller must be allowed to get."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--page-address", metavar="HOST:PORT", help="serve the page of who holds what; default: nowhere")
    add("--page-tls-cert", type=Path, metavar="FILE", help="serve it by TLS, with this certificate (PEM)")
    add("--page-tls-key", type=Path, metavar="FILE", help="its key; both are read again when they change")
    authorization = (
        f"token: for callers whose token the API server allows to get the nonResourceURL {RIGHT}; none: for "
        "everybody who reaches the address; default: none on a loopback address, any other needs TLS and "
        "token, or none given here"
    )
    add("--page-authorization", choices=(TOKEN, NONE), help=authorization)


def read_options(given: argparse.Namespace) -> MetricsOptions | None:
    """Return where the page is served, None for nowhere. Raises: InvalidOption."""
    return protected("page", given)
