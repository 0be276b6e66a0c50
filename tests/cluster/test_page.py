"""The page in a real cluster and a real Chromium: a pod comes and goes, and only who may read it does."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chromium import page_of, real_chromium
from cluster_support import eventually
from owned_node import OwnedNode, schedulable
from playwright.sync_api import expect
from story import ROOT
from webhook_clients import authority, pair, trusting

from kube_api import PODS, RESOURCE_CLAIMS, KubeApi

pytestmark = pytest.mark.cluster  # on 1.34 no controller manager runs, which would end the claims
_SOON_MS = 60_000


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def node(api: KubeApi, kubeconfig: Path, tmp_path: Path, namespace: str) -> Iterator[OwnedNode]:
    with schedulable(api, kubeconfig, tmp_path, namespace) as made, made.site.agent("--no-composite"):
        made.free(timeout_s=60.0)
        yield made


@contextmanager
def served(kubeconfig: Path, driver: str) -> Iterator[str]:
    """Serve the page while the block runs, and hand out its address."""
    command = [sys.executable, "-m", "tangram", "serve", "--json", "--address=127.0.0.1:0"]
    command += [f"--kubeconfig={kubeconfig}", f"--only-driver={driver}"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line == "}\n":
            break
    try:
        yield json.loads(text)["url"]
    finally:
        process.terminate()
        status = process.wait(60)
        process.stdout.close()
    assert status == 0


def test_a_pod_comes_and_goes_and_the_page_shows_it_without_being_loaded_again(
    node: OwnedNode, kubeconfig: Path
) -> None:
    name, namespace = node.site.name, node.namespace
    with (
        served(kubeconfig, node.site.driver) as address,
        real_chromium() as browser,
        page_of(browser) as page,
    ):
        page.goto(address)
        row = page.locator(f'details[data-node="{name}"]')
        expect(row.locator(".facts b")).to_have_text("0 of 16", timeout=_SOON_MS)
        page.evaluate("window.isTheSame = true")
        row.locator("summary").click()

        node.claim("first")
        node.pod("first")
        assert node.bound("first")
        expect(row.locator(".facts b")).to_have_text("8 of 16", timeout=_SOON_MS)
        held = row.get_by_role("link", name=f"{namespace}/first: whole GPU")
        expect(held).to_be_visible()
        for other in ("second", "third"):
            node.claim(other)
            node.pod(other)
        waits = page.locator("#waiting li.pending")
        expect(waits).to_have_count(1, timeout=_SOON_MS)
        expect(waits).to_contain_text("to make it fit: end the claim that holds devices", timeout=_SOON_MS)

        for one in ("first", "second", "third"):
            node.api.delete(PODS, one, namespace)
            node.api.delete(RESOURCE_CLAIMS, one, namespace)
        expect(row.locator(".facts b")).to_have_text("0 of 16", timeout=_SOON_MS)
        expect(page.locator("#waiting")).to_contain_text("No pod waits", timeout=_SOON_MS)
        assert page.evaluate("window.isTheSame")


RIGHTS = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
rules:
- nonResourceURLs: [/tangram/page]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {name}
subjects:
- kind: ServiceAccount
  name: reader
  namespace: {name}
"""


@pytest.fixture
def tokens(namespace: str, kubectl: Callable[..., str], tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The token of an account that may read the page, and of one that may not."""
    file = tmp_path / "rights.yaml"
    file.write_text(RIGHTS.format(name=namespace))
    for account in ("reader", "other"):
        kubectl("create", "serviceaccount", account, f"--namespace={namespace}")
    kubectl("apply", f"--filename={file}")
    made = [
        kubectl("create", "token", one, f"--namespace={namespace}").strip() for one in ("reader", "other")
    ]
    yield made[0], made[1]
    kubectl("delete", "--ignore-not-found", f"--filename={file}")


def test_the_controller_serves_the_page_to_whom_the_api_server_allows_it(
    tokens: tuple[str, str], node: OwnedNode, kubeconfig: Path, tmp_path: Path
) -> None:
    signer, port = authority(), free_port()
    for name, text in zip(("tls.crt", "tls.key"), pair(signer), strict=True):
        (tmp_path / name).write_bytes(text)
    command = [sys.executable, "-m", "controller", f"--kubeconfig={kubeconfig}"]
    command += [f"--namespace={node.namespace}", f"--driver-name={node.site.driver}"]
    command += [f"--page-address=127.0.0.1:{port}", "--page-authorization=token"]
    command += [f"--page-tls-cert={tmp_path / 'tls.crt'}", f"--page-tls-key={tmp_path / 'tls.key'}"]

    def ask(token: str | None) -> tuple[int, str]:
        client = http.client.HTTPSConnection("localhost", port, context=trusting(signer), timeout=10)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            client.request("GET", "/value.json", headers=headers)
            answer = client.getresponse()
            return answer.status, answer.read().decode()
        except ConnectionRefusedError:
            return 0, ""
        finally:
            client.close()

    def nodes() -> list[str]:
        status, text = ask(tokens[0])
        return [one["name"] for one in json.loads(text)["nodes"]] if status == 200 else []

    with (tmp_path / "controller.log").open("w") as log:
        process = subprocess.Popen(command, stderr=log, cwd=ROOT)
    try:
        eventually(lambda: node.site.name in nodes(), "the page has the node", 60)
        assert [ask(one)[0] for one in (None, "not-a-token", tokens[1])] == [401, 401, 403]
    finally:
        process.terminate()
        status = process.wait(60)
    assert status == 0
