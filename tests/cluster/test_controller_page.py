"""The page of the controller in its image, turned on and given to readers as docs/web.md says."""

from __future__ import annotations

import http.client
import json
import os
import re
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster_support import eventually
from story import ROOT
from webhook_clients import authority, pair, trusting

from kube_api import NODES, KubeApi
from scheduler_core.model.ownership import CONTROLLER, OWNER

FENCE = re.compile(r"^<!-- tested by: ([^>]*?) -->\n```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
IMAGE = "images: [{name: registry.invalid/tangram, newName: localhost/tangram, newTag: test}]\n"
OVERLAY = "resources: [../deploy/manifests/overlays/controller]\n"
BEFORE = f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{OVERLAY}{IMAGE}"
SECONDS = 150

Run = Callable[[str], str]


@pytest.fixture
def run(tmp_path: Path, kubeconfig: Path) -> Run:
    """Run commands in a folder with the checkout's manifests and the controller's kustomization."""
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    (tmp_path / "tangram-controller").mkdir()
    (tmp_path / "tangram-controller/kustomization.yaml").write_text(BEFORE)

    def commands(text: str) -> str:
        done = subprocess.run(
            ("bash", "-euo", "pipefail", "-c", text),
            cwd=tmp_path,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}"
        return done.stdout

    return commands


@pytest.fixture
def trusted(tmp_path: Path) -> ssl.SSLContext:
    """A certificate in the folder, and the settings of a client that trusts it."""
    signer = authority()
    for name, text in zip(("tls.crt", "tls.key"), pair(signer), strict=True):
        (tmp_path / name).write_bytes(text)
    return trusting(signer)


@pytest.fixture
def blocks(request: pytest.FixtureRequest, api: KubeApi, node: str, run: Run) -> Iterator[list[str]]:
    """The commands of docs/web.md that name this test; afterwards the controller is as it was."""
    if api.get(NODES, node).metadata.labels.get(OWNER) != CONTROLLER:
        pytest.skip("needs the controller: hack/cluster run --controller --node-yaml dgx-a100")
    name = f"tests/cluster/test_controller_page.py::{request.node.name}"
    yield [text for tests, text in FENCE.findall((ROOT / "docs/web.md").read_text()) if name in tests]
    run(
        "kubectl delete clusterrolebinding tangram-page-readers --ignore-not-found\n"
        "kubectl delete -f deploy/manifests/page/access.yaml -f deploy/manifests/page/service.yaml\n"
        "kubectl -n tangram-system delete secret tangram-page-tls\n"
        "sed -i /components/d tangram-controller/kustomization.yaml\n"
        "kubectl apply -k tangram-controller\n"
        "kubectl -n tangram-system rollout status deployment/tangram-controller --timeout=120s"
    )


@contextmanager
def forwarded(command: str, kubeconfig: Path) -> Iterator[int]:
    """Forward the page while the block runs, and hand out the port."""
    words = command.replace("8444:443", ":443").split()
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            (port,) = re.findall(r"127.0.0.1:([0-9]+) ->", process.stdout.readline())
            yield int(port)
        finally:
            process.terminate()


@pytest.mark.timeout(400)
def test_the_controller_serves_its_page_to_a_group_as_the_page_says(
    blocks: list[str], run: Run, trusted: ssl.SSLContext, kubeconfig: Path, namespace: str, node: str
) -> None:
    install, forward = blocks
    run(install.replace("GROUP", f"system:serviceaccounts:{namespace}"))
    run(f"kubectl --namespace {namespace} create serviceaccount reader")
    reader = run(f"kubectl --namespace {namespace} create token reader").strip()
    other = run("kubectl --namespace default create token default").strip()

    with forwarded(forward, kubeconfig) as port:

        def ask(token: str | None, path: str = "/value.json") -> tuple[int, str]:
            client = http.client.HTTPSConnection("localhost", port, context=trusted, timeout=10)
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            try:
                client.request("GET", path, headers=headers)
                answer = client.getresponse()
                return answer.status, answer.read().decode()
            finally:
                client.close()

        def nodes() -> list[str]:
            status, text = ask(reader)
            assert status == 200, text
            return [one["name"] for one in json.loads(text)["nodes"]]

        eventually(lambda: nodes() == [node], "the page has the node", 60)
        assert "<!DOCTYPE html>" in ask(reader, "/")[1]
        assert [ask(one)[0] for one in (None, "not-a-token", other)] == [401, 401, 403]
