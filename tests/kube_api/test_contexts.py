"""A command without a namespace means the one that kubectl would mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_api import write_kubeconfig

from kube_api import NotConfigured, usual_namespace

POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("of-the-pod")
    return folder


def kubeconfig(path: Path, namespaces: Mapping[str, Any], current: str = "a") -> Path:
    """Write a kubeconfig with a context per namespace, by their names."""
    write_kubeconfig(path, "http://127.0.0.1:1", {}, {"token": "t"})
    document = json.loads(path.read_text())
    there = {"cluster": "there", "user": "me"}
    document["contexts"] = [
        {"name": name, "context": {**there, "namespace": one} if one is not None else there}
        for name, one in namespaces.items()
    ]
    path.write_text(json.dumps({**document, "current-context": current}))
    return path


def test_it_is_that_of_the_current_context(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", {"a": "team-a", "b": "team-b"})

    assert usual_namespace(file) == "team-a"


def test_a_named_context_is_used_instead(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", {"a": "team-a", "b": "team-b"})

    assert usual_namespace(file, "b") == "team-b"


@pytest.mark.parametrize("written", [None, ""])
def test_a_context_without_one_means_default(tmp_path: Path, written: str | None) -> None:
    assert usual_namespace(kubeconfig(tmp_path / "k", {"a": written})) == "default"


def test_the_file_of_the_environment_is_used(tmp_path: Path, account: Path) -> None:
    file = kubeconfig(tmp_path / "k", {"a": "team-a"})

    found = usual_namespace(environ={"KUBECONFIG": str(file), **POD}, service_account=account)

    assert found == "team-a"


def test_in_a_pod_it_is_the_pods_own(account: Path, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), **POD}
    assert usual_namespace(environ=environ, service_account=account) == "default"

    (account / "namespace").write_text("team-c\n")
    assert usual_namespace(environ=environ, service_account=account) == "team-c"
    named = {**environ, "POD_NAMESPACE": "team-d"}
    assert usual_namespace(environ=named, service_account=account) == "team-d"


def test_a_context_that_is_not_there_is_told(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "k", {"a": "team-a"})

    with pytest.raises(NotConfigured, match=r"cannot use context nowhere of kubeconfig"):
        usual_namespace(file, "nowhere")
