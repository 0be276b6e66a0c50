"""Which pods use what is held: those that a claim is reserved for, and annotated pods themselves."""

import pytest

from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.frontends.objects import pods_by_claim
from scheduler_core.model.claim import ClaimRef


def claim(*reserved):
    metadata = {"namespace": "team", "name": "c"}
    return Document(
        "c.yaml", {"kind": "ResourceClaim", "metadata": metadata, "status": {"reservedFor": [*reserved]}}
    )


def test_a_claim_is_used_by_the_pods_that_it_is_reserved_for():
    found = pods_by_claim(
        [
            claim(
                {"resource": "pods", "name": "b"},
                {"resource": "jobs", "name": "j"},
                {"resource": "pods", "name": "a"},
            )
        ]
    )

    assert found == {ClaimRef("team", "c"): ("a", "b")}


def test_an_annotated_pod_uses_what_it_holds_itself():
    pod = Document("p.yaml", {"kind": "Pod", "metadata": {"name": "p"}})

    assert pods_by_claim([pod]) == {ClaimRef("default", "p"): ("p",)}


def test_a_reservation_that_no_api_server_stores_is_refused_with_its_path():
    with pytest.raises(InvalidDocument, match=r"c\.yaml.*status\.reservedFor\[0\]\.name"):
        pods_by_claim([claim({"resource": "pods"})])
