"""A policy is read strictly: whatever is wrong is one message with file, line, field, value and rule."""

from __future__ import annotations

import json

import pytest

from agent.health.causes import Cause, Severity
from agent.health.rules import HealthRules
from agent.inventory.modes import ModesOfGpu
from agent.policy.files import MOST_BYTES, BadPolicy, parse

WRONG = {
    "an unknown field": ("- gpus:\n  - mode: [mig]", "policy.yaml:5: rules[0].gpus[0].mode: unknown field"),
    "a wrong type": (
        "- gpus:\n  - modes: mig",
        "policy.yaml:5: rules[0].gpus[0].modes: 'mig': must be a list",
    ),
    "an unknown mode": (
        "- gpus:\n  - modes: [half]",
        "policy.yaml:5: rules[0].gpus[0].modes[0]: 'half': must be",
    ),
    "a mode twice": ("- gpus:\n  - modes: [mig, mig]", "modes[1]: 'mig': is there twice"),
    "a rule without effect": ("- nodes: {matchLabels: {a: b}}", "policy.yaml:4: rules[0]: says nothing"),
    "an entry without effect": ("- gpus:\n  - select: {numbers: [0]}", "rules[0].gpus[0]: says nothing"),
    "a number that is no number": (
        "- gpus:\n  - select: {numbers: [-1]}\n    modes: [mig]",
        "numbers[0]: -1: must be",
    ),
    "true for a number": (
        "- gpus:\n  - select: {numbers: [true]}\n    modes: [mig]",
        "numbers[0]: True: must be",
    ),
    "a PCI address that is none": (
        "- nics:\n  - select: {pciAddresses: [eth0]}\n    excluded: true",
        "pciAddresses[0]: 'eth0': must be a PCI address",
    ),
    "an empty list": (
        "- gpus:\n  - select: {products: []}\n    modes: [mig]",
        "products: is empty, so it matches nothing",
    ),
    "a selector without lists": ("- gpus:\n  - select: {}\n    modes: [mig]", "select: selects nothing"),
    "a MIG profile that is none": (
        "- gpus:\n  - migProfiles: [small]",
        "migProfiles[0]: 'small': must be the name",
    ),
    "profiles without MIG": (
        "- gpus:\n  - modes: [whole]\n    migProfiles: [1g.5gb]",
        "migProfiles: has no effect",
    ),
    "a layout without partitions": (
        "- gpus:\n  - migLayout: []",
        "policy.yaml:5: rules[0].gpus[0].migLayout: is empty; for GPUs that are not cut, say",
    ),
    "a layout beside profiles": (
        "- gpus:\n  - migProfiles: [1g.5gb]\n    migLayout: [{profile: 1g.5gb}]",
        "policy.yaml:5: rules[0].gpus[0].migProfiles: does not go with migLayout",
    ),
    "a layout without MIG": (
        "- gpus:\n  - modes: [whole]\n    migLayout: [{profile: 1g.5gb}]",
        "policy.yaml:6: rules[0].gpus[0].migLayout: has no effect",
    ),
    "a layout of GPUs that are never in MIG mode": (
        "- gpus:\n  - migMode: never\n    migLayout: [{profile: 1g.5gb}]",
        "migLayout: has no effect",
    ),
    "a layout of excluded GPUs": (
        "- gpus:\n  - excluded: true\n    migLayout: [{profile: 1g.5gb}]",
        "migLayout: does not go with excluded",
    ),
    "a partition without a profile": (
        "- gpus:\n  - migLayout: [{count: 2}]",
        "migLayout[0].profile: is required",
    ),
    "a partition at a place and several times": (
        "- gpus:\n  - migLayout: [{profile: 1g.5gb, start: 0, count: 2}]",
        "migLayout[0].count: does not go with start",
    ),
    "no partition": ("- gpus:\n  - migLayout: [{profile: 1g.5gb, count: 0}]", "count: 0: must be at least 1"),
    "a place that is none": (
        "- gpus:\n  - migLayout: [{profile: 1g.5gb, start: 64}]",
        "migLayout[0].start: 64: must be at most 63",
    ),
    "a size for a place": (
        "- gpus:\n  - migLayout: [{profile: 1g.5gb, size: 1}]",
        "migLayout[0].size: unknown field; known here: profile, start, count",
    ),
    "kept beside another mode": (
        "- gpus:\n  - modes: [whole, mig]\n    migMode: kept",
        "migMode: 'kept': kept leaves",
    ),
    "never beside mig": (
        "- gpus:\n  - modes: [mig]\n    migMode: never",
        "migMode: 'never': contradicts modes",
    ),
    "excluded beside modes": (
        "- gpus:\n  - excluded: true\n    modes: [mig]",
        "modes: does not go with excluded",
    ),
    "parts of one mode": (
        "- gpus:\n  - modes: [mps]\n    parts: {mps: 50}",
        "parts: needs modes with fraction and mps",
    ),
    "parts beyond the GPU": (
        "- gpus:\n  - modes: [mps, fraction]\n    parts: {mps: 60, fraction: 50}",
        "parts: is 110 % together; at most 100 %",
    ),
    "somebody else's domain": (
        "- gpus:\n  - attributes: {tangram.dev/type: x}",
        "policy.yaml:5: rules[0].gpus[0].attributes.tangram.dev/type",
    ),
    "an attribute without domain": (
        "- gpus:\n  - attributes: {rail: x}",
        "attributes.rail: 'rail': must be DOMAIN/NAME",
    ),
    "a list as an attribute": (
        "- gpus:\n  - attributes: {a.b/c: [1]}",
        "must be a string, an integer, or true or false",
    ),
    "two numbers of VFs": ("- nics:\n  - vfCount: {static: 1, onDemand: 2}", "vfCount: must have one of"),
    "a VF that is faster than its NIC": (
        "- nics:\n  - vfRate: {eachMbps: 2, allMbps: 1}",
        "eachMbps: 2: must be at most 1",
    ),
    "a kind of NIC that is none": ("- nics:\n  - kinds: [port]", "kinds[0]: 'port': must be one of nic, vf"),
    "a mode of NICs that is none": (
        "- nics:\n  - modes: [dpdk]",
        "policy.yaml:5: rules[0].nics[0].modes[0]: 'dpdk': must be one of rdma, vfio, netdev",
    ),
    "modes of excluded NICs": (
        "- nics:\n  - {excluded: true, modes: [rdma]}",
        "modes: does not go with excluded",
    ),
    "kinds of excluded NICs": (
        "- nics:\n  - {excluded: true, kinds: [vf]}",
        "kinds: does not go with excluded",
    ),
    "VFs of NICs that are offered whole": (
        "- nics:\n  - {kinds: [nic], vfs: [{indexes: [0], modes: [rdma]}]}",
        "vfs: has no effect: VFs of these NICs are not offered",
    ),
    "a mode that no kind has": ("- nics:\n  - {kinds: [nic], modes: [vfio]}", "modes: leaves nothing"),
    "modes of an excluded VF": (
        "- nics:\n  - vfs:\n    - {indexes: [0], excluded: true, modes: [rdma]}",
        "policy.yaml:6: rules[0].nics[0].vfs[0].modes: does not go with excluded",
    ),
    "a VF in two entries": (
        "- nics:\n  - vfs:\n    - {indexes: [0], excluded: true}\n    - {indexes: [0], excluded: true}",
        "policy.yaml:7: rules[0].nics[0].vfs[1].indexes: 0: another entry",
    ),
    "an override without devices": (
        "- topology:\n  - {numaNode: 1}",
        "topology[0].pciAddresses: is required",
    ),
    "an override that says nothing": (
        "- topology:\n  - {pciAddresses: ['*']}",
        "policy.yaml:5: rules[0].topology[0]: says nothing; it may have numaNode, pcieRoot",
    ),
    "a pattern that is none": (
        "- topology:\n  - {pciAddresses: ['gpu*'], numaNode: 1}",
        "pciAddresses[0]: 'gpu*': must be a PCI address such as 0000:3b:00.0, or a pattern with *",
    ),
    "a NUMA node that cannot be": (
        "- topology:\n  - {pciAddresses: ['*'], numaNode: 1024}",
        "policy.yaml:5: rules[0].topology[0].numaNode: 1024: must be at most 1023",
    ),
    "an unknown NUMA node": (
        "- topology:\n  - {pciAddresses: ['*'], numaNode: -1}",
        "numaNode: -1: must be at least 0",
    ),
    "a root complex that is none": (
        "- topology:\n  - {pciAddresses: ['*'], pcieRoot: '0000:3a'}",
        "pcieRoot: '0000:3a': must be a root complex such as pci0000:3a",
    ),
    "a switch that is none": (
        "- topology:\n  - {pciAddresses: ['*'], pcieSwitch: here}",
        "pcieSwitch: 'here': must be a PCI address",
    ),
    "an unknown board": ("- partitions: {board: dgx}", "partitions.board: 'dgx': must be one of"),
    "too many channels": ("- imexChannels: 9999", "imexChannels: 9999: must be at most 2048"),
    "a cause of health that is none": (
        "- health:\n    causes:\n      hot: {severity: note}",
        "policy.yaml:6: rules[0].health.causes.hot: 'hot': is unknown; known are",
    ),
    "a severity that is none": (
        "- health:\n    xids:\n      '79': drain",
        "policy.yaml:6: rules[0].health.xids.79: 'drain': must be one of note, no-new-pods, evict",
    ),
    "health that changes nothing": ("- health: {}", "policy.yaml:4: rules[0].health: says nothing"),
    "a log that says nothing": (
        "- logs: {}",
        "policy.yaml:4: rules[0].logs: says nothing; it may have format, level",
    ),
    "a level of the log that is none": (
        "- logs: {level: loud}",
        "policy.yaml:4: rules[0].logs.level: 'loud': must be one of debug, info, warning, error",
    ),
    "a format of the log that is none": ("- logs: {format: xml}", "format: 'xml': must be one of text, json"),
    "a label that must and must not be there": (
        "- nodes:\n    matchLabels: {a: b}\n    matchExpressions: [{key: a, operator: DoesNotExist}]\n"
        "  imexChannels: 1",
        "policy.yaml:4: rules[0].nodes: matches no node: label a must exist and must not exist",
    ),
    "a label with two values": (
        "- nodes:\n    matchLabels: {a: b}\n    matchExpressions: [{key: a, operator: In, values: [c]}]\n"
        "  imexChannels: 1",
        "label a can have none of the values",
    ),
    "an operator of other selectors": (
        "- nodes:\n    matchExpressions: [{key: a, operator: Gt, values: ['1']}]\n  imexChannels: 1",
        "operator: 'Gt': must be one of In, NotIn, Exists, DoesNotExist",
    ),
    "In without values": (
        "- nodes:\n    matchExpressions: [{key: a, operator: In}]\n  imexChannels: 1",
        "In needs values",
    ),
    "a label that is no text": (
        "- nodes:\n    matchLabels: {a: 1}\n  imexChannels: 1",
        "matchLabels.a: 1: must be a string",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_with_its_place(what: str, policy) -> None:
    rules, told = WRONG[what]

    with pytest.raises(BadPolicy) as refused:
        policy(rules)

    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


WHOLE_FILES = {
    "empty": ("", "must hold one policy, found 0 documents"),
    "two policies": ("a: 1\n---\nb: 2\n", "must hold one policy, found 2 documents"),
    "no mapping": ("- 1\n", "must be an object"),
    "another kind": (
        "apiVersion: tangram.dev/v1alpha1\nkind: GpuConfig\n",
        "policy.yaml:2: kind: 'GpuConfig': must be",
    ),
    "another version": (
        "apiVersion: v1\nkind: NodePolicy\n",
        "apiVersion: 'v1': must be tangram.dev/v1alpha1",
    ),
    "no rules": ("apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\n", "rules: is required"),
    "a value that contains itself": ("rules: &a\n- *a\n", "is not YAML"),
    "no YAML": ("rules: [", "is not YAML"),
    "10 MB": ("#" * 10 * 2**20, "is larger than 1 MiB"),
    "deep nesting": ("[" * 100_000, "nested deeper"),
}


@pytest.mark.parametrize("what", WHOLE_FILES)
def test_a_file_that_is_no_policy_is_refused(what: str) -> None:
    text, told = WHOLE_FILES[what]

    with pytest.raises(BadPolicy, match=r"policy\.yaml") as refused:
        parse("policy.yaml", text.encode())

    assert told in str(refused.value)


def test_a_file_as_large_as_a_config_map_can_be_is_read() -> None:
    head = b"apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules: []\n#"

    assert parse("policy.yaml", head.ljust(MOST_BYTES, b" ")).policy.rules == ()


def test_json_is_read_as_yaml_is(policy) -> None:
    document = {"apiVersion": "tangram.dev/v1alpha1", "kind": "NodePolicy", "rules": [{"imexChannels": 2}]}

    found = parse("policy.json", json.dumps(document).encode()).policy

    assert found.rules == policy("- imexChannels: 2").policy.rules


@pytest.mark.parametrize(
    ("said", "modes"),
    [
        ("modes: [whole]", ModesOfGpu(mig=False)),
        ("modes: [whole, mig]", ModesOfGpu()),
        ("migMode: kept", ModesOfGpu(whole=False, keeps_mig=True)),
        ("migMode: never", ModesOfGpu(mig=False)),
        ("migMode: dynamic", ModesOfGpu()),
        ("modes: [fraction]", ModesOfGpu(whole=False, mig=False, shared=100)),
        ("modes: [mps, fraction]\n    parts: {mps: 30, fraction: 70}", ModesOfGpu(False, False, 70, 30)),
        ("excluded: true", ModesOfGpu(whole=False, mig=False)),
    ],
)
def test_modes_mean_what_the_older_option_means(said: str, modes: ModesOfGpu, policy) -> None:
    (rule,) = policy(f"- gpus:\n  - {said}").policy.rules

    assert rule.gpus[0].modes == modes


def test_rules_of_health_are_read_from_yaml_and_json_alike(policy) -> None:
    slowdown = {"severity": "evict", "quietMinutes": 1}
    said = {"xids": {"79": "no-new-pods"}, "causes": {"slowdown": slowdown}}
    wanted = HealthRules({Cause.SLOWDOWN: Severity.EVICT}, {Cause.SLOWDOWN: 60.0}, {79: Severity.NO_NEW_PODS})
    block = "xids: {'79': no-new-pods}\n    causes: {slowdown: {severity: evict, quietMinutes: 1}}"

    for text in (json.dumps(said), f"\n    {block}"):
        assert policy(f"- health: {text}").policy.rules[0].health == wanted
