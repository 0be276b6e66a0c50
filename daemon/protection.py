"""From the options of metrics, or of the page, to what protects their address."""

from __future__ import annotations

import logging
import time
from functools import partial

from daemon.authorization import Authorization, Review
from daemon.metrics_options import MetricsOptions
from daemon.serving.bounded_server import Protection
from daemon.tls import CertificateFiles

_log = logging.getLogger(__name__)


def protection_of(options: MetricsOptions, review: Review | None, what: str = "the metrics") -> Protection:
    """Return the certificate and the authorization that the options ask for.

    Shape: ``review`` asks the API server, needed for authorization; ``what`` is read there, in messages.
    """
    judge = None
    if options.is_authorized:
        assert review is not None, "the options were checked"
        judge = Authorization(review, time.monotonic, partial(_tell, what))
    if options.certificate is None or options.key is None:
        return Protection(None, judge)
    where = f"{options.certificate} and {options.key}"
    return Protection(CertificateFiles(options.certificate, options.key, where).context, judge)


def _tell(what: str, reason: str) -> None:
    _log.warning("whether somebody may read %s is unknown: %s", what, reason)
