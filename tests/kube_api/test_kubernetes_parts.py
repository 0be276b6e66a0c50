"""A program in a pod loads little of the ``kubernetes`` package; whoever wants all of it gets all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

IN_A_POD = """
import sys
from pathlib import Path
from kube_api.api import KubeApi
environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "9", "HOME": "/nonexistent"}
KubeApi.connect(user_agent="test", environ=environ, service_account=Path(sys.argv[1]))
unwanted = ("requests", "oauthlib", "pydantic", "websocket", "kubernetes.informer", "kubernetes.dynamic")
print(*(name for name in unwanted if name in sys.modules))
"""
WHOLE_AFTERWARDS = """
import kube_api.kubernetes_parts as parts
import kubernetes
from kubernetes.config import ConfigException, load_kube_config
assert ConfigException is parts.ConfigException
assert kubernetes.client.Configuration is parts.Configuration
assert kubernetes.watch.Watch and kubernetes.client.CoreV1Api
assert kubernetes.utils.tcp_keepalive_socket_options is parts.tcp_keepalive_socket_options
"""


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_program_in_a_pod_loads_neither_logins_nor_informers(tmp_path: Path, certificate: Path) -> None:
    (tmp_path / "token").write_text("token")
    (tmp_path / "ca.crt").write_bytes((certificate / "tls.crt").read_bytes())

    assert run(IN_A_POD, str(tmp_path)) == ""


def test_the_package_can_be_loaded_whole_afterwards_with_the_same_classes() -> None:
    assert run(WHOLE_AFTERWARDS) == ""
