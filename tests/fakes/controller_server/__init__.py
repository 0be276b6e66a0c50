"""A real API server for the tests of the controller, and kubeconfigs for it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import needs
from real_api import ADMIN, RealApi, programs
from scripted_api import write_kubeconfig

_ROOT = Path(__file__).parents[3]
_KEY = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"


def real_server(folder: Path) -> Iterator[RealApi]:
    """Yield a server that runs until the generator is closed."""
    found = programs(_ROOT)
    if found is None:
        needs.fail_or_skip(needs.CLUSTER_PROGRAMS)
    needs.require_programs("setpriv", "openssl")
    files = ["-keyout", folder / "tls.key", "-out", folder / "tls.crt"]
    command = ["openssl", *_KEY.split(), "-addext", "subjectAltName=IP:127.0.0.1", *files]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    server = RealApi(found, folder, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def kubeconfig_of(server: RealApi, file: Path) -> Path:
    """Write a kubeconfig of the administrator."""
    cluster = {"certificate-authority": str(server.certificate / "tls.crt")}
    return write_kubeconfig(file, server.address, cluster, {"token": ADMIN})
