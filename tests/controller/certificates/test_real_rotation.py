"""A real API server calls the webhook while its authority is replaced: no request is lost."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from time import monotonic, time

import pytest
from controller_server import kubeconfig_of, real_server
from real_api import RealApi
from webhook_clients import HOST, Asking, Document, a_webhook, old_certificates

from controller.certificates.keeper import Keeper
from controller.certificates.life import Life
from controller.certificates.ports import CertificateError
from controller.certificates.serving import WatchedCertificate
from controller.certificates.stored import read_certificates, read_stored
from controller.certificates_api import SECRETS, WEBHOOKS, ApiSecret, ApiTrust
from kube_api import KubeApi, Resource

pytestmark = pytest.mark.cluster

CONFIG_MAPS = Resource.of("v1", "ConfigMap", "configmaps", namespaced=True)
NAME = "tangram-webhook"
LIFE = Life(settle=timedelta(seconds=1))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealApi]:
    yield from real_server(tmp_path_factory.mktemp("real"))


@pytest.fixture
def api(server: RealApi, tmp_path: Path) -> Iterator[KubeApi]:
    api = KubeApi.connect(kubeconfig_of(server, tmp_path / "kubeconfig"), user_agent="test")
    yield api
    for resource, namespace in ((SECRETS, "default"), (WEBHOOKS, None)):
        for one in api.list(resource, namespace).items:
            api.delete(resource, one.metadata.name, namespace)
    api.close()


def configure(api: KubeApi, port: int, entries: int = 1) -> None:
    """Let the API server ask the webhook about each ConfigMap that is created."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    webhooks = [
        {
            "name": f"webhook-{number}.tangram.dev",
            "clientConfig": {"url": f"https://{HOST}:{port}/mutate"},
            "rules": [rule],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        }
        for number in range(entries)
    ]
    api.create(WEBHOOKS, {"metadata": {"name": NAME}, "webhooks": webhooks})


def labelled(review: Document) -> Document:
    """Answer a review with a patch, so that it shows in the object."""
    operation = '[{"op": "add", "path": "/metadata/labels", "value": {"reviewed": "yes"}}]'
    patch = {"patchType": "JSONPatch", "patch": b64encode(operation.encode()).decode()}
    kind = {key: review[key] for key in ("apiVersion", "kind")}
    return {**kind, "response": {"uid": review["request"]["uid"], "allowed": True, **patch}}


def create(api: KubeApi) -> None:
    made = api.create(CONFIG_MAPS, {"metadata": {"generateName": "x-"}}, "default", dry_run=True)
    assert made.metadata.labels == {"reviewed": "yes"}


class Process:
    """One controller: it follows the Secret and serves it; as the leader it keeps the certificates."""

    def __init__(self, api: KubeApi, may_write: Callable[[], bool] = lambda: True) -> None:
        self.certificate = WatchedCertificate()
        self._secret, trust = ApiSecret(api, "default", NAME), ApiTrust(api, NAME)
        self.keeper = Keeper(
            self._secret, trust, [HOST], may_write=may_write, wall_clock=time, clock=monotonic, life=LIFE
        )
        self.stop = threading.Event()
        work = (
            lambda: self._secret.follow(self._hear, self.stop),
            lambda: trust.follow(self.keeper.wake, self.stop),
            lambda: self.keeper.run(self.stop),
        )
        self._threads = [threading.Thread(target=one, daemon=True) for one in work]
        self.has_served = threading.Event()
        for thread in self._threads:
            thread.start()

    def _hear(self, data: Mapping[str, bytes] | None) -> None:
        self.certificate.take(data)
        if self.certificate.context() is not None:
            self.has_served.set()
        self.keeper.wake()

    def end(self) -> None:
        self.stop.set()
        self.keeper.wake()
        for thread in self._threads:
            thread.join(30)


def leaf_of(api: KubeApi) -> bytes:
    found = ApiSecret(api, "default", NAME).read()
    assert found is not None
    return found.data["tls.crt"]


def test_the_authority_is_replaced_under_load_and_no_request_is_lost(api: KubeApi) -> None:
    signer, data = old_certificates(LIFE)
    ApiSecret(api, "default", NAME).write(data, None)
    process = Process(api)
    with a_webhook(process.certificate.context, labelled) as (port, _):
        assert process.has_served.wait(30)
        configure(api, port)
        ApiTrust(api, NAME).trust(data["ca.crt"])
        until(lambda: works(api))
        asking = Asking(3, lambda: create(api))

        until(lambda: leaf_of(api) != data["tls.crt"] or asking.failures)
        asking.wait_for(50)
        asking.stop()
        process.end()

        assert asking.failures == []
        found = ApiSecret(api, "default", NAME).read()
        assert found is not None
        stored = read_stored(found.data)
        assert stored.issuer_of_leaf() != signer.certificate
        assert signer.certificate in read_certificates(ApiTrust(api, NAME).bundles()[0])


def test_a_fresh_cluster_comes_to_work_by_itself(api: KubeApi) -> None:
    process = Process(api)
    with a_webhook(process.certificate.context, labelled) as (port, _):
        configure(api, port, entries=2)

        until(lambda: works(api))

        assert len(set(ApiTrust(api, NAME).bundles())) == 1
        process.end()


def test_trust_that_is_taken_away_and_a_secret_that_is_deleted_come_back(api: KubeApi) -> None:
    process = Process(api)
    with a_webhook(process.certificate.context, labelled) as (port, _):
        configure(api, port)
        until(lambda: works(api))

        ApiTrust(api, NAME).trust(b"")
        until(lambda: ApiTrust(api, NAME).bundles() != (b"",))
        before = leaf_of(api)
        api.delete(SECRETS, NAME, "default")
        until(lambda: exists(api) and leaf_of(api) != before)
        until(lambda: works(api))
        process.end()


def test_who_is_not_the_leader_writes_nothing(api: KubeApi) -> None:
    process = Process(api, may_write=lambda: False)
    process.keeper.wake()
    process.end()

    assert not exists(api)


def test_a_secret_keeps_its_labels_and_its_type(api: KubeApi) -> None:
    metadata = {"name": NAME, "labels": {"app": "tangram"}}
    api.create(SECRETS, {"metadata": metadata, "type": "tangram.dev/webhook"}, "default")
    secret = ApiSecret(api, "default", NAME)
    found = secret.read()
    assert found is not None
    assert found.data == {}

    secret.write({"tls.crt": b"x"}, found)
    with pytest.raises(CertificateError):
        secret.write({"tls.crt": b"y"}, found)  # somebody else wrote it meanwhile: we did

    stored = api.get(SECRETS, NAME, "default")
    assert stored.metadata.labels == {"app": "tangram"}
    assert stored.document["type"] == "tangram.dev/webhook"
    assert secret.read() is not None


def works(api: KubeApi) -> bool:
    """Whether the API server reaches the webhook and trusts it."""
    try:
        create(api)
    except Exception:  # noqa: BLE001  # not yet, in whatever way
        return False
    return True


def exists(api: KubeApi) -> bool:
    return ApiSecret(api, "default", NAME).read() is not None


def until(holds: Callable[[], object], timeout_s: float = 60.0) -> None:
    """Ask until it holds."""
    end = monotonic() + timeout_s
    while not holds():
        assert monotonic() < end, "it does not come true"
        threading.Event().wait(0.05)
