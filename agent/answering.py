"""What a running agent answers: metrics, probes, status, and changes of the level of its log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from agent.api import metrics_review
from agent.options import Options
from agent.publishing.loop import Agent
from agent.publishing.metrics import Metrics
from daemon.oldest_server import OldestServer
from daemon.status.on_signal import log_on_signal
from daemon.status.page import Status

_UNREADY: Final = "nothing is published yet"


def serve(
    options: Options,
    metrics: Metrics,
    asked: tuple[Agent, OldestServer],
    status: Callable[[], Status],
    opened: ExitStack,
) -> None:
    """Answer where the options say so, until ``opened`` ends, and SIGUSR1 in the log.

    Shape: ``asked`` who says whether all is well.
    Raises: OSError where the probe socket cannot be made.
    """
    log_on_signal(status)
    if options.metrics is None and options.probe_socket is None:
        return
    from daemon import status_server  # noqa: PLC0415 - only a program that serves loads a server
    from daemon.protection import protection_of  # noqa: PLC0415
    from daemon.status.control import CHANGES, control_of  # noqa: PLC0415

    agent, server = asked

    def idle_s() -> float:
        return 0.0 if server.is_refused else agent.idle_s()  # a restart would help nobody

    answers = status_server.answers_of(metrics, idle_s, lambda: agent.is_ready, _UNREADY)
    if options.metrics is not None:
        address = (options.metrics.address.host, options.metrics.address.port)
        is_asked = options.metrics.is_authorized
        review = metrics_review(options.kubeconfig, options.context) if is_asked else None
        protection = protection_of(options.metrics, review)
        opened.enter_context(status_server.served_when_free(address, answers, protection=protection))
    if options.probe_socket is not None:
        more = {**answers, **control_of(status)}
        opened.enter_context(status_server.serving_probes(options.probe_socket, more, CHANGES))
