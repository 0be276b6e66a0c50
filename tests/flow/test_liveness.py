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
from typing import Any

import pytest
import yaml

from plugin.arguments import parser
from plugin.kubelet.liveness import liveness_of
from plugin.probe import main

ROOT = Path(__file__).parents[2]


def test_a_plugin_that_answers_the_kubelet_is_alive(site: Any) -> None:
    with site.start():
        assert liveness_of(site.options.dra_socket)["/healthz"]() == (200, "ok\n")


def test_a_plugin_whose_socket_answers_nothing_is_not(site: Any) -> None:
    status, text = liveness_of(site.options.dra_socket)["/healthz"]()

    assert status == 500
    assert text.startswith(f"{site.options.dra_socket} does not answer: ")


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
