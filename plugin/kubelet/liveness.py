"""What the plugin tells of itself: its metrics, and whether it still answers the kubelet.

It asks itself the way the kubelet asks it, for no claim. A call takes a thread of those that serve the
kubelet's calls, and the lock of the interpreter. So what would keep the kubelet waiting keeps this waiting,
too. No claim and no hardware is touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import grpc

from daemon.status_server import Answer, Answers
from plugin._pb.dra_v1 import api_pb2 as v1
from plugin._pb.dra_v1 import api_pb2_grpc as v1_grpc
from plugin.base.in_flight import CallsInFlight
from plugin.claim.driver import Driver

_LONGEST_S: Final = 5.0


def liveness_of(dra_socket: Path, longest_s: float = _LONGEST_S) -> Answers:
    """Return what a plugin answers a probe: ``/healthz``.

    Units: ``longest_s`` how many seconds its own answer is waited for.
    """
    return {"/healthz": lambda: _asked(dra_socket, longest_s)}


def answers_of(dra_socket: Path, driver: Driver, calls: CallsInFlight) -> Answers:
    """Return what a plugin answers: ``/metrics`` and ``/healthz``. Shape: ``calls`` those into hardware."""

    def metrics() -> Answer:
        driver.figures.refresh()
        return 200, driver.metrics.text_with(calls)

    return {"/metrics": metrics, **liveness_of(dra_socket)}


def _asked(dra_socket: Path, longest_s: float) -> Answer:
    with grpc.insecure_channel(f"unix:{dra_socket}") as channel:
        try:
            v1_grpc.DRAPluginStub(channel).NodePrepareResources(
                v1.NodePrepareResourcesRequest(), timeout=longest_s
            )
        except grpc.RpcError as error:
            why = error.details() or error.code()
            return 500, f"{dra_socket} does not answer: {why}\n"
    return 200, "ok\n"
