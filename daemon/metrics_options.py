"""The options that say where a program tells its metrics, and to whom. Read and checked, nothing is opened.

An address that others than the node can reach is served with TLS and to those whom the API server allows, or
the user says in so many words that everybody may read it.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.address import Address
from daemon.command_line import require

_AUTHORIZATION: Final = "--metrics-authorization"
_TLS: Final = "--metrics-tls-cert and --metrics-tls-key"
TOKEN: Final = "token"  # noqa: S105 - the name of a choice
NONE: Final = "none"


@dataclass(frozen=True, slots=True)
class MetricsOptions:
    """Where metrics are served. Shape: ``certificate`` and ``key`` None for plain HTTP.

    ``is_authorized`` whether callers need a token that the API server allows to read them.
    """

    address: Address
    certificate: Path | None = None
    key: Path | None = None
    is_authorized: bool = False


def add_options(parser: argparse.ArgumentParser, paths: str) -> None:
    """Add the options. Shape: ``paths`` are those that the program serves, for the help."""
    add = parser.add_argument
    add("--metrics-address", metavar="HOST:PORT", help=f"serve {paths} at this address; default: nowhere")
    add("--metrics-tls-cert", type=Path, metavar="FILE", help="serve it by TLS, with this certificate (PEM)")
    add("--metrics-tls-key", type=Path, metavar="FILE", help="its key; both are read again when they change")
    authorization = (
        "token: /metrics is for callers whose bearer token the API server knows (TokenReview) and allows to "
        "get the nonResourceURL /metrics (SubjectAccessReview); none: for everybody who reaches the address; "
        "default: none on a loopback address, any other needs TLS and token, or none given here"
    )
    add(_AUTHORIZATION, choices=(TOKEN, NONE), help=authorization)


def read_options(given: argparse.Namespace) -> MetricsOptions | None:
    """Return where metrics are served, None for nowhere. Raises: InvalidOption."""
    address = Address.given("--metrics-address", given.metrics_address)
    certificate, key, chosen = given.metrics_tls_cert, given.metrics_tls_key, given.metrics_authorization
    alone = certificate or key or chosen
    require(address is not None or not alone, "--metrics-address", None, f"must be given with {_TLS}")
    if address is None:
        return None
    together = "must be given together"
    require((certificate is None) == (key is None), _TLS, certificate or key, together)
    rule = f"needs {_TLS}: a token must not cross a network in the clear"
    require(chosen != TOKEN or certificate is not None, _AUTHORIZATION, chosen, rule)
    rule = (
        f"is no loopback address: give {_TLS} and {_AUTHORIZATION}=token, or {_AUTHORIZATION}=none if "
        "everybody who reaches it may read it"
    )
    shown = f"{address.host}:{address.port}"
    require(chosen is not None or address.is_loopback, "--metrics-address", shown, rule)
    return MetricsOptions(address, certificate, key, chosen == TOKEN)
