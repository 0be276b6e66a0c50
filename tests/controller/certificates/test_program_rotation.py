"""A real API server asks the whole controller while authority and certificate are replaced: no call fails.

The controller under test is the replica that does not lead. The test keeps the certificates in the leader's
place, with times that are seconds.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import monotonic, time

import pytest
from controlled_server import LEASE, NAMESPACE, Controlled, controlling, eventually
from controller_server import kubeconfig_of
from real_api import RealApi, free_port
from webhook_clients import HOST, Asking, old_certificates

from controller.certificates.keeper import Keeper
from controller.certificates.life import Life
from controller.certificates.stored import read_certificates, read_stored
from controller.certificates_api import SECRETS, WEBHOOKS, ApiSecret, ApiTrust
from controller.lease_api import LEASES
from kube_api import PODS, KubeApi, KubeApiError
from scheduler_core.model.ownership import AMOUNTS, GATE

pytestmark = pytest.mark.cluster
LIFE = Life(settle=timedelta(seconds=4))  # the API server must have seen the new authority by then
_WANTED = {"class.tangram.dev/any": "1"}
_ASKING = {
    "metadata": {"generateName": "p-"},
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "none", "resources": {"requests": _WANTED, "limits": _WANTED}}],
    },
}


@pytest.fixture
def port(controlled: Controlled) -> Iterator[int]:
    """The port of a webhook that the API server asks about new pods; another replica leads."""
    api, port = controlled.api, free_port()
    held = {"spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600}}
    api.patch(LEASES, LEASE, held, NAMESPACE)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    webhook = {
        "name": "pods.tangram.dev",
        "clientConfig": {"url": f"https://{HOST}:{port}/mutate"},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    api.create(WEBHOOKS, {"metadata": {"name": LEASE}, "webhooks": [webhook]})
    yield port
    api.delete(WEBHOOKS, LEASE)
    api.delete(SECRETS, LEASE, NAMESPACE)


def create(api: KubeApi) -> None:
    """Create a pod that the webhook must change, without storing it."""
    made = api.create(PODS, _ASKING, NAMESPACE, dry_run=True).document
    assert made["spec"]["schedulingGates"] == [{"name": GATE}]
    assert AMOUNTS in made["metadata"]["annotations"]


def works(api: KubeApi) -> bool:
    try:
        create(api)
    except KubeApiError:
        return False
    return True


@pytest.mark.timeout(180)
def test_no_review_is_lost(api_server: RealApi, controlled: Controlled, tmp_path: Path, port: int) -> None:
    api = controlled.api
    secret, trust = ApiSecret(api, NAMESPACE, LEASE), ApiTrust(api, LEASE)
    signer, data = old_certificates(LIFE)
    secret.write(data, None)
    trust.trust(data["ca.crt"])
    leader = Keeper(
        secret, trust, [HOST], may_write=lambda: True, wall_clock=time, clock=monotonic, life=LIFE
    )
    stop = threading.Event()
    keeping = threading.Thread(target=leader.run, args=(stop,))
    kubeconfig = kubeconfig_of(api_server, tmp_path / "replica")
    with controlling(kubeconfig, tmp_path / "log", f"--webhook-address=127.0.0.1:{port}"):
        eventually(lambda: works(api), "the webhook answers with the old certificate")
        asking = Asking(3, lambda: create(api))
        keeping.start()

        def is_replaced() -> bool:
            found = ssl.get_server_certificate((HOST, port)).encode()
            return bool(read_certificates(found) != read_certificates(data["tls.crt"])) or bool(
                asking.failures
            )

        eventually(is_replaced, "the controller serves the new certificate")
        asking.wait_for(50)
        asking.stop()
        stop.set()
        leader.wake()
        keeping.join(30)
        assert asking.failures == []
    found = secret.read()
    assert found is not None
    assert read_stored(found.data).issuer_of_leaf() != signer.certificate
    assert "may write" not in (tmp_path / "log").read_text()
