"""Where and what a running plugin answers beside the kubelet's calls: metrics, probes, its status."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from daemon import metrics_options
from daemon.authorization import Review
from daemon.command_line import require
from daemon.metrics_options import MetricsOptions
from daemon.status.page import Status
from plugin.base.in_flight import CallsInFlight
from plugin.claim.driver import Driver


@dataclass(frozen=True, slots=True)
class Where:
    """Where the plugin tells of itself, None for nowhere.

    Shape: ``review`` asks the API server who may read the metrics, None where nobody asks it.
    """

    metrics: MetricsOptions | None
    probe_socket: Path | None
    review: Review | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace, reviewed: Callable[[Path | None], Review]) -> Self:
        """Read the arguments. Shape: ``reviewed`` finds the API server of a kubeconfig, to ask it.

        Raises: InvalidOption; what ``reviewed`` raises.
        """
        metrics = metrics_options.read_options(arguments)
        is_asked = metrics is not None and metrics.is_authorized
        rule = "asks an API server, which there is none of with --claims"
        has_server = arguments.claims is None
        require(has_server or not is_asked, "--metrics-authorization", metrics_options.TOKEN, rule)
        review = reviewed(arguments.kubeconfig) if is_asked else None
        return cls(metrics, arguments.probe_socket, review)


@contextmanager
def answered(
    where: Where, dra_socket: Path, driver: Driver, calls: CallsInFlight, status: Callable[[], Status]
) -> Iterator[None]:
    """Serve metrics and answer probes while the block runs. Raises: OSError."""
    if where.metrics is None and where.probe_socket is None:
        yield
        return
    from daemon import status_server  # noqa: PLC0415 - only who is asked loads a server
    from daemon.protection import protection_of  # noqa: PLC0415
    from daemon.status.control import CHANGES, control_of  # noqa: PLC0415
    from plugin.kubelet.liveness import answers_of  # noqa: PLC0415

    answers = answers_of(dra_socket, driver, calls)
    with ExitStack() as opened:
        if where.metrics is not None:
            address = (where.metrics.address.host, where.metrics.address.port)
            protection = protection_of(where.metrics, where.review)
            opened.enter_context(status_server.served_when_free(address, answers, protection=protection))
        if where.probe_socket is not None:
            more = control_of(status)
            probes = status_server.serving_probes(where.probe_socket, {**answers, **more}, CHANGES)
            opened.enter_context(probes)
        yield
