"""Metrics over TLS in a real cluster: the API server says who reads them, by the rights of the manifests."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from agent_support import RunningAgent, Site, write_kubeconfig
from cluster_support import eventually
from webhook_clients import authority, pair, trusting

from kube_api import KubeApi

_RIGHTS = Path(__file__).parents[2] / "deploy/manifests/monitoring/access.yaml"
_READER = "tangram-metrics-reader"
SIGNER = authority()


def _moved(document: dict[str, Any], namespace: str) -> dict[str, Any]:
    """Return an object of the manifests in another namespace; what is of the whole cluster gets its name."""
    text = json.dumps(document).replace("tangram-system", namespace)
    moved: dict[str, Any] = json.loads(text)
    if "namespace" not in moved["metadata"]:
        moved["metadata"]["name"] = f"{namespace}-{moved['metadata']['name']}"
    if "roleRef" in moved:
        moved["roleRef"]["name"] = f"{namespace}-{moved['roleRef']['name']}"
    return moved


@pytest.fixture
def account(namespace: str, kubectl: Callable[..., str], tmp_path: Path) -> Iterator[str]:
    """A namespace whose account ``tangram`` may ask about tokens and nothing else."""
    moved = [_moved(one, namespace) for one in yaml.safe_load_all(_RIGHTS.read_text())]
    files = []
    for number, document in enumerate(moved):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps(document))
    chosen = [f"--filename={file}" for file in files]
    kubectl("create", "serviceaccount", "tangram", f"--namespace={namespace}")
    kubectl("apply", *chosen)
    yield namespace
    kubectl("delete", "--ignore-not-found", *chosen)


@pytest.fixture
def agent(
    account: str, api: KubeApi, kubeconfig: Path, kubectl: Callable[..., str], tmp_path: Path
) -> Iterator[RunningAgent]:
    """An agent that may only ask who reads its metrics."""
    for name, text in zip(("tls.crt", "tls.key"), pair(SIGNER), strict=True):
        (tmp_path / name).write_bytes(text)
    config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--minify", "--output=json"))
    token = kubectl("create", "token", "tangram", f"--namespace={account}")
    config["users"][0]["user"] = {"token": token.strip()}
    options = (
        f"--metrics-tls-cert={tmp_path / 'tls.crt'}",
        f"--metrics-tls-key={tmp_path / 'tls.key'}",
        "--metrics-authorization=token",
    )
    site = Site(api, kubeconfig, tmp_path)
    with site.agent(*options, kubeconfig=write_kubeconfig(config, tmp_path / "agent.json")) as running:
        yield running


def _token_of_prometheus(kubectl: Callable[..., str], namespace: str) -> str:
    """Return the token in the Secret that the PodMonitor names, empty while Kubernetes has not filled it."""
    text = kubectl("get", "secret", _READER, f"--namespace={namespace}", "--output=jsonpath={.data.token}")
    return base64.b64decode(text).decode()


def _ask(port: int, token: str | None) -> tuple[int, str]:
    """Return status and text of the agent's answer, (0, "") while it does not listen."""
    client = http.client.HTTPSConnection("localhost", port, context=trusting(SIGNER), timeout=10)
    try:
        client.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = client.getresponse()
        return answer.status, answer.read().decode()
    except ConnectionRefusedError:
        return 0, ""
    finally:
        client.close()


def test_metrics_are_read_over_tls_by_who_may_get_them_and_by_nobody_else(
    agent: RunningAgent, account: str, kubectl: Callable[..., str]
) -> None:
    eventually(lambda: _ask(agent.port, None)[0], "the agent listens", 60)
    prometheus = eventually(lambda: _token_of_prometheus(kubectl, account), "the token of the Secret", 60)
    other = kubectl("create", "token", "tangram", f"--namespace={account}").strip()
    eventually(lambda: _ask(agent.port, prometheus)[0] == 200, "the rights are in effect", 60)

    allowed, text = _ask(agent.port, prometheus)
    answers = {_ask(agent.port, token)[0] for token in (None, "not-a-token")}

    assert (allowed, answers, _ask(agent.port, other)[0]) == (200, {401}, 403)
    assert "\ntangram_agent_build_info{" in text
    assert "tangram_agent" not in _ask(agent.port, other)[1]
