"""A kustomization that renames the service account renames it in the policies: else they match nobody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

MANIFESTS = Path(__file__).parents[2] / "deploy/manifests"
OVERLAYS = ["base", "overlays/nvidia", "overlays/simulated"]
CHANGES = {
    "nothing": "",
    "namespace": "namespace: gpus\n",
    "prefix": "namePrefix: acme-\n",
    "suffix": "nameSuffix: -blue\n",
    "all": "namespace: gpus\nnamePrefix: acme-\nnameSuffix: -blue\n",
}


@pytest.fixture(params=OVERLAYS)
def found(request, change, kustomize, tmp_path):
    """An overlay in a kustomization of a user's, by kind."""
    folder = os.path.relpath(MANIFESTS / request.param, tmp_path)
    (tmp_path / "kustomization.yaml").write_text(f"{change}resources: [{folder}]\n")
    by_kind = {}
    for document in kustomize(tmp_path):
        by_kind.setdefault(document["kind"], []).append(document)
    return by_kind


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_binding_refers_to_the_account_of_the_pods_and_to_its_policy(found):
    (pods,) = found["DaemonSet"]
    account = {
        "name": pods["spec"]["template"]["spec"]["serviceAccountName"],
        "namespace": pods["metadata"]["namespace"],
    }
    policies = {one["metadata"]["name"]: one["spec"] for one in found["ValidatingAdmissionPolicy"]}
    bindings = {one["spec"]["policyName"]: one["spec"] for one in found["ValidatingAdmissionPolicyBinding"]}

    assert bindings.keys() == policies.keys()
    narrowed = {name for name, spec in policies.items() if "paramKind" in spec}
    assert len(narrowed) == 3
    for name in narrowed:
        assert bindings[name]["paramRef"] == {**account, "parameterNotFoundAction": "Allow"}
    assert {"kind": "ServiceAccount", **account} in found["ClusterRoleBinding"][0]["subjects"]
    assert [one["metadata"]["name"] for one in found["ServiceAccount"]] == [account["name"]]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_expression_names_an_account(found):
    texts = [
        str(one["spec"][part])
        for one in found["ValidatingAdmissionPolicy"]
        for part in ("matchConditions", "variables", "validations")
        if part in one["spec"]
    ]

    assert texts
    assert not any("system:serviceaccount:tangram" in text for text in texts)
