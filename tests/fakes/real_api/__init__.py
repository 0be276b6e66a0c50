"""A real API server with its etcd, alone and fresh, for as long as a test needs it."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ADMIN, NOBODY = "admin-token", "nobody-token"
_TOKENS = f'{ADMIN},admin,admin,"system:masters"\n{NOBODY},nobody,nobody\n'
_START_S = 60.0


class DidNotStart(Exception):
    """The server is not ready in time; the text has the end of its log."""


def programs(root: Path) -> Path | None:
    """Find the folder with ``server`` (etcd) and ``kube-apiserver``; None where nobody built them."""
    tools = Path(os.environ.get("TANGRAM_TOOLS") or root / ".tangram" / "tools")
    folder = Path(os.environ.get("TANGRAM_API_SERVER_BIN") or tools / "kubernetes-1.37")
    return folder if all((folder / name).exists() for name in ("server", "kube-apiserver")) else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class RealApi:
    """One API server on loopback. It dies with the thread that started it, however that ends."""

    programs: Path
    folder: Path
    certificate: Path
    port: int = field(default_factory=free_port)
    etcd_port: int = field(default_factory=free_port)
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        (self.folder / "tokens.csv").write_text(_TOKENS)
        self._run_etcd()
        self.start_api_server()

    def start_api_server(self) -> None:
        key, crt = str(self.certificate / "tls.key"), str(self.certificate / "tls.crt")
        options = {
            "etcd-servers": f"http://127.0.0.1:{self.etcd_port}",
            "bind-address": "127.0.0.1",
            "secure-port": str(self.port),
            "tls-cert-file": crt,
            "tls-private-key-file": key,
            "endpoint-reconciler-type": "none",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": crt,
            "service-account-signing-key-file": key,
            "service-cluster-ip-range": "10.96.0.0/16",
            "token-auth-file": str(self.folder / "tokens.csv"),
            "authorization-mode": "RBAC",
        }
        self._run("kube-apiserver", *(f"--{name}={value}" for name, value in options.items()))
        self._wait()

    def stop_api_server(self) -> None:
        self._end("kube-apiserver")

    def forget_history(self) -> None:
        """Compact everything that etcd has, so that no old version can be read or watched any more."""
        now = self._etcd("kv/range", {"key": "AA=="})["header"]["revision"]
        self._etcd("kv/compaction", {"revision": now, "physical": True})

    def stop(self) -> None:
        for name in list(self._running):
            self._end(name)

    def _run_etcd(self) -> None:
        peer, client = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{self.etcd_port}"
        options = {
            "data-dir": str(self.folder / "etcd"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
        }
        arguments = [f"--{name}={value}" for name, value in options.items()]
        self._run("server", *arguments, "--unsafe-no-fsync")

    def _run(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", self.programs / name, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )

    def _end(self, name: str) -> None:
        process = self._running.pop(name)
        process.send_signal(signal.SIGKILL)  # an API server without its etcd ignores SIGTERM for minutes
        process.wait(30)

    def _wait(self) -> None:
        until = time.monotonic() + _START_S
        process = self._running["kube-apiserver"]
        while process.poll() is None and time.monotonic() < until:
            if self._is_ready():
                return
            time.sleep(0.1)
        log = (self.folder / "kube-apiserver.log").read_text(errors="replace")
        raise DidNotStart(f"kube-apiserver is not ready, its log ends:\n{log[-2000:]}")

    def _is_ready(self) -> bool:
        trusted = ssl.create_default_context(cafile=str(self.certificate / "tls.crt"))
        request = urllib.request.Request(
            f"{self.address}/readyz", headers={"Authorization": f"Bearer {ADMIN}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=2, context=trusted) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            return False

    def _etcd(self, path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.etcd_port}/v3/{path}", json.dumps(body).encode()
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            said: dict[str, dict[str, str]] = json.load(answer)
            return said
