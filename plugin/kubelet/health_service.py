"""gRPC's health service on the plugin's sockets: whether a server serves, and answers at all.

A question takes a thread of those that serve the kubelet's calls. So a plugin all of whose threads hang does
not answer, and whoever asks with a deadline sees that.
Source: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
"""

from __future__ import annotations

from collections.abc import Iterable

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc


def add_health(server: grpc.Server, services: Iterable[str]) -> health.HealthServicer:
    """Add the service, which says SERVING of the server and of these services, and return it."""
    found = health.HealthServicer()
    for name in (health.OVERALL_HEALTH, *services, health.SERVICE_NAME):
        found.set(name, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(found, server)
    return found
