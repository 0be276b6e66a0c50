"""The health of devices as a stream to the kubelet, in both versions of its contract.

Each message is the complete list. It is sent at once, when it changes, and again before the kubelet considers
it stale. A stream lasts as long as its connection, so streams have threads of their own: they never occupy
one that prepares claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from types import SimpleNamespace
from typing import Any, Final

import grpc

from plugin._pb.dra_health_v1 import api_pb2 as v1
from plugin._pb.dra_health_v1 import api_pb2_grpc as v1_grpc
from plugin._pb.dra_health_v1alpha1 import api_pb2 as v1alpha1
from plugin._pb.dra_health_v1alpha1 import api_pb2_grpc as v1alpha1_grpc
from plugin.kinds.health import DeviceHealth, Health, HealthReader

POLL_S: Final = 5.0
_NEWS_S: Final = 0.25  # between two looks for news, which cost one call of the kernel
_REPEAT_S: Final = 20.0
_STALE_S: Final = 60
_MESSAGE_LENGTH: Final = 1024
_STREAMS: Final = 4
_NUMBERS: Final = {Health.UNKNOWN: 0, Health.HEALTHY: 1, Health.UNHEALTHY: 2}


class HealthStreams:
    """All streams of one server. ``close`` ends them.

    Units: ``clock`` seconds since 1970; ``poll_s`` seconds between two readings of the machine.
    """

    def __init__(self, reader: HealthReader, clock: Callable[[], float], poll_s: float = POLL_S) -> None:
        self._reader = reader
        self._clock = clock
        self._poll_s = poll_s
        self._changing = Lock()
        self._open: set[Event] = set()
        self._is_closed = False
        self.threads = ThreadPoolExecutor(_STREAMS, thread_name_prefix="health")

    def add_to(self, server: grpc.Server) -> None:
        """Serve both versions."""
        newest: Any = SimpleNamespace(NodeWatchResources=_Method(self, v1))
        v1_grpc.add_DRAResourceHealthServicer_to_server(newest, server)
        older: Any = SimpleNamespace(NodeWatchResources=_Method(self, v1alpha1))
        v1alpha1_grpc.add_DRAResourceHealthServicer_to_server(older, server)

    def reports(self, context: grpc.ServicerContext) -> Iterator[tuple[DeviceHealth, ...]]:
        """Yield complete lists until the caller hangs up or this server closes."""
        over = Event()
        if not context.add_callback(over.set):
            return
        with self._changing:
            if self._is_closed:
                return
            self._open.add(over)
        try:
            yield from self._lists(over)
        finally:
            with self._changing:
                self._open.discard(over)

    def now(self) -> int:
        """Return the time. Units: seconds since 1970."""
        return int(self._clock())

    def close(self) -> None:
        """End every stream."""
        with self._changing:
            self._is_closed = True
            for over in self._open:
                over.set()
        self.threads.shutdown(wait=False)

    def _lists(self, over: Event) -> Iterator[tuple[DeviceHealth, ...]]:
        told: tuple[DeviceHealth, ...] | None = None
        told_at = 0.0
        while not over.is_set():
            news = self._reader.news()
            found = self._reader.read()
            now = self._clock()
            if found != told or now - told_at >= _REPEAT_S:
                told, told_at = found, now
                yield found
            self._wait_for_news(over, news)

    def _wait_for_news(self, over: Event, news: object) -> None:
        """Wait until the machine is to be read again: the time is over, or the agent has heard something."""
        left_s = self._poll_s
        while not over.wait(min(_NEWS_S, left_s)) and left_s > _NEWS_S and self._reader.news() == news:
            left_s -= _NEWS_S


class _Method:
    """``NodeWatchResources`` of one version. gRPC runs it on its ``experimental_thread_pool``."""

    def __init__(self, streams: HealthStreams, messages: Any) -> None:
        self._streams = streams
        self._messages = messages
        self.experimental_thread_pool = streams.threads  # the name is grpcio's

    def __call__(self, _request: object, context: grpc.ServicerContext) -> Iterator[Any]:
        for report in self._streams.reports(context):
            entries = [self._entry(device) for device in report]
            yield self._messages.NodeWatchResourcesResponse(devices=entries)

    def _entry(self, device: DeviceHealth) -> Any:
        identifier = self._messages.DeviceIdentifier(pool_name=device.pool, device_name=device.device)
        return self._messages.DeviceHealth(
            device=identifier,
            health=_NUMBERS[device.health],
            last_updated_time=self._streams.now(),
            health_check_timeout_seconds=_STALE_S,
            message=device.message[:_MESSAGE_LENGTH],
        )
