"""Where and what a running plugin answers beside the kubelet's calls: metrics, probes, its status."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from daemon.address import Address
from daemon.status.page import Status
from plugin.base.in_flight import CallsInFlight
from plugin.claim.driver import Driver


@dataclass(frozen=True, slots=True)
class Where:
    """Where the plugin tells of itself. Shape: None for nowhere."""

    metrics: Address | None
    probe_socket: Path | None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Self:
        """Read the arguments. Raises: InvalidOption."""
        metrics = Address.given("--metrics-address", arguments.metrics_address)
        return cls(metrics, arguments.probe_socket)


@contextmanager
def answered(
    where: Where, dra_socket: Path, driver: Driver, calls: CallsInFlight, status: Callable[[], Status]
) -> Iterator[None]:
    """Serve metrics and answer probes while the block runs. Raises: OSError."""
    if where.metrics is None and where.probe_socket is None:
        yield
        return
    from daemon import status_server  # noqa: PLC0415 - only who is asked loads a server
    from daemon.status.control import CHANGES, control_of  # noqa: PLC0415
    from plugin.kubelet.liveness import answers_of  # noqa: PLC0415

    answers = answers_of(dra_socket, driver, calls)
    with ExitStack() as opened:
        if where.metrics is not None:
            address = (where.metrics.host, where.metrics.port)
            opened.enter_context(status_server.served_when_free(address, answers))
        if where.probe_socket is not None:
            more = control_of(status)
            probes = status_server.serving_probes(where.probe_socket, {**answers, **more}, CHANGES)
            opened.enter_context(probes)
        yield
