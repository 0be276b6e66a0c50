"""The manifests ask for little, say why, and agree with the programs that they start."""

import itertools
import re
from pathlib import Path

import pytest
import yaml

from agent import options as agent_options
from plugin import arguments as plugin_arguments
from plugin.options import Options

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "deploy/manifests"
FILES = sorted(MANIFESTS.rglob("*.yaml"))
CHANGES = {"create", "update", "delete"}
FOLLOWS = {"list", "watch"}

NEEDS_A_REASON = re.compile(
    # a way out of the container
    r"^\s*(-\s)?(hostPath|privileged|hostNetwork|hostPID|runAsUser|priorityClassName):"
    r"|^\s+- [A-Z_]+$"  # a capability
)


def documents(*path):
    return [found for found in yaml.safe_load_all(MANIFESTS.joinpath(*path).read_text()) if found]


def one(kind, found):
    (match,) = [document for document in found if document["kind"] == kind]
    return match


def has_reason(lines, number):
    """Whether a comment stands above the line, the scalars before it, or the one header they are under."""
    headers = 0
    for above in reversed(lines[:number]):
        if above.lstrip().startswith("#"):
            return True
        headers += above.endswith(":") or above.lstrip().startswith("- ")
        if headers > 1 or lines[number].lstrip().startswith("- "):
            return False
    return False


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(MANIFESTS)))
def test_whatever_reaches_out_of_its_container_says_why(file):
    lines = file.read_text().splitlines()

    silent = [
        line
        for number, line in enumerate(lines)
        if NEEDS_A_REASON.search(line) and not has_reason(lines, number)
    ]

    assert silent == []


def test_the_service_account_may_do_this_and_nothing_else():
    role = one("ClusterRole", documents("base", "access.yaml"))

    rights = {
        (group, resource): set(rule["verbs"])
        for rule in role["rules"]
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"])
    }

    assert rights == {
        ("resource.k8s.io", "resourceslices"): FOLLOWS | CHANGES,
        ("tangram.dev", "compositeresourceslices"): FOLLOWS | CHANGES,
        ("", "nodes"): {"get"} | FOLLOWS,
        ("resource.k8s.io", "resourceclaims"): {"get"},
        ("resource.k8s.io", "resourceclaims/status"): {"patch"},
        ("resource.k8s.io", "resourceclaims/driver"): {"associated-node:patch"},
        ("events.k8s.io", "events"): {"create", "patch"},
    }


def test_the_right_to_write_device_status_is_for_our_driver_only():
    role = one("ClusterRole", documents("base", "access.yaml"))

    (rule,) = [rule for rule in role["rules"] if "resourceclaims/driver" in rule["resources"]]

    assert rule["resourceNames"] == ["tangram.dev"]


def test_every_policy_about_nodes_is_about_the_service_account_that_the_pods_run_as_and_is_bound():
    account = one("ServiceAccount", documents("base", "access.yaml"))["metadata"]
    found = documents("base", "admission-policy.yaml")
    policies = [document for document in found if document["kind"] == "ValidatingAdmissionPolicy"]
    bound = [document["spec"] for document in found if document not in policies]
    pod = one("DaemonSet", documents("base", "daemonset.yaml"))["spec"]["template"]["spec"]

    for policy in policies:
        (condition,) = policy["spec"]["matchConditions"]
        assert policy["spec"]["paramKind"] == {"apiVersion": "v1", "kind": "ServiceAccount"}
        assert condition["expression"] == (
            'request.userInfo.username == "system:serviceaccount:" + params.metadata.namespace + ":" + '
            "params.metadata.name"
        )
        assert {
            "policyName": policy["metadata"]["name"],
            "paramRef": {**account, "parameterNotFoundAction": "Allow"},
            "validationActions": ["Deny"],
        } in bound
    assert {policy["metadata"]["name"] for policy in policies} == {
        "tangram-slices-of-own-node",
        "tangram-status-of-own-devices",
        "tangram-events-of-own-node",
    }
    assert pod["serviceAccountName"] == account["name"]


def test_the_policy_about_claims_in_use_is_about_everybody_and_is_bound():
    policy, binding = documents("base", "claims-in-use.yaml")

    (condition,) = policy["spec"]["matchConditions"]
    assert "userInfo" not in condition["expression"]
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    assert policy["spec"]["failurePolicy"] == "Fail"


def containers(found):
    return {container["name"]: container for container in found["spec"]["template"]["spec"]["containers"]}


def test_without_hardware_of_nvidia_no_container_has_a_capability_and_the_agent_is_not_root():
    found = containers(one("DaemonSet", documents("base", "daemonset.yaml")))

    for container in found.values():
        context = container["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert "privileged" not in context
    assert found["agent"]["securityContext"]["runAsNonRoot"] is True


def test_every_folder_of_the_host_that_the_agent_writes_is_one_that_the_plugin_opens_to_it():
    """The agent is not root, and the kubelet makes the folders of volumes for root."""
    daemon_set = one("DaemonSet", documents("base", "daemonset.yaml"))
    volumes = daemon_set["spec"]["template"]["spec"]["volumes"]
    on_host = {volume["name"] for volume in volumes if "hostPath" in volume}
    mounts = containers(daemon_set)["agent"]["volumeMounts"]

    written = {one["mountPath"] for one in mounts if one["name"] in on_host and not one.get("readOnly")}

    opened = Options(driver_name="tangram.dev", node_name="node-a").folders_of_agent
    assert written == {str(folder) for folder in opened}


def selects(term, labels):
    holds = {
        "In": lambda rule: labels.get(rule["key"]) in rule["values"],
        "NotIn": lambda rule: labels.get(rule["key"]) not in rule["values"],
    }
    return all(holds[rule["operator"]](rule) for rule in term["matchExpressions"])


@pytest.mark.parametrize(
    ("labels", "is_served"),
    [
        ({}, False),
        ({"tangram.dev/node": "true"}, True),
        ({"feature.node.kubernetes.io/pci-0302_10de.present": "true"}, True),
        ({"feature.node.kubernetes.io/pci-10de.present": "true"}, True),
        ({"feature.node.kubernetes.io/pci-0207_15b3.present": "true"}, True),
        ({"nvidia.com/gpu.present": "true"}, True),
        ({"nvidia.com/gpu.present": "true", "tangram.dev/node": "false"}, False),
        ({"feature.node.kubernetes.io/pci-1d0f.present": "true"}, False),
    ],
)
def test_a_node_is_served_where_it_says_so_or_its_hardware_was_found(labels, is_served):
    pod = one("DaemonSet", documents("base", "daemonset.yaml"))["spec"]["template"]["spec"]
    needed = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]

    chosen = any(selects(term, labels) for term in needed["nodeSelectorTerms"])

    assert chosen is is_served


def test_the_classes_of_the_base_are_those_of_the_examples():
    examples = (ROOT / "deploy/examples/device-classes.yaml").read_text()

    assert documents("base", "device-classes", "device-classes.yaml") == list(yaml.safe_load_all(examples))


def test_the_simulated_machine_is_one_that_ships():
    shipped = (ROOT / "agent/hardware/simulated/nodes/a100x2.yaml").read_text()

    assert (MANIFESTS / "overlays/simulated/node.yaml").read_text() == shipped


@pytest.fixture
def rendered(kustomize):
    return lambda overlay: kustomize(MANIFESTS / "overlays" / overlay)


@pytest.mark.parametrize("overlay", ["simulated", "nvidia"])
def test_both_programs_take_the_arguments_that_an_overlay_gives_them(overlay, rendered):
    found = containers(one("DaemonSet", rendered(overlay)))
    parsers = {"agent": agent_options.parser(), "plugin": plugin_arguments.parser()}

    for name, parser in parsers.items():
        given = [argument.replace("$(NODE_NAME)", "node-a") for argument in found[name]["args"]]
        parser.parse_args(given)

        assert found[name]["command"] == ["python3", "-P", "-m", name]


@pytest.mark.parametrize("overlay", ["simulated", "nvidia"])
def test_every_mount_of_an_overlay_is_a_volume_of_it_and_every_volume_is_mounted(overlay, rendered):
    pod = one("DaemonSet", rendered(overlay))["spec"]["template"]["spec"]

    mounted = {
        mount["name"] for container in pod["containers"] for mount in container.get("volumeMounts", ())
    }

    assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_a_simulated_node_needs_no_hardware_no_label_and_no_privilege(rendered):
    found = one("DaemonSet", rendered("simulated"))

    assert "affinity" not in found["spec"]["template"]["spec"]
    added = {"agent": ["MKNOD"], "plugin": ["MKNOD", "SYS_PTRACE"]}
    for name, container in containers(found).items():
        assert container["image"] == "localhost/tangram:test"
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": added[name]}
        assert "privileged" not in container["securityContext"]


def test_pods_of_a_device_plugin_change_the_class_of_whole_gpus_and_no_other(rendered):
    classes = {found["metadata"]["name"]: found["spec"] for found in rendered("device-plugin-pods")}
    plain = {
        found["metadata"]["name"]: found["spec"]
        for found in documents("base", "device-classes", "device-classes.yaml")
    }

    assert classes.pop("gpu.tangram.dev") == {
        **plain.pop("gpu.tangram.dev"),
        "extendedResourceName": "nvidia.com/gpu",
    }
    assert classes == plain


def test_the_image_is_built_on_a_pinned_base_and_fetches_nothing():
    lines = (ROOT / "deploy/image/Containerfile").read_text().splitlines()

    (base,) = [line for line in lines if line.startswith("ARG BASE=")]
    runs = [line for line in lines if line.startswith(("RUN", "ADD"))]

    assert re.search(r"@sha256:[0-9a-f]{64}$", base)
    assert [line.split('"')[1] for line in runs] == ["python3"] * 3
