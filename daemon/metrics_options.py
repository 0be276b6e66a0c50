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
    return protected("metrics", given)


def protected(what: str, given: argparse.Namespace) -> MetricsOptions | None:
    """Return where something is served, by its four options. Raises: InvalidOption.

    Shape: ``what`` begins their names, such as ``metrics`` or ``page``.
    """
    option, authorization = f"--{what}-address", f"--{what}-authorization"
    tls = f"--{what}-tls-cert and --{what}-tls-key"
    address = Address.given(option, getattr(given, f"{what}_address"))
    certificate, key = getattr(given, f"{what}_tls_cert"), getattr(given, f"{what}_tls_key")
    chosen = getattr(given, f"{what}_authorization")
    alone = certificate or key or chosen
    require(address is not None or not alone, option, None, f"must be given with {tls}")
    if address is None:
        return None
    require((certificate is None) == (key is None), tls, certificate or key, "must be given together")
    rule = f"needs {tls}: a token must not cross a network in the clear"
    require(chosen != TOKEN or certificate is not None, authorization, chosen, rule)
    rule = (
        f"is no loopback address: give {tls} and {authorization}=token, or {authorization}=none if "
        "everybody who reaches it may read it"
    )
    shown = f"{address.host}:{address.port}"
    require(chosen is not None or address.is_loopback, option, shown, rule)
    return MetricsOptions(address, certificate, key, chosen == TOKEN)
