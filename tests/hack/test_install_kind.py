"""``make install-kind`` calls docker, kind and kubectl in this order. No test runs kind: it needs Docker."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "hack/install-kind.sh"
PROGRAMS = ("docker", "kind", "kubectl", "python")


@pytest.fixture
def programs(tmp_path):
    """A folder of programs that write down how they are called; kind knows the cluster ``gpus``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        answer = 'test "$*" != "get clusters" || echo gpus\n' if name == "kind" else ""
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/calls\n{answer}')
        (folder / name).chmod(0o755)
    for name in ("sh", "grep", "mktemp", "rm", "cat"):
        (folder / name).symlink_to(Path("/usr/bin", name))
    return folder


def install(programs, cluster):
    environment = {"PATH": str(programs), "PYTHON": "python", "TMPDIR": str(programs.parent)}
    command = ("/bin/sh", str(SCRIPT), cluster)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    calls = programs.parent / "calls"
    return done, calls.read_text().splitlines() if calls.exists() else []


def test_the_image_of_the_present_sources_is_built_loaded_and_rolled_out(programs):
    done, calls = install(programs, "gpus")

    assert done.returncode == 0, done.stderr
    context = calls[1].rpartition(" ")[2]
    assert calls == [
        "kind get clusters",
        f"python hack/image.py context --output {context}",
        f"docker build --tag localhost/tangram:test --file {context}/Containerfile {context}",
        "kind load docker-image localhost/tangram:test --name gpus",
        "kubectl --context kind-gpus apply -k deploy/manifests/overlays/simulated",
        "kubectl --context kind-gpus --namespace tangram-system rollout restart daemonset/tangram",
        "kubectl --context kind-gpus --namespace tangram-system rollout status daemonset/tangram"
        " --timeout=180s",
    ]
    assert not os.path.exists(context)


@pytest.mark.parametrize("missing", ["docker", "kind", "kubectl"])
def test_a_missing_program_is_named_and_nothing_is_done(missing, programs):
    (programs / missing).unlink()

    done, calls = install(programs, "gpus")

    assert (done.returncode, calls) == (1, [])
    assert done.stderr.startswith(f"install-kind: no {missing} on the PATH: install it")


def test_an_unknown_cluster_is_named_and_nothing_is_done(programs):
    done, calls = install(programs, "other")

    assert (done.returncode, calls) == (1, ["kind get clusters"])
    assert "no kind cluster is called other: kind create cluster --name other" in done.stderr
