"""The controller's manifests ask for little, and use the same names as its programs and each other."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest
import yaml

from controller.certificates.making import service_names
from controller.election.values import Times
from controller.options import parser, read_options
from daemon.page.options import RIGHT
from scheduler_core.frontends.classes.pods import DOMAIN
from scheduler_core.frontends.pods.amounts import NAMES
from scheduler_core.model.ownership import AMOUNTS, CLAIM, CONTROLLER, GATE, OWNER, TAINT_EFFECT, TEMPLATES

ROOT = Path(__file__).parents[2]
OVERLAY = ROOT / "deploy/manifests/overlays/controller"
NAME, NAMESPACE = "tangram-controller", "tangram-system"
OF_PARAMETER = '"system:serviceaccount:" + params.metadata.namespace + ":" + params.metadata.name'
FOLLOWS = {"get", "list", "watch"}
CHANGES = {"update", "patch"}
WHOLE_GPUS = "nvidia.com/gpu"


def documents(file):
    return [one for one in yaml.safe_load_all((OVERLAY / file).read_text()) if one]


def all_of(kind):
    found = [
        one for file in OVERLAY.glob("*.yaml") for one in documents(file.name) if one.get("kind") == kind
    ]
    assert found
    return found


def the(kind):
    (one,) = all_of(kind)
    return one


def rights(role):
    return {
        (group, resource, *rule.get("resourceNames", ())): set(rule["verbs"])
        for rule in role["rules"]
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"])
    }


def test_in_the_cluster_the_controller_may_do_this_and_nothing_else():
    dra, ours = "resource.k8s.io", "tangram.dev"

    assert rights(the("ClusterRole")) == {
        ("", "pods"): FOLLOWS | {"patch"},
        ("", "pods/status"): {"patch"},
        ("", "nodes"): FOLLOWS,
        (dra, "resourceclaims"): FOLLOWS | CHANGES | {"create", "delete"},
        (dra, "resourceclaims/status"): CHANGES,
        (dra, "resourceclaims/binding"): CHANGES,
        (dra, "resourceclaimtemplates"): FOLLOWS,
        (dra, "deviceclasses"): FOLLOWS,
        (dra, "resourceslices"): FOLLOWS,
        ("scheduling.x-k8s.io", "podgroups"): FOLLOWS,
        ("scheduling.k8s.io", "podgroups"): FOLLOWS,
        (ours, "compositeresourceslices"): FOLLOWS,
        (ours, "resourceclasses"): FOLLOWS,
        (ours, "resourceclasses/status"): CHANGES,
        ("events.k8s.io", "events"): {"create", "patch"},
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", NAME): FOLLOWS | {"patch"},
    }


def test_in_its_own_namespace_it_may_write_one_lease_and_one_secret():
    assert the("Role")["metadata"]["namespace"] == NAMESPACE
    assert rights(the("Role")) == {
        ("coordination.k8s.io", "leases"): {"create"},
        ("coordination.k8s.io", "leases", NAME): FOLLOWS | CHANGES,
        ("", "secrets", NAME): FOLLOWS | CHANGES,
    }
    assert the("Secret")["metadata"]["name"] == NAME


@pytest.mark.parametrize("kind", ["ClusterRoleBinding", "RoleBinding"])
def test_the_rights_are_those_of_the_account_that_the_pods_run_as(kind):
    binding = the(kind)

    assert binding["roleRef"]["name"] == NAME
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}]
    assert the("ServiceAccount")["metadata"] == {"name": NAME, "namespace": NAMESPACE}
    assert the("Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == NAME


def test_the_pods_have_no_privilege_and_write_nothing_but_memory():
    pod = the("Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert all(volume["emptyDir"]["medium"] == "Memory" for volume in pod["volumes"])
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()


def test_the_program_takes_the_deployments_arguments():
    (container,) = the("Deployment")["spec"]["template"]["spec"]["containers"]
    values = {"DRIVER_NAME": "tangram.dev", "NAMESPACE": NAMESPACE, "POD_NAME": f"{NAME}-0"}
    assert {one["name"] for one in container["env"]} >= values.keys()
    arguments = [re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], one) for one in container["args"]]

    assert container["command"][-2:] == ["-m", "controller"]
    assert parser().parse_args(arguments).namespace == NAMESPACE
    assert read_options(arguments).identity == f"{NAME}-0"


def test_the_lease_is_there_and_has_no_holder_so_that_the_first_leader_need_not_wait():
    assert the("Lease")["metadata"] == {"name": NAME, "namespace": NAMESPACE}
    assert the("Lease")["spec"] == {"leaseDurationSeconds": Times().lease_s}


def test_the_service_and_the_budget_are_about_the_pods_and_the_webhook_is_behind_the_service():
    template = the("Deployment")["spec"]["template"]
    ports = {port["name"]: port["containerPort"] for port in template["spec"]["containers"][0]["ports"]}
    service = the("Service")
    (port,) = service["spec"]["ports"]
    (webhook,) = the("MutatingWebhookConfiguration")["webhooks"]

    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert the("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    assert f"--webhook-address=:{ports[port['targetPort']]}" in template["spec"]["containers"][0]["args"]
    assert webhook["clientConfig"]["service"].items() >= {"name": NAME, "namespace": NAMESPACE}.items()
    assert service["metadata"]["name"] == NAME


def test_the_webhook_fails_closed_only_for_pods_that_ask_and_never_for_its_own():
    (webhook,) = the("MutatingWebhookConfiguration")["webhooks"]
    (condition,) = webhook["matchConditions"]
    named = set(re.findall(r'"([^"]+)"', condition["expression"]))

    assert webhook["failurePolicy"] == "Fail"
    assert webhook["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [NAMESPACE]}
    ]
    assert {GATE, AMOUNTS, CLAIM, TEMPLATES, DOMAIN} <= named
    for name in NAMES:
        # A pod with whole GPUs and no annotation asks a device plugin, so it must not depend on us.
        assert any(name.startswith(known) for known in named) is (name != WHOLE_GPUS)


def test_both_policies_let_the_controller_pass_name_its_taint_and_are_bound():
    policies = all_of("ValidatingAdmissionPolicy")
    bound = [one["spec"] for one in all_of("ValidatingAdmissionPolicyBinding")]
    account = {"name": NAME, "namespace": NAMESPACE, "parameterNotFoundAction": "Allow"}

    for policy in policies:
        conditions = {one["name"]: one["expression"] for one in policy["spec"]["matchConditions"]}
        tolerant = next(one for one in policy["spec"]["variables"] if one["name"] == "tolerant")["expression"]
        assert conditions["not-by-the-controller"] == f"request.userInfo.username != {OF_PARAMETER}"
        assert policy["spec"]["paramKind"] == {"apiVersion": "v1", "kind": "ServiceAccount"}
        assert {f'"{OWNER}"', f'"{CONTROLLER}"', f'"{TAINT_EFFECT}"'} <= set(re.findall(r'"[^"]*"', tolerant))
        name = policy["metadata"]["name"]
        assert {"policyName": name, "paramRef": account, "validationActions": ["Deny"]} in bound
    assert [one["metadata"]["name"] for one in policies] == ["tangram-tolerations", "tangram-allocations"]


def test_to_remove_the_controller_removes_nothing_that_others_use(kustomize):
    kinds = {one["kind"] for one in kustomize(OVERLAY)}

    assert not kinds & {"Namespace", "CustomResourceDefinition", "DaemonSet", "DeviceClass"}
    assert {"Deployment", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy"} <= kinds


def test_a_driver_with_another_name_is_the_controllers_too(kustomize, tmp_path):
    folders = [os.path.relpath(OVERLAY.parent / one, tmp_path) for one in ("nvidia", "controller")]
    component = os.path.relpath(ROOT / "deploy/manifests/driver-name", tmp_path)
    local = {"config.kubernetes.io/local-config": "true"}
    (tmp_path / "kustomization.yaml").write_text(
        yaml.safe_dump(
            {
                "resources": folders,
                "components": [component],
                "configMapGenerator": [
                    {
                        "name": "driver",
                        "literals": ["name=gpu.example.com"],
                        "options": {"annotations": local},
                    }
                ],
            }
        )
    )

    found = {(one["kind"], one["metadata"]["name"]): one for one in kustomize(tmp_path)}

    (container,) = found["Deployment", NAME]["spec"]["template"]["spec"]["containers"]
    variables = found["ValidatingAdmissionPolicy", "tangram-allocations"]["spec"]["variables"]
    assert {"name": "DRIVER_NAME", "value": "gpu.example.com"} in container["env"]
    assert rights(found["ClusterRole", NAME]) == rights(the("ClusterRole"))
    assert {"name": "driver", "expression": '"gpu.example.com"'} in variables


def test_the_kustomization_of_the_install_guide_is_the_overlay_with_the_users_image(kustomize, tmp_path):
    guide = (ROOT / "docs/install.md").read_text()
    (text,) = re.findall(
        r"tangram-controller/kustomization.yaml <<'END'\n(.*?)^END$", guide, re.DOTALL | re.MULTILINE
    )
    (tmp_path / "kustomization.yaml").write_text(
        text.replace("../deploy", os.path.relpath(ROOT / "deploy", tmp_path))
    )

    found = kustomize(tmp_path)

    (deployment,) = [one for one in found if one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/tangram:0.1.0"
    assert {one["kind"] for one in found} == {one["kind"] for one in kustomize(OVERLAY)}


def test_with_cert_manager_the_controller_serves_the_files_that_the_certificate_makes(kustomize, tmp_path):
    above = os.path.relpath(OVERLAY, tmp_path)
    component = os.path.relpath(OVERLAY.parents[1] / "cert-manager", tmp_path)
    kustomization = {"kind": "Kustomization", "resources": [above], "components": [component]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    found = {(one["kind"], one["metadata"]["name"]): one for one in kustomize(tmp_path)}

    pod = found["Deployment", NAME]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "certificate")
    (volume,) = (one for one in pod["volumes"] if one["name"] == "certificate")
    certificate = found["Certificate", "tangram-controller-webhook"]
    assert read_options(expanded(container["args"])).certificate_dir == Path(mount["mountPath"])
    assert volume["secret"]["secretName"] == certificate["spec"]["secretName"]
    assert set(certificate["spec"]["dnsNames"]) == set(service_names(NAME, NAMESPACE))
    annotations = found["MutatingWebhookConfiguration", NAME]["metadata"]["annotations"]
    assert annotations["cert-manager.io/inject-ca-from"] == f"{NAMESPACE}/{certificate['metadata']['name']}"


def test_the_page_is_served_by_tls_to_whom_the_api_server_allows_it_and_nobody_has_that_right(
    kustomize, tmp_path
):
    above = os.path.relpath(OVERLAY, tmp_path)
    component = os.path.relpath(OVERLAY.parents[1] / "page", tmp_path)
    kustomization = {"kind": "Kustomization", "resources": [above], "components": [component]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    found = {(one["kind"], one["metadata"]["name"]): one for one in kustomize(tmp_path)}

    pod = found["Deployment", NAME]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "page-tls")
    (port,) = (one for one in container["ports"] if one["name"] == "page")
    page = read_options(expanded(container["args"])).page
    assert page.address.port == port["containerPort"]
    assert page.is_authorized
    assert {page.certificate.parent, page.key.parent} == {Path(mount["mountPath"])}
    assert found["Service", "tangram-page"]["spec"]["ports"][0]["targetPort"] == port["name"]
    assert rights(found["ClusterRole", "tangram-page-reviews"]) == {
        ("authentication.k8s.io", "tokenreviews"): {"create"},
        ("authorization.k8s.io", "subjectaccessreviews"): {"create"},
    }
    assert found["ClusterRole", "tangram-page-reader"]["rules"] == [
        {"nonResourceURLs": [RIGHT], "verbs": ["get"]}
    ]
    bound = [one for (kind, _), one in found.items() if kind.endswith("Binding") and "roleRef" in one]
    assert "tangram-page-reader" not in {one["roleRef"]["name"] for one in bound}
    assert found["ClusterRoleBinding", "tangram-page-reviews"]["subjects"] == [
        {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    ]


def test_the_controller_serves_no_page_unless_it_is_asked_to():
    (container,) = the("Deployment")["spec"]["template"]["spec"]["containers"]

    assert read_options(expanded(container["args"])).page is None


def expanded(args):
    """Return arguments as the kubelet gives them to the program."""
    values = {"DRIVER_NAME": "tangram.dev", "NAMESPACE": NAMESPACE, "POD_NAME": "tangram-controller-1"}
    return [re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], one) for one in args]


def test_without_the_webhook_nothing_of_it_is_left_and_two_policies_are_in_its_place(kustomize, tmp_path):
    above = os.path.relpath(OVERLAY, tmp_path)
    component = os.path.relpath(OVERLAY.parents[1] / "without-webhook", tmp_path)
    kustomization = {"kind": "Kustomization", "resources": [above], "components": [component]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    found = {(one["kind"], one["metadata"]["name"]): one for one in kustomize(tmp_path)}

    (container,) = found["Deployment", NAME]["spec"]["template"]["spec"]["containers"]
    named = {
        resource for _, resource, *_ in (*rights(found["ClusterRole", NAME]), *rights(found["Role", NAME]))
    }
    assert not {"MutatingWebhookConfiguration", "Service", "Secret"} & {kind for kind, _ in found}
    assert read_options(expanded(container["args"])).webhook is None
    assert [port["name"] for port in container["ports"]] == ["metrics"]
    assert named & {"secrets", "mutatingwebhookconfigurations"} == set()
    assert {"leases", "resourceclaims", "events"} <= named
    for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        assert found[kind, "tangram-pods"]["spec"]["failurePolicy"] == "Fail"
        assert found[f"{kind}Binding", "tangram-pods"]["spec"]["policyName"] == "tangram-pods"


def test_the_policies_in_its_place_know_every_amount_and_write_our_names():
    text = (OVERLAY.parents[1] / "without-webhook/policies.yaml").read_text()
    changes, _, refuses = text.partition("kind: ValidatingAdmissionPolicy\n")

    for name in (*NAMES, AMOUNTS, CLAIM, GATE):
        assert f'"{name}"' in changes, name
    for name in (AMOUNTS, CLAIM, GATE, DOMAIN, WHOLE_GPUS):
        assert f'"{name}"' in refuses, name
    assert f'"{TEMPLATES}"' in refuses
