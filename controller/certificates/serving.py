"""The certificate that this process serves: from the Secret as it is watched, or from files.

Takes certificate and key as text; gives TLS settings for new connections. What cannot be used is told once,
and the last certificate that could be used stays.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from daemon.tls import CERTIFICATE, KEY, CertificateFiles, Unusable, tls_settings

_log: Final = logging.getLogger(__name__)


class WatchedCertificate:
    """The certificate in a Secret. ``take`` is called with each state of it. For any thread."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS settings for a new connection, None while there was no certificate yet."""
        return self._context

    def take(self, data: Mapping[str, bytes] | None) -> None:
        """Serve what a Secret holds from now on.

        Shape: None or empty where it holds nothing; the last certificate stays then.
        """
        if not data:
            return
        try:
            self._context = tls_settings(data.get(CERTIFICATE, b""), data.get(KEY, b""))
        except Unusable as error:
            _log.warning("the certificate in the Secret cannot be served, the last one stays: %s", error)


class MountedCertificate(CertificateFiles):
    """The certificate in a folder, which another program such as cert-manager replaces. For any thread."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / CERTIFICATE, folder / KEY, folder)
