"""The certificate that a server shows, from files that other programs replace, such as cert-manager.

Takes paths, or certificate and key as text; gives TLS settings for new connections. What cannot be used is
told once, and the last certificate that could be used stays.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
_log: Final = logging.getLogger(__name__)


class Unusable(Exception):
    """Certificate and key cannot be served. The message is one sentence, without any part of them."""


def tls_settings(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """Return the TLS settings of a server with this certificate.

    Raises: Unusable.
    """
    if not certificate or not key:
        raise Unusable(f"{KEY if certificate else CERTIFICATE} is missing or empty")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # OpenSSL reads files only. These are memory, so the key never gets to a disk.
    with _in_memory(certificate) as certificate_file, _in_memory(key) as key_file:
        try:
            context.load_cert_chain(certificate_file, key_file, password=lambda: b"")
        except (ssl.SSLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or "it cannot be read"
            raise Unusable(f"{CERTIFICATE} and {KEY} are no pair in PEM form: {reason}") from None
    return context


class CertificateFiles:
    """A certificate and its key in two files. For any thread. Shape: ``where`` names them in the log."""

    def __init__(self, certificate: Path, key: Path, where: object) -> None:
        self._paths = (certificate, key)
        self._where = where
        self._seen: object = None
        self._told = ""
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS settings for a new connection, read again where a file has changed.

        None while there was no certificate yet that can be served.
        """
        try:
            seen = tuple(_mark(path) for path in self._paths)
            if seen == self._seen:
                return self._context
            certificate, key = (path.read_bytes() for path in self._paths)
            self._seen = seen
            self._context, self._told = tls_settings(certificate, key), ""
        except (OSError, Unusable) as error:
            if self._told != (told := str(error)):
                _log.warning("the certificate in %s cannot be served: %s", self._where, told)
            self._told = told
        return self._context


def _mark(path: Path) -> tuple[int, int, int]:
    """Return what changes when a file is replaced or written."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """Yield the path of a file that is in memory only, and only for this process."""
    number = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(number), "wb") as file:
            file.write(content)
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)
