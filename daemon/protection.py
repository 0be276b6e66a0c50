"""From the options of metrics to what protects their address."""

from __future__ import annotations

import logging
import time

from daemon.authorization import Authorization, Review
from daemon.metrics_options import MetricsOptions
from daemon.serving.bounded_server import Protection
from daemon.tls import CertificateFiles

_log = logging.getLogger(__name__)


def protection_of(options: MetricsOptions, review: Review | None) -> Protection:
    """Return what the options ask for. Shape: ``review`` asks the API server, needed for authorization."""
    judge = None
    if options.is_authorized:
        assert review is not None, "the options were checked"
        judge = Authorization(review, time.monotonic, _tell)
    if options.certificate is None or options.key is None:
        return Protection(None, judge)
    where = f"{options.certificate} and {options.key}"
    return Protection(CertificateFiles(options.certificate, options.key, where).context, judge)


def _tell(reason: str) -> None:
    _log.warning("whether somebody may read the metrics is unknown: %s", reason)
