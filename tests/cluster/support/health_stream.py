"""The stream of health that a plugin sends the kubelet, heard by a test beside it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

import grpc

from plugin._pb.dra_health_v1.api_pb2 import NodeWatchResourcesRequest
from plugin._pb.dra_health_v1.api_pb2_grpc import DRAResourceHealthStub

UNHEALTHY = 2


class HealthStream:
    """A stream of health as the kubelet has it, of a plugin's socket, heard by a thread until it ends.

    The socket of a node may have a longer path than a socket can have, so it is opened by a link.
    """

    def __init__(self, socket: Path, folder: Path) -> None:
        link = folder / "dra.sock"
        link.symlink_to(socket)
        self.unhealthy_at: dict[str, float] = {}
        self._channel = grpc.insecure_channel(f"unix:{link}")
        stub = DRAResourceHealthStub(self._channel)
        self._messages = stub.NodeWatchResources(NodeWatchResourcesRequest(), timeout=300)
        next(self._messages)
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        with suppress(grpc.RpcError):
            for message in self._messages:
                for one in message.devices:
                    if one.health == UNHEALTHY:
                        self.unhealthy_at.setdefault(one.device.device_name, time.monotonic())

    def close(self) -> None:
        self._messages.cancel()
        self._channel.close()
