"""Whether a claim is still there, asked of an API server over a real socket."""

from __future__ import annotations

from typing import Any

import pytest
from claims_cluster import Cluster

from plugin._pb.dra_v1 import api_pb2 as v1
from plugin.api import ClusterClaims
from plugin.base.errors import ClaimUnreadable
from plugin.claim.reconciling.standing import ASK_S, GRACE_S
from plugin.telling.ports import NoObserver
from scheduler_core.model.claim import ClaimRef

CLAIM, REF = v1.Claim(namespace="team", name="c", uid="u1"), ClaimRef("team", "c")


@pytest.fixture
def claims(cluster: Cluster) -> ClusterClaims:
    return cluster.claims


def test_a_claim_is_found_by_name_and_one_that_is_gone_is_none(
    cluster: Cluster, claims: ClusterClaims
) -> None:
    found = claims.find(REF)
    cluster.server.claim = None

    assert found is not None
    assert found["metadata"]["uid"] == "u1"
    assert claims.find(REF) is None


def test_a_server_that_fails_or_does_not_know_claims_at_all_says_nothing_of_one(
    cluster: Cluster, claims: ClusterClaims
) -> None:
    for status in (403, 404, 500):
        cluster.server.fails = [status] * 3
        with pytest.raises(ClaimUnreadable, match="cannot read claim team/c: the server says no"):
            claims.find(REF)
        cluster.server.fails = []


def test_a_claim_that_was_deleted_without_an_unprepare_is_undone(site: Any, cluster: Cluster) -> None:
    assert cluster.kubelet.devices(CLAIM)
    later = iter(range(0, 10**6, int(ASK_S)))
    driver = site.driver(clock=lambda: float(next(later)))
    looks = driver.looks(NoObserver(), cluster.claims)
    cluster.server.claim = None

    for _ in range(2 + int(GRACE_S / ASK_S)):
        looks.look()

    assert site.leftovers() == []
