"""``tangram validate``, and that ``allocate``, ``explain`` and the plugin say the same as it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

V1 = "tangram.dev/v1alpha1"
NVIDIA = "resource.nvidia.com/v1beta1"


def gpu_config(version: str = V1, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "GpuConfig", **fields}


def mps(**fields: Any) -> dict[str, Any]:
    return {"sharing": {"strategy": "MPS", "mpsConfig": fields}}


WRONG = {
    "unknown field": gpu_config(share="x"),
    "wrong type": gpu_config(sharing="MPS"),
    "out of range": gpu_config(**mps(defaultActiveThreadPercentage=101)),
    "above the memory": gpu_config(**mps(defaultPinnedDeviceMemoryLimit="41Gi")),
    "another kind": {"apiVersion": V1, "kind": "VfConfig"},
    "NVIDIA's, above the memory": gpu_config(NVIDIA, **mps(defaultPinnedDeviceMemoryLimit="41Gi")),
    "NVIDIA's, no counterpart": gpu_config(NVIDIA, **mps(multiUser=True)),
    "NVIDIA's other kind": {"apiVersion": NVIDIA, "kind": "VfioDeviceConfig"},
    "another version": {"apiVersion": "tangram.dev/v2", "kind": "GpuConfig"},
}


@pytest.fixture
def files(tangram, shipped, written, examples) -> Callable[..., list[Any]]:
    """Write a claim for one GPU with a configuration; return it with slices and classes, as arguments."""

    def write(parameters: dict[str, Any], node: str = "a100x2") -> list[Any]:
        claim = yaml.safe_load((examples / "gpu-claim.yaml").read_text())
        opaque = {"driver": "tangram.dev", "parameters": parameters}
        claim["spec"]["devices"]["config"] = [{"opaque": opaque}]
        slices = written("slices.yaml", tangram("show", "--machine", shipped(node), "--as", "v1").out)
        path = written("claim.yaml", yaml.safe_dump(claim))
        return ["-f", slices, "-f", examples / "device-classes.yaml", "-f", path]

    return write


@pytest.mark.parametrize("mistake", WRONG)
def test_validate_allocate_explain_and_the_plugin_refuse_with_one_sentence(tangram, files, mistake):
    arguments = files(WRONG[mistake])

    validated = tangram("validate", "--json", *arguments)
    sentence = validated.json["findings"][0]["text"]
    allocated = tangram("allocate", *arguments)
    prepared = tangram("demo", "--node", "a100x2", "--claim", arguments[-1], "--json")

    assert (validated.status, allocated.status) == (2, 2)
    assert allocated.out == ""
    assert allocated.err == f"tangram: claim default/whole-gpu: {sentence}\n"
    assert f"cannot prepare claim default/whole-gpu: {sentence}; " in refusal_of(prepared)
    explained = tangram("explain", "--json", *arguments)
    assert explained.json["refusedAtPrepare"][0] == f"claim default/whole-gpu: {sentence}"


def refusal_of(answer: Any) -> str:
    """Return what the demo said of the kubelet's call that failed, in one line."""
    return " ".join((answer.out + answer.err).replace("\\n", " ").split())


@pytest.mark.parametrize("version", [V1, NVIDIA])
@pytest.mark.parametrize("sharing", [{}, mps(defaultPinnedDeviceMemoryLimit="4Gi")], ids=["none", "mps"])
def test_a_configuration_that_can_be_prepared_is_allocated_and_prepared(tangram, files, version, sharing):
    arguments = files(gpu_config(version, **sharing))

    assert tangram("validate", *arguments).status == 0
    assert tangram("allocate", *arguments).status == 0
    assert tangram("demo", "--node", "a100x2", "--claim", arguments[-1]).status == 0
    assert tangram("explain", "--json", *arguments).json["refusedAtPrepare"] == []


def test_findings_are_printed_with_their_places(tangram, files):
    arguments = files(gpu_config(share=1))

    answer = tangram("validate", *arguments)

    assert answer.status == 2
    assert answer.err == ""
    head, text, path, counts = answer.out.splitlines()
    assert head == f"{arguments[-1]}:1: ResourceClaim default/whole-gpu"
    rule = "unknown field (did you mean sharing?); known here: apiVersion, kind, sharing"
    assert text == f"  error: all requests: GpuConfig.share: {rule}"
    assert path == "      at spec.devices.config[0].opaque.parameters.share"
    assert counts.endswith("documents: 1 error, 0 warnings")


def test_warnings_alone_leave_the_status_at_zero(tangram, written, files):
    claim = Path(files(gpu_config())[-1]).read_text()
    path = written("n.yaml", claim.replace("gpu.tangram.dev", "gpu-of-others"))

    answer = tangram("validate", "-f", path)

    assert answer.status == 0
    assert answer.out.splitlines()[-1] == "1 document: 0 errors, 1 warning"


def test_kinds_that_are_not_judged_are_counted(tangram, written):
    texts = ["kind: Namespace\nmetadata: {name: n}\n"] * 2
    texts.append("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: n}\n")
    path = written("n.yaml", "---\n".join(texts))

    answer = tangram("validate", "-f", path)

    assert (answer.status, answer.out) == (
        0,
        "3 documents: 0 errors, 0 warnings; not judged: 1 Job, 2 Namespace\n",
    )
    assert tangram("validate", "--json", "-f", path).json["skipped"] == {"Job": 1, "Namespace": 2}


def test_the_classes_of_the_driver_count_where_no_file_has_classes(tangram, examples, written):
    alone = tangram("validate", "-f", examples / "gpu-claim.yaml")
    under_another = tangram(
        "validate", "-f", examples / "nvidia-gpu-claim.yaml", "--driver-name", "gpu.nvidia.com"
    )

    assert (alone.status, alone.out) == (0, "1 document: 0 errors, 0 warnings\n")
    assert under_another.out == "1 document: 0 errors, 0 warnings\n"


def test_a_key_that_comes_twice_is_refused_with_its_place(tangram, written, files):
    claim = Path(files(gpu_config())[-1])
    text = claim.read_text().replace("kind: GpuConfig", "kind: GpuConfig\n          kind: GpuConfig")

    answer = tangram("validate", "-f", written("twice.yaml", text))

    assert answer.status == 2
    assert "twice.yaml:" in answer.err
    assert "key 'kind' comes twice" in answer.err


def test_a_file_that_is_not_there_is_one_message(tangram, tmp_path):
    answer = tangram("validate", "-f", tmp_path / "none.yaml")

    assert (answer.status, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1


def test_a_wrong_configuration_is_refused_also_where_the_claim_does_not_fit(tangram, files, written):
    arguments = files(gpu_config(share=1))
    claim = yaml.safe_load(Path(arguments[-1]).read_text())
    claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = 30
    arguments[-1] = written("claim.yaml", json.dumps(claim))

    answer = tangram("allocate", *arguments)

    assert answer.status == 2
    assert "GpuConfig.share: unknown field" in answer.err


def test_every_device_of_the_examples_can_be_prepared(tangram, files, examples):
    arguments = [*files(gpu_config(), "dgx-a100")[:-1], examples / "all-nics-claim.yaml"]

    answer = tangram("allocate", *arguments)

    assert (answer.status, answer.err) == (0, "")


def test_configurations_for_another_driver_do_not_stop_an_allocation(tangram, files):
    arguments = files(gpu_config(share=1))

    answer = tangram("allocate", "--driver-name", "gpu.example.com", *arguments)

    assert answer.status == 0


EXAMPLES = sorted(Path(__file__).parents[2].glob("deploy/examples/**/*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_have_no_mistake(tangram, path):
    findings = tangram("validate", "--json", "-f", path).json["findings"]

    assert [one for one in findings if one["level"] == "error"] == []


def of_file(tangram, written, content, *more):
    path = written("in.yaml", yaml.safe_dump(content))
    return tangram("validate", "--json", "-f", path, *more).json["findings"]


def test_a_value_that_no_published_device_has_is_a_warning_with_those_that_there_are(tangram, files, written):
    slices, classes, path = (files(gpu_config(), "dgx-a100")[index] for index in (1, 3, 5))
    claim = yaml.safe_load(Path(path).read_text())
    claim["spec"]["devices"] = {
        "requests": [
            {
                "name": "r",
                "exactly": {
                    "deviceClassName": "mig.tangram.dev",
                    "selectors": [
                        {"cel": {"expression": 'device.attributes["tangram.dev"].profile == "3g.40gb"'}}
                    ],
                },
            }
        ]
    }

    (found,) = of_file(tangram, written, claim, "-f", slices, "-f", classes)

    assert found["level"] == "warning"
    assert (
        "no published device has tangram.dev/profile 3g.40gb; present are 1g.10gb, 1g.5gb," in found["text"]
    )


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ('quantity("40 Gi")', "40 Gi"),
        ('quantity("40GB")', "40GB"),
        ('semver("1.2")', "1.2"),
        ('duration("5 minutes")', "5 minutes"),
    ],
)
def test_a_call_that_fails_on_every_device_is_an_error(tangram, files, written, call, reason):
    claim = yaml.safe_load(Path(files(gpu_config())[-1]).read_text())
    exactly = claim["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": f"{call} == {call}"}}]

    found = of_file(tangram, written, claim)

    assert {one["level"] for one in found} == {"error"}
    assert all(reason in one["text"] for one in found)


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "team-a"},
    "spec": {"containers": [{"name": "main", "image": "registry.example.com/app"}]},
}


def pod(**spec: Any) -> dict[str, Any]:
    return POD | {"spec": POD["spec"] | spec}


def asking(name: str) -> dict[str, Any]:
    return pod(containers=[POD["spec"]["containers"][0] | {"resources": {"limits": {name: 1}}}])


def test_what_a_pod_can_never_have_here_is_a_warning_with_its_field(tangram, written):
    def texts(content):
        return [one["text"] for one in of_file(tangram, written, content)]

    claims = [{"name": "d", "resourceClaimTemplateName": "absent"}]
    (missing,) = texts(pod(resourceClaims=claims))
    (plugin,) = texts(asking("nvidia.com/mig-3g.20gb"))
    (scheduler,) = texts(asking("koordinator.sh/rdma") | {"spec": asking("koordinator.sh/rdma")["spec"] | {
        "schedulerName": "koord-scheduler"}})  # fmt: skip

    assert missing.endswith("'absent': names no ResourceClaimTemplate of these documents")
    assert "nvidia.com/mig-3g.20gb: only a device plugin serves it" in plugin
    assert scheduler.startswith("spec.schedulerName: 'koord-scheduler':")
    assert texts(pod()) == texts(pod(schedulerName="koord-scheduler")) == []


def test_a_class_may_serve_the_resource_of_a_device_plugin(tangram, written):
    served = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.tangram.dev"},
        "spec": {"extendedResourceName": "nvidia.com/gpu"},
    }
    path = written("class.yaml", yaml.safe_dump(served))

    assert of_file(tangram, written, asking("nvidia.com/gpu"), "-f", path) == []


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_what_a_pod_says_of_its_group_is_judged(tangram, written, kind):
    prefix = "gang.scheduling.koordinator.sh"
    marks = {f"{prefix}/name": "train", f"{prefix}/min-available": "four"}
    content = POD | {"metadata": POD["metadata"] | {"annotations": marks}}
    if kind == "Deployment":
        template = {"metadata": {"labels": {"a": "b"}, "annotations": marks}, "spec": POD["spec"]}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        content = POD | {"apiVersion": "apps/v1", "kind": kind, "spec": spec}

    (found,) = of_file(tangram, written, content)

    above = "spec.template." if kind == "Deployment" else ""
    assert found["path"] == f"{above}metadata.annotations.{prefix}/min-available"
    assert "'four': must be a number" in found["text"]


def test_a_container_names_a_claim_whole_or_by_its_requests(tangram, written):
    def found(*claims):
        container = POD["spec"]["containers"][0] | {"resources": {"claims": list(claims)}}
        named = [{"name": "gpu", "resourceClaimName": "x"}]
        return [
            one["path"]
            for one in of_file(tangram, written, pod(resourceClaims=named, containers=[container]))
            if one["level"] == "error"
        ]

    whole, first, second = {"name": "gpu"}, {"name": "gpu", "request": "r0"}, {"name": "gpu", "request": "r1"}
    assert found(first, second) == found(whole) == []
    assert found(whole, first) == ["spec.containers[0].resources.claims[1].name"]
    assert found(first, whole) == ["spec.containers[0].resources.claims[1].name"]
    assert found(first, second, first) == ["spec.containers[0].resources.claims[2].name"]


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("NodePolicy", {"rules": [{"gpu": []}]}, "rules[0].gpu: unknown field"),
        ("NodeDevices", {"metadata": {"name": "n"}, "devices": [{"nam": "x"}]}, "devices[0].nam: unknown"),
        (
            "ResourceClass",
            {"metadata": {"name": "c"}, "spec": {"resourceSelector": [{"matchExpressions": [{"key": "m",
             "operator": "Gt", "values": ["wide"]}]}]}},
            "Gt compares by size",
        ),
        (
            "MultiNodePool",
            {"metadata": {"name": "p"}, "spec": {"driver": "tpu.example.com", "devices": [
                {"name": "t", "composite": {"allNodes": True, "includes": [{"name": "absent"}]}}]}},
            "includes unknown mixin 'absent'",
        ),
    ],
)  # fmt: skip
def test_our_own_kinds_are_judged(tangram, written, kind, content, reason):
    (found, *_) = of_file(tangram, written, {"apiVersion": V1, "kind": kind, **content})

    assert found["level"] == "error"
    assert reason in found["text"]


@pytest.mark.parametrize(
    ("entry", "warnings"),
    [
        ('{"minors": [0], "ringBusBandwidth": "400Gi", "allocationScore": 1}', []),
        (
            '{"minors": [0], "ringAllReduceBandwidth": "400Gi", "allocationScore": "1"}',
            ["ringAllReduceBandwidth was read as ringBusBandwidth", "allocationScore is quoted"],
        ),
        ('{"minors": [0]}', ["scores are computed"]),
    ],
)
@pytest.mark.parametrize(
    "node",
    [
        {"apiVersion": "v1", "kind": "Node"},
        {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "spec": {"devices": [{"type": "gpu", "minor": 0, "health": True}]},
        },
    ],
    ids=["Node", "Device"],
)
def test_spellings_of_a_partition_table_that_are_read_are_warnings(tangram, written, node, entry, warnings):
    annotations = {"scheduling.koordinator.sh/gpu-partitions": f'{{"1": [{entry}]}}'}

    found = of_file(tangram, written, node | {"metadata": {"name": "n", "annotations": annotations}})

    assert [(one["level"], one["path"]) for one in found] == [("warning", "metadata.annotations")] * len(
        warnings
    )
    assert all(text in one["text"] for text, one in zip(warnings, found, strict=True))


@pytest.mark.parametrize(
    ("device", "path", "reason"),
    [
        ({"includes": [{"name": "absent"}]}, "", "unknown mixin 'absent'"),
        ({"capacity": {"m": {"quantity": "1"}}, "consumesCapacityFrom": [{"name": "gone"}]}, "", "'gone'"),
        (
            {"compatibleOnlyWith": {"expression": "device.attributes["}},
            ".compatibleOnlyWith.expression",
            "does not compile",
        ),
        ({"includess": []}, ".includess", "unknown field"),
    ],
)
def test_an_entry_of_a_slice_that_means_nothing_is_an_error_at_its_place(
    tangram, written, device, path, reason
):
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "dev.example.com", "nodeName": "n", "pool": pool}
    devices = [{"name": "fine", "composite": {}}, {"name": "x", "composite": device}]
    content = {"apiVersion": V1, "kind": "CompositeResourceSlice", "metadata": {"name": "s"}}

    found = of_file(tangram, written, content | {"spec": {**spec, "devices": devices}})

    assert (f"spec.devices[1].composite{path}", True) in [
        (one["path"], reason in one["text"]) for one in found
    ]
    assert {one["level"] for one in found} == {"error"}


REFUSED_CLAIMS = {
    "misspelt level": {"devcies": {}},
    "no field of a claim": {"resourceClassName": "gpu"},
    "flat form in v1": {"devices": {"requests": [{"name": "g", "deviceClassName": "gpu.tangram.dev"}]}},
    "all, and a count": {"devices": {"requests": [{"name": "g", "exactly": {
        "deviceClassName": "gpu.tangram.dev", "allocationMode": "All", "count": 2}}]}},
    "upper case": {"devices": {"requests": [{"name": "G", "exactly": {"deviceClassName": "gpu.tangram.dev"}}]
    }},
    "name of a class": {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "GPU"}}]}},
    "two levels": {"devices": {}, "spec": {"devices": {}}},
    "two alternatives of one name": {"devices": {"requests": [{"name": "g", "firstAvailable": [
        {"name": "a", "deviceClassName": "gpu.tangram.dev"}] * 2}]}},
}  # fmt: skip


@pytest.mark.parametrize("mistake", REFUSED_CLAIMS)
def test_what_an_api_server_refuses_allocate_explain_and_plan_refuse_with_validates_sentence(
    tangram, files, written, mistake
):
    slices, classes, _ = (files(gpu_config())[index] for index in (1, 3, 5))
    content = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "team"},
        "spec": REFUSED_CLAIMS[mistake],
    }
    path = written("claim.yaml", yaml.safe_dump(content))

    findings = tangram("validate", "--json", "-f", path).json["findings"]
    (found,) = (one for one in findings if one["level"] == "error")
    allocated = tangram("allocate", "-f", slices, "-f", classes, "-f", path)
    explained = tangram("explain", "-f", slices, "-f", classes, "-f", path)
    planned = tangram("plan", "--add", "1=a100x2", "--claim", path)

    assert [one.status for one in (allocated, explained, planned)] == [2, 2, 2]
    assert all(f"ResourceClaim team/c: {found['text']}" in one.err for one in (allocated, explained, planned))


@pytest.mark.parametrize("count", [33, 2**63 - 1])
def test_more_devices_than_a_claim_can_hold_are_an_error_and_no_advice(tangram, files, written, count):
    claim = yaml.safe_load(Path(files(gpu_config())[-1]).read_text())
    claim["spec"]["devices"]["requests"][0]["exactly"]["count"] = count
    path = written("claim.yaml", yaml.safe_dump(claim))

    (found,) = of_file(tangram, written, claim)
    planned = tangram("plan", "--add", "2=dgx-a100", "--claim", path)

    sentence = f"needs at least {count} devices; a claim can hold 32"
    assert (found["level"], found["text"]) == ("error", f"spec.devices.requests: the claim {sentence}")
    assert planned.status == 1
    assert f"claim default/whole-gpu {sentence}" in planned.out
    assert "--may-add" not in planned.out


@pytest.mark.parametrize("form", [[], ["--json"], ["--as", "composite"]])
def test_show_of_a_pool_that_cannot_be_used_ends_with_2(tangram, written, form):
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "x", "composite": {}}] * 2
    spec = {"driver": "dev.example.com", "nodeName": "n", "pool": pool, "devices": devices}
    content = {"apiVersion": V1, "kind": "CompositeResourceSlice", "metadata": {"name": "s"}, "spec": spec}

    answer = tangram("show", "-f", written("s.yaml", yaml.safe_dump(content)), *form)

    assert answer.status == 2
    assert "names must be unique" in " ".join((answer.out + answer.err).split())
