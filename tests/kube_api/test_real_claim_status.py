"""Against a real API server: the status of a claim, whatever the order of its parameters' keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube_api import RESOURCE_CLAIMS, EventWriter, KubeApi
from plugin.api import ClusterClaims
from scheduler_core.model.claim import ClaimRef, ClaimUid

pytestmark = pytest.mark.cluster

SORTED = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", "mode": "netdev"}
OTHERS = {"driver": "other.example.com", "pool": "n", "device": "d", "data": {"z": 1, "a": 2}}
ELSEWHERE = {"driver": "tangram.dev", "pool": "m", "device": "d"}
OURS = {"driver": "tangram.dev", "pool": "n", "device": "d", "data": {"pciAddress": "0000:19:00.2"}}


def allocated(api: KubeApi, name: str, parameters: dict[str, Any]) -> ClaimUid:
    """Make a claim with devices of two drivers and nodes, of which the other ones have a status."""
    given = {"opaque": {"driver": "tangram.dev", "parameters": parameters}}
    wanted = {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}], "config": [given]}
    metadata = {"name": name, "namespace": "default"}
    made = dict(api.create(RESOURCE_CLAIMS, {"metadata": metadata, "spec": {"devices": wanted}}).document)
    keys = ("driver", "pool", "device")
    results = [{"request": "r", **{key: one[key] for key in keys}} for one in (OTHERS, ELSEWHERE, OURS)]
    found = {"results": results, "config": [{"source": "FromClaim", **given}]}
    made["status"] = {"allocation": {"devices": found}, "devices": [OTHERS, ELSEWHERE]}
    api.replace(RESOURCE_CLAIMS, made, subresource="status")
    return ClaimUid(made["metadata"]["uid"])


@pytest.mark.parametrize("parameters", [SORTED, dict(reversed(SORTED.items()))])
def test_a_claim_gets_its_status_and_keeps_its_parameters_and_what_others_say(
    real: KubeApi, parameters: dict[str, Any]
) -> None:
    name = f"claim-{next(iter(parameters)).lower()}"
    uid = allocated(real, name, parameters)
    events = EventWriter(real, "test", lambda: 0.0, "n")
    claims = ClusterClaims(real, events, "tangram.dev/plugin/n", "n", "tangram.dev")
    ref = ClaimRef("default", name)

    told = []
    for devices in ([OURS], [OURS], []):
        claims.set_devices(ref, uid, devices)
        status = json.loads(real.get(RESOURCE_CLAIMS, name, "default").text)["status"]
        told.append([(one["driver"], one["pool"]) for one in status["devices"]])
        (config,) = status["allocation"]["devices"]["config"]
        assert list(config["opaque"]["parameters"]) == list(parameters)

    others = [("other.example.com", "n"), ("tangram.dev", "m")]
    assert told == [[*others, ("tangram.dev", "n")]] * 2 + [others]
