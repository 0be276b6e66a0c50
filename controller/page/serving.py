"""The page of a running controller: a copy of the cluster of its own, and who may read it.

A replica serves it whether it leads or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from controller.api import Cluster, page_review
from controller.page.following import Clocks, Following
from daemon.metrics_options import MetricsOptions
from daemon.page.hub import Hub
from daemon.page.server import serving_page
from daemon.protection import protection_of


@contextmanager
def served(
    options: MetricsOptions, kubeconfig: Path | None, context: str | None, driver: str, clocks: Clocks
) -> Iterator[int]:
    """Serve the page while the block runs, and hand out the port. Raises: Unreachable, OSError."""
    review = page_review(kubeconfig, context) if options.is_authorized else None
    protection = protection_of(options, review, "the page")
    address, stop = options.address, Event()
    is_local = review is None and address.is_loopback
    cluster = Cluster.connect(kubeconfig, context, driver)
    following = Following(cluster.page_kinds, driver, "the cluster", clocks)
    hub = Hub(following.value())
    try:
        with serving_page((address.host, address.port), hub, protection, is_local=is_local) as port:
            Thread(target=following.run, args=(hub.put, stop), name="page-model", daemon=True).start()
            yield port
    finally:
        stop.set()
        cluster.close()
