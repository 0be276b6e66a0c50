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
