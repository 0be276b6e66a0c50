"""The plugin's liveness probe asks what the kubelet asks."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import grpc
import pytest
import yaml
from grpc_health.v1 import health_pb2, health_pb2_grpc

from plugin._pb.dra_v1 import api_pb2 as v1
from plugin.arguments import parser
from plugin.base.errors import ClaimUnreadable
from plugin.kubelet.liveness import liveness_of
from plugin.kubelet.server import _WORKERS, start
from plugin.probe import main

ROOT = Path(__file__).parents[2]


def test_a_plugin_that_answers_the_kubelet_is_alive(site: Any) -> None:
    with site.start():
        assert liveness_of(site.options.dra_socket)["/healthz"]() == (200, "ok\n")


def test_a_plugin_whose_socket_answers_nothing_is_not(site: Any) -> None:
    status, text = liveness_of(site.options.dra_socket)["/healthz"]()

    assert status == 500
    assert text.startswith(f"{site.options.dra_socket} does not answer: ")


class Hanging:
    """A reader of claims whose calls hang until the test is over."""

    def __init__(self) -> None:
        self.hang, self.go_on = Semaphore(0), Event()

    def read(self, _ref: Any, _meanwhile: Any) -> Any:
        self.hang.release()
        self.go_on.wait()
        raise ClaimUnreadable("read", "claim", "the test is over", "nobody acts")

    def members(self, _driver: str, _pool: str) -> Any:
        raise AssertionError("no claim was read")


def test_a_plugin_all_of_whose_workers_hang_is_not_alive_and_its_health_service_does_not_answer(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    claims, options = Hanging(), site.options
    with (
        start(site.driver(), claims, options),
        grpc.insecure_channel(f"unix:{options.dra_socket}") as channel,
    ):
        kubelet = kubelet_of(site)
        healthy = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=60)
        stub = kubelet.dra()
        calls = [
            stub.NodePrepareResources.future(
                v1.NodePrepareResourcesRequest(claims=[v1.Claim(namespace="d", name=f"c{n}", uid=f"u{n}")])
            )
            for n in range(_WORKERS)
        ]
        for _ in calls:
            assert claims.hang.acquire(timeout=60)

        status, text = liveness_of(options.dra_socket, 0.5)["/healthz"]()
        with pytest.raises(grpc.RpcError) as silent:
            health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=0.5)
        claims.go_on.set()
        for call in calls:
            call.result()
        alive = liveness_of(options.dra_socket)["/healthz"]()

    assert healthy.status == health_pb2.HealthCheckResponse.SERVING
    assert (status, text) == (500, f"{options.dra_socket} does not answer: Deadline Exceeded\n")
    assert silent.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert alive == (200, "ok\n")


@pytest.mark.parametrize("service", ["", "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"])
def test_grpcs_health_service_says_that_the_dra_socket_serves(site: Any, service: str) -> None:
    with site.start(), grpc.insecure_channel(f"unix:{site.options.dra_socket}") as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))

    assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("service", ["", "pluginregistration.Registration"])
def test_grpcs_health_service_says_that_the_registration_socket_serves(site: Any, service: str) -> None:
    with site.start(), grpc.insecure_channel(f"unix:{site.options.registration_socket}") as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))

    assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a driver")
def test_the_program_answers_its_probe_and_leaves_no_socket(
    site: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    probed = tmp_path / "plugin.sock"
    command = [
        *(sys.executable, "-m", "plugin", "--claims", site.claims_dir, "--node-name", site.node),
        *("--kubelet-dir", site.options.kubelet_dir, "--cdi-dir", site.options.cdi_dir),
        *("--probe-socket", str(probed)),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert any("answers probes" in line for line in process.stderr)
            assert main([str(probed), "/healthz"]) == 0
        finally:
            process.terminate()
        assert process.wait() == 0

    assert capsys.readouterr().out == "ok\n"
    assert not probed.exists()


def test_the_program_tells_its_metrics_over_its_socket_and_its_address(
    site: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    probed = tmp_path / "plugin.sock"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with site.process("--probe-socket", str(probed), "--metrics-address", f"127.0.0.1:{port}") as process:
        for line in process.stderr:
            if "answers probes" in line:
                break
        assert main([str(probed), "/metrics"]) == 0
        text = asked(f"http://127.0.0.1:{port}/metrics")

    assert "tangram_plugin_hung_calls 0.0" in capsys.readouterr().out
    assert "# TYPE tangram_plugin_looks_total counter" in text


def asked(url: str) -> str:
    """Ask until the address is served, which a thread of its own does."""
    give_up_at = time.monotonic() + 10.0
    while True:
        try:
            with urllib.request.urlopen(url) as answer:
                return str(answer.read().decode())
        except urllib.error.URLError:
            assert time.monotonic() < give_up_at


def test_a_metrics_address_that_is_none_is_refused_in_one_sentence(
    run_plugin: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    ended = run_plugin("--metrics-address", "9464")

    assert ended.returncode == 2
    assert "cannot use --metrics-address '9464': must be HOST:PORT or :PORT" in ended.stderr


def test_a_probe_socket_that_cannot_be_made_is_one_message_and_nothing_is_left(
    site: Any, tmp_path: Path, run_plugin: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    ended = run_plugin("--probe-socket", str(tmp_path / "missing/plugin.sock"))

    assert ended.returncode == 1
    assert "--probe-socket must name an unused path in an existing folder" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not site.options.dra_socket.exists()


@pytest.fixture
def run_plugin(site: Any) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the plugin with more options until it ends by itself."""

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [
            *(sys.executable, "-m", "plugin", "--claims", site.claims_dir, "--node-name", site.node),
            *("--kubelet-dir", site.options.kubelet_dir, "--cdi-dir", site.options.cdi_dir, *options),
        ]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)

    return run


def test_the_manifest_probes_the_socket_that_it_gives_the_plugin() -> None:
    text = (ROOT / "deploy/manifests/base/daemonset.yaml").read_text()
    containers = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
    (plugin,) = [one for one in containers if one["name"] == "plugin"]
    probed = parser().parse_args(plugin["args"]).probe_socket

    command = plugin["livenessProbe"]["exec"]["command"]

    assert command == ["python3", "-P", "-m", "plugin.probe", str(probed), "/healthz"]
    assert str(probed.parent) in {one["mountPath"] for one in plugin["volumeMounts"]}
