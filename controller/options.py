"""The options of the controller, checked once: a value of this type can be used without further checks.

Takes a command line; returns a value or one error. Nothing is opened or made here.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from daemon import logs
from daemon.address import Address
from daemon.command_line import require
from daemon.logs import LogOptions
from daemon.metrics_options import MetricsOptions
from daemon.page import options as page_options
from scheduler_core.model.names import DEFAULT_DRIVER, DRIVER_RULE, LABEL_RULE, is_driver, is_label

DEFAULT_NAMESPACE: Final = "tangram-system"
_EXAMPLES: Final = """examples:
  in a Deployment, with the service account of its pod:
    tangram controller --metrics-address :9465
  outside a cluster:
    tangram controller --kubeconfig ~/.kube/config

Allocations stay when the controller ends: running pods do not need it.

exit status:
  0  it ran until SIGTERM or SIGINT
  1  it could not start: no API server was found
  2  wrong options; nothing was changed
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the controller allocates, and where it answers.

    Shape: ``kubeconfig`` and ``context`` None for the usual ones, else the pod's service account;
           ``metrics`` and ``probe_socket`` None to listen nowhere; ``decisions`` None to keep no log;
           ``ungate_after_s`` None to keep the gate until there are devices; ``namespace`` has the Lease and
           the Secret; ``webhook`` None to serve none; ``certificate_dir`` None to make certificates;
           ``page`` where the page is served, None for nowhere.
    Raises: InvalidOption naming the option, the value and the rule.
    """

    driver_name: str = DEFAULT_DRIVER
    kubeconfig: Path | None = None
    context: str | None = None
    metrics: Address | None = None
    probe_socket: Path | None = None
    decisions: Path | None = None
    ungate_after_s: float | None = None
    namespace: str = DEFAULT_NAMESPACE
    identity: str = "controller"
    webhook: Address | None = None
    certificate_dir: Path | None = None
    page: MetricsOptions | None = None
    log: LogOptions = field(default_factory=LogOptions)

    def __post_init__(self) -> None:
        require(is_driver(self.driver_name), "--driver-name", self.driver_name, DRIVER_RULE)
        require(is_label(self.namespace), "--namespace", self.namespace, LABEL_RULE)
        is_served = self.certificate_dir is None or self.webhook is not None
        require(is_served, "--certificate-dir", self.certificate_dir, "is for --webhook-address")
        if self.ungate_after_s is not None:
            is_possible = self.ungate_after_s >= 1
            require(is_possible, "--ungate-after", self.ungate_after_s, "must be at least 1 second")


def read_options(argv: Sequence[str] | None) -> Options:
    """Read a command line. Raises: InvalidOption; SystemExit after --help and for unknown options."""
    given = parser().parse_args(argv)
    return Options(
        driver_name=given.driver_name,
        kubeconfig=given.kubeconfig,
        context=given.context,
        metrics=Address.given("--metrics-address", given.metrics_address),
        probe_socket=given.probe_socket,
        decisions=given.decisions,
        ungate_after_s=given.ungate_after,
        namespace=given.namespace,
        identity=given.identity or socket.gethostname(),
        webhook=Address.given("--webhook-address", given.webhook_address),
        certificate_dir=given.certificate_dir,
        page=page_options.read_options(given),
        log=LogOptions.of(given),
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``tangram controller``."""
    made = argparse.ArgumentParser(
        prog="tangram controller",
        description="Allocate the claims of pending pods on the nodes that the controller owns.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("--driver-name", default=DEFAULT_DRIVER, metavar="NAME", help="default: %(default)s")
    add("--kubeconfig", type=Path, metavar="FILE", help="default: $KUBECONFIG, else the service account")
    add("--context", metavar="NAME", help="the context of the kubeconfig; default: its current one")
    address = "serve /metrics, /healthz and /readyz at this address; default: nowhere"
    add("--metrics-address", metavar="HOST:PORT", help=address)
    add("--probe-socket", type=Path, metavar="FILE", help="serve the same on this unix socket")
    add(
        "--decisions",
        type=Path,
        metavar="FILE",
        help="append every decision to this file, a JSON object a line",
    )
    ungate = "let a pod go without devices after this time, so that autoscalers see it; default: never"
    namespace = "where its Lease and Secret are; default: %(default)s"
    add("--namespace", default=DEFAULT_NAMESPACE, metavar="NAME", help=namespace)
    add("--identity", metavar="NAME", help="of this replica in the election; default: the host's name")
    webhook = "answer reviews of pods over HTTPS at this address; default: nowhere"
    add("--webhook-address", metavar="HOST:PORT", help=webhook)
    folder = "tls.crt and tls.key of the webhook, kept by others; default: the controller makes its own"
    add("--certificate-dir", type=Path, metavar="DIR", help=folder)
    add("--ungate-after", type=float, metavar="SECONDS", help=ungate)
    page_options.add_options(made)
    logs.add_options(made)
    return made
