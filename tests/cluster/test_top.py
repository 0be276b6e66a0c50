"""``tangram top`` in a cluster: a pod is shown as the holder while it runs, by one look and by a watch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_support import eventually
from story import ROOT, Gpu, create, free_gpu, sight

from kube_api import PODS, KubeApi
from tangram.__main__ import main

Value = dict[str, Any]


@pytest.fixture
def gpu(api: KubeApi, node: str) -> Gpu:
    return eventually(lambda: free_gpu(api, node), "a GPU is free")


@pytest.fixture
def watched(kubeconfig: Path) -> Iterator[subprocess.Popen[str]]:
    """Watch the cluster while a test runs: a line of JSON after each change."""
    command = [sys.executable, "-m", "tangram", "top", "--cluster", "--watch", "--json"]
    process = subprocess.Popen(
        [*command, "--kubeconfig", str(kubeconfig)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def held_by(value: Value, pod: str, namespace: str) -> tuple[str, list[int]] | None:
    """Return the GPU and the memory slices that a pod's claim holds, None where it holds nothing."""
    claims = [
        one["claim"] for one in value["holders"] if one["namespace"] == namespace and pod in one["pods"]
    ]
    return next(
        (
            (gpu["name"], [one["index"] for one in gpu["memorySlices"] if one["holders"] == claims])
            for node in value["nodes"]
            for gpu in node["gpus"]
            if any(use["holder"] in claims for use in gpu["uses"])
        ),
        None,
    )


def test_a_pod_is_the_holder_of_its_gpu_while_it_runs_and_then_the_gpu_is_free(
    api: KubeApi,
    namespace: str,
    gpu: Gpu,
    kubeconfig: Path,
    watched: subprocess.Popen[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def look() -> Value:
        assert main(["top", "--cluster", "--kubeconfig", str(kubeconfig), "--json"]) == 0
        found: Value = json.loads(capsys.readouterr().out)
        return found

    def told(is_held: bool) -> tuple[str, list[int]] | None:
        """Read what the watch says until the pod is the holder, or no more."""
        assert watched.stdout is not None
        for line in watched.stdout:
            found = held_by(json.loads(line), pod, namespace)
            if (found is not None) == is_held:
                return found
        raise AssertionError("the watch has ended")

    pod = create(api, "whole-gpu", namespace, gpu)
    sight(api, pod, namespace)
    shown = look()

    held = held_by(shown, pod, namespace)
    assert held is not None
    assert held[1] == list(range(8))
    assert told(is_held=True) == held
    (total,) = [one for one in shown["namespaces"] if one["namespace"] == namespace]
    assert (total["claims"], total["gpus"], total["memorySlices"]) == (1, 1, 8)

    api.delete(PODS, pod, namespace)
    eventually(lambda: held_by(look(), pod, namespace) is None, "nothing is held", 60)
    assert told(is_held=False) is None
    free = [one for node in look()["nodes"] for one in node["gpus"] if one["name"] == held[0]]
    assert [one["state"] for one in free[0]["memorySlices"]] == ["free"] * 8
