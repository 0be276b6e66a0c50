"""A kustomization that renames the service account renames it in the policies: else they match nobody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

MANIFESTS = Path(__file__).parents[2] / "deploy/manifests"
OVERLAYS = ["base", "overlays/nvidia", "overlays/simulated"]
WITH_CONTROLLER = ["overlays/nvidia", "overlays/controller", "multi-node-pools"]
OF_CONTROLLER = {"tangram-tolerations", "tangram-allocations", "tangram-slices-of-no-node"}
CHANGES = {
    "nothing": "",
    "namespace": "namespace: gpus\n",
    "prefix": "namePrefix: acme-\n",
    "suffix": "nameSuffix: -blue\n",
    "all": "namespace: gpus\nnamePrefix: acme-\nnameSuffix: -blue\n",
}


@pytest.fixture
def rendered(change, kustomize, tmp_path):
    """Return what a user's kustomization over some folders of ours makes of them, by kind."""

    def by_kind(*folders):
        listed = ", ".join(os.path.relpath(MANIFESTS / one, tmp_path) for one in folders)
        (tmp_path / "kustomization.yaml").write_text(f"{change}resources: [{listed}]\n")
        found = {}
        for document in kustomize(tmp_path):
            found.setdefault(document["kind"], []).append(document)
        return found

    return by_kind


@pytest.fixture(params=OVERLAYS)
def found(request, rendered):
    """An overlay in a kustomization of a user's, by kind."""
    return rendered(request.param)


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


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_policies_about_the_controller_refer_to_the_account_that_it_runs_as(rendered):
    found = rendered(*WITH_CONTROLLER)
    (deployment,) = found["Deployment"]
    account = {
        "name": deployment["spec"]["template"]["spec"]["serviceAccountName"],
        "namespace": deployment["metadata"]["namespace"],
    }
    policies = {one["metadata"]["name"]: one["spec"] for one in found["ValidatingAdmissionPolicy"]}
    bindings = {one["spec"]["policyName"]: one["spec"] for one in found["ValidatingAdmissionPolicyBinding"]}

    about = {name for name, one in bindings.items() if one.get("paramRef", {}).get("name") == account["name"]}
    assert {name.removeprefix("acme-").removesuffix("-blue") for name in about} == OF_CONTROLLER
    for name in about:
        assert bindings[name]["paramRef"] == {**account, "parameterNotFoundAction": "Allow"}
        assert policies[name]["paramKind"] == {"apiVersion": "v1", "kind": "ServiceAccount"}
    assert bindings.keys() == policies.keys()
    names = {(one["metadata"]["namespace"], one["metadata"]["name"]) for one in found["ServiceAccount"]}
    assert (account["namespace"], account["name"]) in names


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_expression_about_the_controller_names_an_account(rendered):
    policies = rendered(*WITH_CONTROLLER)["ValidatingAdmissionPolicy"]

    assert len(policies) >= len(OF_CONTROLLER) + 3
    assert not any("serviceaccount:tangram" in str(one["spec"]) for one in policies)
