"""A wrong node file is refused with one message: file, field, value, rule."""

from __future__ import annotations

import re

import pytest

from agent.hardware.simulated import InvalidNodeFile, node_text, parse_node

DGX, KEP, A30, L40S = "dgx-a100", "a100x2", "a30x4", "l40s"
FIRST_GPU = "pci[0].root_ports[0].below[0]"
DGX_SWITCH = "pci[0].root_ports[0].below[0]"
FIRST_DGX_GPU = f"{DGX_SWITCH}.downstream[0].below[0].downstream[0].below[0]"
FIRST_DGX_NIC = f"{DGX_SWITCH}.downstream[1].below[0].downstream[0].below[0]"
SECOND_DGX_GPU = f"{DGX_SWITCH}.downstream[1].below[0].downstream[1].below[0].downstream[0].below[0]"


def refusal(node: str, old: str, new: str) -> InvalidNodeFile:
    text = node_text(node)
    assert old in text
    with pytest.raises(InvalidNodeFile) as refused:
        parse_node("mine.yaml", text.replace(old, new, 1))
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("node file mine.yaml: ")
    return refused.value


@pytest.mark.parametrize(
    ("node", "old", "new", "field", "value", "rule"),
    [
        pytest.param(KEP, "name: a100x2", "name: A100_x2", "name", "A100_x2", "DNS label", id="name"),
        pytest.param(KEP, "topology: illustrative", "topology: ''", "topology", "", "source", id="topology"),
        pytest.param(KEP, "560.35.03,", "new,", "driver.version", "new", "numbers", id="driver"),
        pytest.param(KEP, "node: 0", "node: 1", "numa[0].node", 1, "without gaps", id="numa-gap"),
        pytest.param(KEP, '"0-31"', '"0..31"', "numa[0].cpus", "0..31", "such as", id="cpus"),
        pytest.param(A30, "[10, 21]", "[10]", "numa[0].distances", 1, "one per NUMA node", id="distances"),
        pytest.param(KEP, "pci0000:00", "0000:00", "pci[0].root_complex", "0000:00", "pci0000:3a", id="root"),
        pytest.param(
            A30, "pci0000:85", "pci0000:16", "pci[1].root_complex", "pci0000:16", "twice", id="root-twice"
        ),
        pytest.param(
            KEP, "numa_node: 0", "numa_node: 4", "pci[0].numa_node", 4, "under numa", id="unknown-numa"
        ),
        pytest.param(
            KEP,
            '"0000:00:01.0"',
            '"0000:03:01.0"',
            "pci[0].root_ports[0].port",
            "0000:03:01.0",
            "lies on bus 0000:00",
            id="root-port-elsewhere",
        ),
        pytest.param(
            KEP, "0000:07:00.0", "0000:7:0.0", f"{FIRST_GPU}.bdf", "0000:7:0.0", "lower case", id="address"
        ),
        pytest.param(
            KEP,
            "0000:0f:00.0",
            "0000:0F:00.0",
            "pci[0].root_ports[1].below[0].bdf",
            "0000:0F:00.0",
            "lower",
            id="address-case",
        ),
        pytest.param(
            DGX,
            "0000:0f:00.0",
            "0000:07:00.0",
            f"{SECOND_DGX_GPU}.bdf",
            "0000:07:00.0",
            f"given twice, first at {FIRST_DGX_GPU}.bdf",
            id="address-twice",
        ),
        pytest.param(
            DGX,
            "0000:0f:00.0",
            "0000:0c:00.3",
            f"{SECOND_DGX_GPU}.bdf",
            "0000:0c:00.3",
            "given twice",
            id="address-of-a-vf",
        ),
        pytest.param(
            KEP,
            "GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c",
            "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c",
            "pci[0].root_ports[1].below[0].uuid",
            "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c",
            "given twice",
            id="uuid-twice",
        ),
        pytest.param(KEP, "GPU-4cf8db2d", "gpu-4cf8db2d", f"{FIRST_GPU}.uuid", None, "GPU- and", id="uuid"),
        pytest.param(
            KEP,
            "minor: 1",
            "minor: 0",
            "pci[0].root_ports[1].below[0].minor",
            0,
            "given twice",
            id="minor-twice",
        ),
        pytest.param(KEP, "minor: 0", "minor: 32", f"{FIRST_GPU}.minor", 32, "between 0 and 31", id="minor"),
        pytest.param(
            KEP,
            "model: a100-sxm4-40gb",
            "model: a100",
            f"{FIRST_GPU}.model",
            "a100",
            "a30-24gb",
            id="gpu-model",
        ),
        pytest.param(
            DGX,
            "model: connectx-6",
            "model: cx6",
            f"{FIRST_DGX_NIC}.model",
            "cx6",
            "connectx-7",
            id="nic-model",
        ),
        pytest.param(
            DGX,
            "vfs: 8, total_vfs: 8",
            "vfs: 9, total_vfs: 8",
            f"{FIRST_DGX_NIC}.vfs",
            9,
            "total_vfs, 8",
            id="vfs",
        ),
        pytest.param(
            DGX,
            "vfs: 8, total_vfs: 8",
            "total_vfs: 100000",
            f"{FIRST_DGX_NIC}.total_vfs",
            100000,
            "1024",
            id="total-vfs",
        ),
        pytest.param(
            A30,
            '"0000:19:00.2"',
            '"19:00.2"',
            "pci[0].root_ports[2].below[0].first_vf",
            "19:00.2",
            "such as",
            id="first-vf",
        ),
        pytest.param(
            KEP,
            "  a100-sxm4-40gb:\n",
            "  a30-24gb:\n",
            "memory.a30-24gb",
            None,
            "no GPU of the node",
            id="memory-of-no-gpu",
        ),
        pytest.param(
            KEP,
            "1g.5gb: 4864",
            "1g.6gb: 4864",
            "memory.a100-sxm4-40gb.profiles_mib",
            "1g.6gb",
            "one of",
            id="memory-of-no-profile",
        ),
    ],
)
def test_a_broken_rule_names_its_field_and_value(
    node: str, old: str, new: str, field: str, value: object, rule: str
) -> None:
    refused = refusal(node, old, new)

    assert (refused.file, refused.field) == ("mine.yaml", field)
    assert value is None or refused.value == value
    assert rule in refused.rule


@pytest.mark.parametrize(
    ("old", "new", "field", "value", "rule"),
    [
        pytest.param("minor: 0", "minor: zero", f"{FIRST_GPU}.minor", "zero", "Expected `int`", id="type"),
        pytest.param(
            "minor: 0", "minor: 0, colour: 3", FIRST_GPU, None, "unknown field `colour`", id="unknown"
        ),
        pytest.param("minor: 0, ", "", FIRST_GPU, None, "missing required field `minor`", id="missing"),
        pytest.param("kind: gpu", "kind: fpga", f"{FIRST_GPU}.kind", "fpga", "Invalid value", id="kind"),
        pytest.param(
            "driver: {", "driver: {build: x, ", "driver", None, "unknown field `build`", id="nested"
        ),
        pytest.param("name: a100x2\n", "", "", None, "missing required field `name`", id="top"),
    ],
)
def test_a_field_that_the_form_does_not_know_is_refused(
    old: str, new: str, field: str, value: object, rule: str
) -> None:
    refused = refusal(KEP, old, new)

    assert (refused.field, refused.value) == (field, value)
    assert rule in refused.rule


def with_instances(node: str, more: str) -> tuple[str, str, str]:
    return node, "minor: 0,", f"minor: 0, {more},"


def test_only_a_gpu_with_mig_can_start_in_mig_mode() -> None:
    refused = refusal(*with_instances(L40S, "mig: true"))

    assert refused.field.endswith("below[0].mig")
    assert "l40s-48gb has no MIG" in refused.rule


def test_only_a_gpu_in_mig_mode_can_start_with_instances() -> None:
    refused = refusal(*with_instances(KEP, "instances: [{profile: 1g.5gb, start: 0}]"))

    assert refused.field == f"{FIRST_GPU}.instances"
    assert "mig: true" in refused.rule


@pytest.mark.parametrize(
    ("instances", "field", "rule"),
    [
        ("{profile: 1g.6gb, start: 0}", "instances[0].profile", "must be one of 1g.10gb, 1g.5gb"),
        ("{profile: 2g.10gb, start: 1}", "instances[0].start", "2g.10gb may start at 0, 2, 4"),
        ("{profile: 1g.5gb, start: 1}, {profile: 2g.10gb, start: 0}", "instances[1]", "held by GI 8"),
    ],
)
def test_first_instances_obey_the_rules_of_the_hardware(instances: str, field: str, rule: str) -> None:
    refused = refusal(*with_instances(KEP, f"mig: true, instances: [{instances}]"))

    assert refused.field == f"{FIRST_GPU}.{field}"
    assert rule in refused.rule


@pytest.mark.parametrize(("fault", "rule"), [("gpu-0:gone", "must be"), ("gpu-2:lost", "there is no gpu-2")])
def test_first_faults_must_be_possible(fault: str, rule: str) -> None:
    refused = refusal(KEP, "\nnuma:", f"\nfaults: ['{fault}']\nnuma:")

    assert (refused.field, refused.value) == ("faults[0]", fault)
    assert rule in refused.rule


def test_a_model_without_known_memory_needs_it_given() -> None:
    text = node_text(KEP).replace("a100-sxm4-40gb", "gh200-144gb")
    bare = re.sub(r"memory:.*?\n\n", "\n", text, flags=re.DOTALL)

    with pytest.raises(InvalidNodeFile) as refused:
        parse_node("mine.yaml", bare)

    assert refused.value.field == "memory.gh200-144gb.total_mib"
