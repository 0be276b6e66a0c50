"""Puts the controller together: election, webhook, certificates, the loop that decides, pools of many nodes.

Takes options; returns a program whose parts run until it is stopped. Only here all parts are named.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from ssl import SSLContext
from threading import Event, Thread
from typing import Final, TextIO

from controller.api import Cluster
from controller.certificates.keeper import Keeper
from controller.certificates.making import service_names
from controller.certificates.serving import MountedCertificate, WatchedCertificate
from controller.certificates_api import ApiSecret, ApiTrust
from controller.decide.allocator import Allocator
from controller.election.elector import Elector
from controller.election.values import Times
from controller.lease_api import ApiLease
from controller.metrics import Metrics
from controller.options import Options
from controller.pools.loop import PoolLoop
from controller.pools.own_gpus import OwnGpus
from controller.pools.publisher import PoolPublisher
from controller.pools.writing import PoolWriting
from controller.pools_api import ApiInUse, ApiPools, ApiPoolSlices
from controller.run.classes import ResourceClasses
from controller.run.coordinator import Coordinator
from controller.run.loop import Loop
from controller.run.report import Report
from controller.run.values import Patience
from controller.run.writer import Writer
from controller.state.cluster_seen import ClusterSeen
from controller.status import ControllerState
from controller.webhook.review import review
from controller.webhook.server import WebhookServer
from daemon.oldest_server import OldestServer
from daemon.status.last_errors import LastErrors

NAME: Final = "tangram-controller"
"""The name of the Lease, the Secret, the Service and the webhook configuration."""
_LINGER_S: Final = 3.0
"""How long the webhook still answers at the end: API servers come by the old address for a moment."""
_UNREADY: Final = "the objects of the cluster are not listed yet"


class Program:
    """One replica. ``opened`` closes what it opened, in reverse order."""

    def __init__(self, options: Options, opened: ExitStack) -> None:
        self._options = options
        self._opened = opened
        self._ended = Event()
        self._metrics = Metrics()
        self._errors, self._began_at = LastErrors.kept_from_now_on(), time.monotonic()
        self._cluster = Cluster.connect(options.kubeconfig, options.context, options.driver_name)
        opened.callback(self._cluster.close)
        measure = partial(self._metrics.set, "server_unsupported")
        self._server = OldestServer(self._cluster.refusal, measure, time.sleep)
        self._elector = self._election()
        self._cluster.guard(self._elector.may_write)
        self._pools: PoolLoop | None = None
        self._writers: list[Thread] = []
        self._keeper: Keeper | None = None
        events = self._cluster.events(options.identity)
        opened.callback(events.close)
        # With all features on: a server stores no field whose gate is off, so what is stored describes the
        # hardware, and to ignore it after a gate was turned off would give overlapping devices. No scheduler
        # with other gates allocates on owned nodes (docs/semantics.md, "Composite slices").
        seen = ClusterSeen(options.driver_name)
        patience = Patience(let_go_s=options.ungate_after_s)
        self._loop = Loop(
            Coordinator(seen, Allocator(seen, lambda: str(uuid.uuid4())), patience),
            self._cluster.followed,
            Writer(self._cluster, self._elector.may_write, _now, events.warn),
            is_leading=self._elector.may_write,
            clock=time.monotonic,
            report=Report(self._metrics, self._lines(), time.time),
            classes=ResourceClasses(seen, time.monotonic, _now),
        )

    @property
    def state(self) -> ControllerState:
        """Return what knows the state of this replica."""
        return ControllerState(
            loop=self._loop,
            driver=self._options.driver_name,
            identity=self._options.identity,
            errors=self._errors,
            is_leading=self._elector.may_write,
            clock=time.monotonic,
            began_at=self._began_at,
        )

    def _idle_s(self) -> float:
        return 0.0 if self._server.is_refused else self._loop.idle_s()  # a restart would help nobody

    def stop(self) -> None:
        """End ``run`` soon. May be called from a signal handler."""
        self._server.stop()
        self._loop.stop()

    def run(self) -> None:
        """Serve, take part in the election and decide while leading, until ``stop`` is called."""
        self._serve()
        self._server.begin()
        if not self._server.passes():
            return
        self._page()
        self._webhook()
        election = Thread(target=self._elector.run, args=(self._ended,), name="election", daemon=True)
        election.start()
        self._loop.run()
        self._ended.set()
        election.join()
        self._led(is_leading=False)
        for thread in self._writers:
            thread.join()
        self._elector.release()  # no request of this process can have an effect any more

    def _election(self) -> Elector:
        options, times = self._options, Times()
        lease = ApiLease.connect(
            options.kubeconfig, options.context, options.namespace, NAME, times.longest_write_s
        )
        self._opened.callback(lease.close)
        identity = f"{options.identity}_{uuid.uuid4()}"  # another one after each start
        return Elector(lease, identity, times, lambda leads: self._led(is_leading=leads))

    def _led(self, *, is_leading: bool) -> None:
        """Start or end what only the leader does. Called by the election's thread, then by ``run``."""
        if self._keeper is not None:
            self._keeper.wake()
        self._loop.wake()
        if self._pools is not None:
            self._pools.stop()
            self._pools = None
        if is_leading:
            self._pools = self._pool_loop()
            self._start(self._pools.run)

    def _start(self, work: Callable[[], None]) -> None:
        """Start a thread that writes, and whose end is waited for before the Lease is given back."""
        thread = Thread(target=work, name="writes", daemon=True)
        self._writers = [*(one for one in self._writers if one.is_alive()), thread]
        thread.start()

    def _pool_loop(self) -> PoolLoop:
        objects, slices = ApiPools(self._cluster.api), ApiPoolSlices(self._cluster.api)
        cluster, driver = self._cluster, self._options.driver_name
        in_use = ApiInUse(cluster.api, driver, cluster.claims.store.values, cluster.refresh)
        writing = PoolWriting(slices)
        own = OwnGpus(
            writing,
            in_use=in_use,
            write_finalizers=objects.write_finalizers,
            driver=driver,
            clock=time.monotonic,
        )
        publisher = PoolPublisher(writing, objects.write_status, own, driver)
        return PoolLoop(publisher, objects, slices, _now, cluster.has_pools)

    def _webhook(self) -> None:
        options = self._options
        if options.webhook is None:
            return
        if options.certificate_dir is not None:
            contexts = MountedCertificate(options.certificate_dir).context
        else:
            contexts = self._own_certificate()
        server = WebhookServer(
            (options.webhook.host, options.webhook.port),
            contexts=contexts,
            review=review,
            is_ready=lambda: contexts() is not None,
            observe=self._observe,
        )
        answering = Thread(target=server.run, name="webhook", daemon=True)
        answering.start()
        self._opened.callback(answering.join)
        self._opened.callback(server.end, linger_s=_LINGER_S)

    def _page(self) -> None:
        options = self._options
        if options.page is None:
            return
        # Only a program that serves it loads it.
        from controller.page.following import Clocks  # noqa: PLC0415
        from controller.page.serving import served  # noqa: PLC0415

        clocks = Clocks(time.thread_time, time.time, _now)
        page = served(options.page, options.kubeconfig, options.context, options.driver_name, clocks)
        try:
            self._opened.enter_context(page)
        except OSError as error:
            address = f"{options.page.address.host}:{options.page.address.port}"
            raise OSError(f"serve the page on {address}: {error}; give another --page-address") from error

    def _own_certificate(self) -> Callable[[], SSLContext | None]:
        """Serve the certificate in the Secret, which the leader keeps."""
        namespace, api = self._options.namespace, self._cluster.api
        secret, trust, served = ApiSecret(api, namespace, NAME), ApiTrust(api, NAME), WatchedCertificate()
        keeper = self._keeper = Keeper(
            secret,
            trust,
            service_names(NAME, namespace),
            may_write=self._elector.may_write,
            wall_clock=time.time,
            clock=time.monotonic,
        )

        def taken(data: Mapping[str, bytes] | None) -> None:
            served.take(data)
            keeper.wake()

        self._start(lambda: keeper.run(self._ended))
        for follow in (
            lambda: secret.follow(taken, self._ended),
            lambda: trust.follow(keeper.wake, self._ended),
        ):
            Thread(target=follow, name="certificates", daemon=True).start()
        return served.context

    def _observe(self, status: int, took_s: float) -> None:
        self._metrics.count("reviews_total", status=str(status))
        self._metrics.add("review_seconds_total", took_s)

    def _lines(self) -> TextIO | None:
        """Return where decisions are written. Raises: OSError."""
        if self._options.decisions is None:
            return None
        return self._opened.enter_context(self._options.decisions.open("a", encoding="utf-8"))

    def _serve(self) -> None:
        options = self._options
        if options.metrics is None and options.probe_socket is None:
            return
        from daemon import status_server  # noqa: PLC0415 - only a program that serves loads a server
        from daemon.status.control import CHANGES, control_of  # noqa: PLC0415

        loop = self._loop
        answers = status_server.answers_of(self._metrics, self._idle_s, lambda: loop.is_ready, _UNREADY)
        if options.metrics is not None:
            address = (options.metrics.host, options.metrics.port)
            self._opened.enter_context(status_server.served_when_free(address, answers))
        if options.probe_socket is not None:
            more = {**answers, **control_of(self.state.status)}
            probes = status_server.serving_probes(options.probe_socket, more, CHANGES)
            self._opened.enter_context(probes)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
