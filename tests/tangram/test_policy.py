"""``tangram policy check`` and ``tangram show --policy``: what a policy means, without any machine."""

from __future__ import annotations

from pathlib import Path

import pytest

FLEET = "policy/fleet.yaml"
HEAD = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n"


def test_a_right_file_ends_with_status_0(tangram, examples: Path) -> None:
    answer = tangram("policy", "check", examples / FLEET)

    assert (answer.status, answer.err) == (0, "")
    assert answer.out.endswith("fleet.yaml: right; 3 rules\n")


def test_a_wrong_file_is_one_message_with_its_line_and_status_2(tangram, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(HEAD + "- gpus:\n  - modes: [half]\n")

    answer = tangram("policy", "check", file)

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert f"{file}:5: rules[0].gpus[0].modes[0]: 'half': must be one of" in answer.err


@pytest.mark.parametrize(
    ("pool", "settings"),
    [
        ("training", "offered as whole; example.com/team=research"),
        ("inference", "offered as mig (mode kept on); MIG profiles 1g.5gb, 2g.10gb, 3g.20gb"),
        ("notebooks", "offered as whole, fraction, mps"),
        ("none", "as the options say"),
    ],
)
def test_the_settings_of_a_node_are_shown_by_its_labels(pool, settings, tangram, examples: Path) -> None:
    labels = f"example.com/pool={pool}"
    answer = tangram("policy", "check", examples / FLEET, "--node", "dgx-a100", "--node-labels", labels)

    assert answer.status == 0
    assert settings in answer.out


def test_json_has_the_settings_by_device_and_what_matches_nothing(tangram, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(HEAD + "- gpus:\n  - select: {numbers: [9]}\n    modes: [mig]\n  - modes: [whole]\n")

    answer = tangram("policy", "check", file, "--node", "a100x2", "--json").json

    assert answer["valid"] is True
    assert [one["modes"]["mig"] for one in answer["settings"]["gpus"].values()] == [False, False]
    assert answer["warnings"] == ["rules[0].gpus[0]: matches no GPU of node a100x2"]


def test_the_partitions_of_a_layout_are_shown_with_their_places(tangram, examples: Path) -> None:
    options = ("--node", "dgx-a100", "--node-labels", "example.com/pool=inference")
    checked = tangram("policy", "check", examples / "policy/mig-layout.yaml", *options)
    shown = tangram(
        "show", "--node", "dgx-a100", "--policy", examples / "policy/mig-layout.yaml", *options[2:]
    )

    assert checked.status == 0
    assert "offered as mig; MIG layout 3g.20gb at 0-3, 2g.10gb at 4-5, 1g.5gb at 6" in checked.out
    assert "gpu-7-mig-2g-10gb-4-5" in shown.out
    assert "gpu-7-mig-2g-10gb-0-1" not in shown.out


def test_a_layout_that_no_gpu_can_have_is_refused_for_the_node_that_is_asked_about(
    tangram, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(HEAD + "- gpus:\n  - migLayout: [{profile: 3g.20gb, count: 3}]\n")

    answer = tangram("policy", "check", file, "--node", "a100x2")

    assert answer.status == 2
    assert (
        "gpu-0 (NVIDIA A100-SXM4-40GB) cannot have this layout: it needs 12 memory slices, the GPU has 8"
        in answer.err
    )


MOVED = HEAD + "- topology:\n  - {pciAddresses: ['0000:19:*'], numaNode: 1, pcieRoot: 'pci0000:85'}\n"
JOINT = """
apiVersion: v1
kind: Pod
metadata:
  namespace: default
  name: joint
  annotations:
    scheduling.koordinator.sh/device-joint-allocate: |-
      {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}
spec:
  containers:
  - name: main
    image: registry.example.com/train:1
    resources: {requests: {nvidia.com/gpu: 2, koordinator.sh/rdma: 1}}
"""


def test_gpus_and_nics_are_allocated_together_where_the_policy_says_they_are(tangram, tmp_path: Path) -> None:
    policy, pod, slices = (tmp_path / name for name in ("policy.yaml", "pod.yaml", "slices.yaml"))
    policy.write_text(MOVED)
    pod.write_text(JOINT)

    def gpus(*options) -> set[str]:
        slices.write_text(tangram("show", "--node", "a30x4", "--as", "v1", *options).out)
        answer = tangram("allocate", "-f", slices, "--pod", pod)
        return {name for name in ("gpu-0", "gpu-1", "gpu-2", "gpu-3") if name in answer.out}

    assert gpus() == {"gpu-0", "gpu-1"}
    assert gpus("--policy", policy) == {"gpu-2", "gpu-3"}


STORAGE = """
- nics:
  - modes: [rdma, vfio]
    vfs:
    - {indexes: [1], modes: [rdma], attributes: {example.com/rail: storage}}
"""
SELECTING = JOINT.replace(
    """device-joint-allocate: |-
      {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}""",
    """device-allocate-hint: |-
      {"rdma": {"vfSelector": {"matchLabels": {"example.com/rail": "storage"}}}}""",
)


def test_a_label_of_the_policy_selects_one_vf_for_a_pod(tangram, tmp_path: Path) -> None:
    policy, pod, slices = (tmp_path / name for name in ("policy.yaml", "pod.yaml", "slices.yaml"))
    policy.write_text(HEAD + STORAGE)
    pod.write_text(SELECTING)
    slices.write_text(tangram("show", "--node", "a30x4", "--policy", policy, "--as", "v1").out)

    answer = tangram("allocate", "-f", slices, "--pod", pod)
    checked = tangram("policy", "check", policy, "--node", "a30x4")

    assert "nic-0000-19-00-0-vf-1" in answer.out
    assert "nic-0000-19-00-0-vf-0" not in answer.out
    assert "in modes rdma, vfio; VF 1: in modes rdma, example.com/rail=storage" in checked.out


def test_what_a_policy_says_of_a_place_is_marked_in_what_is_shown(tangram, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(MOVED)

    shown = tangram("show", "--node", "a30x4", "--policy", policy).out
    checked = tangram("policy", "check", policy, "--node", "a30x4").out

    nic, gpu = (
        next(line for line in shown.splitlines() if name in line) for name in ("nic-0000-19-00-1", "gpu-0 ")
    )
    assert "by policy: numaNode, pcieRoot" in nic
    assert "by policy" not in gpu
    assert "at numaNode 1, pcieRoot pci0000:85" in checked


def test_show_publishes_a_node_under_a_policy(tangram, examples: Path) -> None:
    labels = "example.com/pool=inference"
    shown = tangram(
        "show", "--node", "a100x2", "--policy", examples / FLEET, "--node-labels", labels, "--json"
    ).json

    names = {name for row in shown["devices"] for name in row["names"]}
    assert "gpu-0-mig-1g-5gb-0" in names
    assert "gpu-0-mig-1g-10gb-0-1" not in names
    assert not {name for name in names if name.startswith("gpu-1-mig")}
    assert [one["device"] for one in shown["withheld"] if one["reason"]["cause"] == "policy"] == ["gpu-1"]


def test_the_settings_of_the_logs_are_shown_for_the_node(tangram, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(HEAD + "- logs: {format: json, level: warning}\n")

    answer = tangram("policy", "check", policy, "--node", "no-gpu")

    assert "logs format json, level warning" in answer.out


def test_an_option_and_a_policy_about_the_same_thing_are_refused(tangram, examples: Path) -> None:
    answer = tangram("show", "--node", "a100x2", "--policy", examples / FLEET, "--gpu-modes", "all=whole")

    assert answer.status == 2
    assert "speaks of what --gpu-modes of the command line says; remove the option" in answer.err


@pytest.mark.parametrize("labels", ["a", "a=b,a=c", "=b"])
def test_labels_that_are_none_are_refused(labels: str, tangram, examples: Path) -> None:
    answer = tangram("policy", "check", examples / FLEET, "--node-labels", labels)

    assert answer.status == 2
    assert "--node-labels" in answer.err


@pytest.mark.parametrize("name", ["fleet", "mig-layout", "virtual-machine"])
def test_every_example_of_a_policy_is_right(name: str, tangram, examples: Path) -> None:
    assert {one.stem for one in (examples / "policy").iterdir()} == {"fleet", "mig-layout", "virtual-machine"}
    assert tangram("policy", "check", examples / "policy" / f"{name}.yaml").status == 0
