"""An object of the cluster that cannot be read is named to the user, and hides no other."""

from __future__ import annotations

import pytest
from scripted_api import Reply, Script, serving, write_kubeconfig

from tangram.api import connect


@pytest.fixture
def server():
    yield from serving(Script())


def test_a_claim_that_cannot_be_read_is_named_on_standard_error(server, tmp_path, capsys):
    deep = b"[" * 100_000 + b"]" * 100_000
    good = b'{"metadata": {"name": "good", "namespace": "team"}}'
    bad = b'{"metadata": {"name": "bad", "namespace": "team"}, "spec": %s}' % deep
    server.answers(Reply(b'{"metadata": {"resourceVersion": "1"}, "items": [%s, %s]}' % (bad, good)))
    address = f"http://127.0.0.1:{server.server_port}"
    cluster = connect(write_kubeconfig(tmp_path / "kubeconfig", address, {}, {"token": "t"}), None)

    found = cluster.list("ResourceClaim")

    assert [one["metadata"]["name"] for one in found] == ["good"]
    told = "tangram: ResourceClaim team/bad cannot be read: it is nested too deeply; it is left out\n"
    assert capsys.readouterr().err == told
