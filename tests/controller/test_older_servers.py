"""The controller as a program at an API server that is too old for it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from scripted_api import Reply, Request, Script, serving, write_kubeconfig

from daemon.status.asking import ask


def answer(request: Request) -> Reply:
    """Answer as Kubernetes 1.33: claims and slices of v1 are not served."""
    return (
        Reply({"gitVersion": "v1.33.2"})
        if request.path == "/version"
        else Reply(b"404 page not found\n", 404)
    )


def test_a_controller_at_an_older_server_says_once_what_it_needs_and_takes_no_part_in_the_election(
    tmp_path: Path,
) -> None:
    probed = str(tmp_path / "controller.sock")
    for server in serving(Script()):
        server.answers(answer)
        host, port = server.server_address[:2]
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"})
        command = [
            sys.executable,
            "-m",
            "controller",
            f"--kubeconfig={kubeconfig}",
            f"--probe-socket={probed}",
        ]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as controller:
            try:
                told = next(line for line in controller.stderr or () if " ERROR " in line)
                metrics = ask(probed, "/metrics")[1]
                health, readiness = ask(probed, "/healthz")[0], ask(probed, "/readyz")[0]
                controller.send_signal(signal.SIGTERM)
                _, rest = controller.communicate(timeout=60)
            finally:
                controller.kill()
        asked = {request.path for request in server.requests}

    assert "the API server is Kubernetes v1.33.2 and does not serve resource.k8s.io/v1" in told
    assert "\ntangram_controller_server_unsupported 1.0\n" in metrics
    assert (health, readiness) == (200, 503)
    assert asked == {"/apis/resource.k8s.io/v1", "/version"}
    assert "Traceback" not in rest
    assert controller.returncode == 0
