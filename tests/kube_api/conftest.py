"""A scripted API server over real sockets, and a way to it whose time passes only by sleeping."""

from __future__ import annotations

import random
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import needs
import pytest
from real_api import ADMIN, NOBODY, RealApi, programs
from scripted_api import Clock, Script, serving, write_kubeconfig

from kube_api import NAMESPACES, RESOURCE_CLAIMS, KubeApi, Limits, Object, WatchEvent


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server() -> Iterator[Script]:
    yield from serving(Script())


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tls.crt, which is its own authority and names 127.0.0.1 only, and tls.key."""
    needs.require_programs("openssl")
    folder = tmp_path_factory.mktemp("certificate")
    wanted = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=script"
    files = ["-keyout", folder / "tls.key", "-out", folder / "tls.crt"]
    subprocess.run(
        ["openssl", *wanted.split(), "-addext", "subjectAltName=IP:127.0.0.1", *files],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return folder


@pytest.fixture
def secure_server(certificate: Path) -> Iterator[Script]:
    """The same over TLS."""
    script = Script()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "tls.crt", certificate / "tls.key")
    script.socket = context.wrap_socket(script.socket, server_side=True, do_handshake_on_connect=False)
    yield from serving(script)


Connect = Callable[..., KubeApi]


@pytest.fixture
def connect(clock: Clock, tmp_path: Path) -> Iterator[Connect]:
    """Make a client of an address; limits, cluster and user may be given."""
    made: list[KubeApi] = []

    def make(address: str, cluster: Any = None, user: Any = None, **limits: Any) -> KubeApi:
        user = {"token": "first"} if user is None else user
        file = write_kubeconfig(tmp_path / "kubeconfig", address, cluster or {}, user)
        made.append(
            KubeApi.connect(
                file,
                user_agent="tangram-test",
                clock=clock,
                sleep=clock.sleep,
                random=lambda: 0.0,
                limits=Limits(**limits),
                environ={},
            )
        )
        return made[-1]

    yield make
    for api in made:
        api.close()


@pytest.fixture
def api(connect: Connect, server: Script) -> KubeApi:
    return connect(f"http://127.0.0.1:{server.server_port}")


@pytest.fixture
def stop() -> Iterator[Event]:
    event = Event()
    yield event
    event.set()


@pytest.fixture
def watching(connect: Connect, server: Script, stop: Event) -> Callable[..., Iterator[WatchEvent[Object]]]:
    """Watch claims with delays too short to notice."""

    def watch(**limits: float) -> Iterator[WatchEvent[Object]]:
        shortest = {"first_delay_s": 0.001, "watch_longest_delay_s": 0.002}
        api = connect(f"http://127.0.0.1:{server.server_port}", **(shortest | limits))
        return api.watch(RESOURCE_CLAIMS, stop=stop)

    return watch


@pytest.fixture(scope="session")
def real_server(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealApi]:
    """A real API server for all tests of this process."""
    found = programs(Path(__file__).parent.parent.parent)
    if found is None:
        needs.fail_or_skip(needs.CLUSTER_PROGRAMS)
    needs.require_programs("setpriv")
    server = RealApi(found, tmp_path_factory.mktemp("real"), certificate)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def real_connect(real_server: RealApi, tmp_path: Path) -> Iterator[Connect]:
    """Make a client of the real server, as the administrator or with another token."""
    made: list[KubeApi] = []

    def make(token: str = ADMIN, **limits: Any) -> KubeApi:
        cluster = {"certificate-authority": str(real_server.certificate / "tls.crt")}
        file = write_kubeconfig(tmp_path / "real", real_server.address, cluster, {"token": token})
        made.append(
            KubeApi.connect(
                file,
                user_agent="tangram-test",
                clock=time.monotonic,
                sleep=time.sleep,
                random=random.random,
                limits=Limits(**{"calls_per_s": 1000.0, "burst": 1000, **limits}),
                environ={},
            )
        )
        return made[-1]

    yield make
    for api in made:
        api.close()


@pytest.fixture
def real(real_connect: Connect) -> KubeApi:
    return real_connect()


@pytest.fixture
def nobody(real_connect: Connect) -> KubeApi:
    return real_connect(NOBODY)


@pytest.fixture
def namespace(real: KubeApi) -> str:
    """A namespace of the test's own."""
    return real.create(NAMESPACES, {"metadata": {"generateName": "test-"}}).metadata.name
