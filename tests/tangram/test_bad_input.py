"""What a user can get wrong: one message that names the thing, exit status 2, nothing on standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CLASS = """
kind: DeviceClass
metadata: {name: any}
"""
SLICE = """
kind: ResourceSlice
apiVersion: resource.k8s.io/v1
metadata: {name: node-1-a}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices: [{name: gpu-0, capacity: {memory: {value: 40Gi}}}]
"""


def claim(request: str) -> str:
    return f"kind: ResourceClaim\nmetadata: {{name: mine}}\nspec: {{devices: {{requests: [{request}]}}}}\n"


def selecting(expression: str) -> str:
    selector = f"selectors: [{{cel: {{expression: '{expression}'}}}}]"
    return claim(f"{{name: one, exactly: {{deviceClassName: any, {selector}}}}}")


GOOD_CLAIM = claim("{name: one, exactly: {deviceClassName: any}}")
FILES = {
    "a syntax error": ("a: [1, 2\nb: 3\n", ["wrong.yaml:2:2", "is not YAML"]),
    "a key that comes twice": ("kind: Node\nkind: Node\n", ["wrong.yaml:2:1", "'kind'", "twice"]),
    "a key that is no string": ("1: 2\n", ["wrong.yaml:1:1", "must be a string"]),
    "a value that contains itself": ("kind: &a [*a]\n", ["wrong.yaml:1:7", "recursive"]),
    "a control character": ("kind: \x01\n", ["wrong.yaml", "is not YAML"]),
    "no object": ("- 1\n", ["wrong.yaml:1", "must be an object", "list"]),
    "deep nesting": ("a: " + "[" * 3000 + "]" * 3000, ["wrong.yaml", "64 levels"]),
    "no kind": ("metadata: {name: x}\n", ["wrong.yaml:1", "kind", "must be one of", "ResourceClaim"]),
    "an unknown kind": ("kind: Service\n", ["wrong.yaml:1", "'Service'", "must be one of", "ResourceSlice"]),
    "an object given twice": (GOOD_CLAIM + "---\n" + GOOD_CLAIM, ["wrong.yaml:5", "mine", "twice", ":1"]),
    "a wrong type": (
        claim("{name: one, exactly: {deviceClassName: any, count: many}}"),
        ["wrong.yaml:1", "mine", "spec.devices.requests[0].exactly.count", "'many'", "an integer"],
    ),
    "a number below its limit": (
        claim("{name: one, exactly: {deviceClassName: any, count: 0}}"),
        ["requests[0].exactly.count", "0", "at least 1"],
    ),
    "too many requests": (
        claim(", ".join(f"{{name: r{n}, exactly: {{deviceClassName: any}}}}" for n in range(33))),
        ["spec.devices.requests", "33", "32"],
    ),
    "a field that nobody knows": (
        claim("{name: one, exactly: {deviceClassName: any, colour: red}}"),
        ["requests[0].exactly.colour", "unknown field"],
    ),
    "an unknown class": (
        claim("{name: one, exactly: {deviceClassName: nobody}}"),
        ["default/mine", "'nobody'", "there is no such DeviceClass", "known: any"],
    ),
    "a selector with a syntax error": (
        selecting("device.driver =="),
        ["device.driver ==", "does not compile"],
    ),
    "a selector that is no condition": (selecting("device.driver"), ["device.driver", "bool"]),
    "a selector that compares apples with pears": (
        selecting('device.capacity["gpu.example.com"].memory == "40Gi"'),
        ["does not compile", "memory"],
    ),
    "a selector that fails on a device": (
        selecting('device.attributes["gpu.example.com"].colour == "red"'),
        ["on device", "gpu-0", "colour"],
    ),
    "a node without a name": ("kind: Node\nmetadata: {}\n", ["wrong.yaml:1", "metadata.name"]),
    "a node with labels that are no strings": (
        "kind: Node\nmetadata: {name: n, labels: {a: 1}}\n",
        ["Node n", "metadata.labels", "strings"],
    ),
    "a slice without node selection": (
        "kind: ResourceSlice\nmetadata: {name: s}\n"
        "spec: {driver: d.example.com, pool: {name: p}, devices: []}\n",
        ["ResourceSlice s", "exactly one of nodeName"],
    ),
    "a slice whose driver is no name": (
        "kind: ResourceSlice\nmetadata: {name: s}\n"
        "spec: {driver: 'Not a name', pool: {name: p}, allNodes: true}\n",
        ["spec.driver", "'Not a name'", "63 characters"],
    ),
}


@pytest.mark.parametrize("mistake", FILES)
def test_a_mistake_in_a_file_is_one_message_with_file_field_value_and_rule(tangram, written, mistake):
    text, parts = FILES[mistake]
    files = [written("slice.yaml", SLICE), written("class.yaml", CLASS), written("wrong.yaml", text)]

    answer = tangram("allocate", *[part for file in files for part in ("-f", file)])

    assert_refused(answer, *parts)


JSON_FILES = {
    "a syntax error": ('{"kind": ', ["wrong.json:1:", "is not JSON"]),
    "a key that comes twice": ('{"kind": "Node", "kind": "Node"}', ["wrong.json", "'kind' comes twice"]),
    "a value that JSON lacks": ('{"kind": NaN}', ["wrong.json", "nan"]),
    "deep nesting": ('{"a":' * 5000 + "1" + "}" * 5000, ["wrong.json", "64 levels"]),
}


@pytest.mark.parametrize("mistake", JSON_FILES)
def test_a_mistake_in_a_json_file_is_told_like_one_in_yaml(tangram, written, mistake):
    text, parts = JSON_FILES[mistake]

    answer = tangram("show", "-f", written("wrong.json", text))

    assert_refused(answer, *parts)


ARGUMENTS = {
    "no command": ([], ["COMMAND", "tangram --help"]),
    "an unknown command": (["dance"], ["'dance'", "allocate"]),
    "an unknown option": (["show", "--node", "a100x2", "--loud"], ["--loud"]),
    "an abbreviated option": (["show", "--nod", "a100x2"], ["--nod"]),
    "nothing to show": (["show"], ["--node", "--machine", "--real", "--file"]),
    "two things to show": (["show", "--node", "a100x2", "--real"], ["--real", "not allowed with"]),
    "a form with the table of sizes": (["show", "--sizes", "--as", "v1"], ["--as", "'v1'", "--sizes"]),
    "a node name for a machine that has one": (
        ["show", "--node", "a100x2", "--node-name", "mine"],
        ["--node-name", "'mine'", "--real"],
    ),
    "a node name that is none": (
        ["show", "--real", "--node-name", "my/node"],
        ["--node-name", "'my/node'", "253 characters"],
    ),
    "an unknown form": (["show", "--node", "a100x2", "--as", "v7"], ["--as", "'v7'", "composite"]),
    "an unknown node to show": (["show", "--node", "cray-1"], ["'cray-1'", "dgx-a100"]),
    "an unknown node to print": (["node", "show", "cray-1"], ["'cray-1'", "dgx-a100"]),
    "an unknown node for the demo": (["demo", "--node", "cray-1"], ["'cray-1'", "dgx-a100"]),
    "an unknown station": (["demo", "--until", "moon"], ["--until", "'moon'", "allocation"]),
    "a driver name that is none": (
        ["demo", "--driver-name", "My Driver"],
        ["--driver-name", "'My Driver'", "63 characters"],
    ),
    "a missing file": (["allocate", "-f", "/nonexistent/x.yaml"], ["/nonexistent/x.yaml", "No such file"]),
    "a folder without files": (["show", "-f", "/sys"], ["/sys", "has no file that ends in .yaml"]),
    "a missing claim": (["demo", "--claim", "/nonexistent/c.yaml"], ["/nonexistent/c.yaml", "No such file"]),
    "a directory without a machine": (["node", "reboot", "--machine", "/nonexistent"], ["/nonexistent"]),
    "no faults": (["node", "fault", "--machine", "/nonexistent"], ["--list", "--clear"]),
}


@pytest.mark.parametrize("mistake", ARGUMENTS)
def test_a_wrong_argument_is_one_message_that_names_it(tangram, mistake):
    arguments, parts = ARGUMENTS[mistake]

    answer = tangram(*arguments)

    assert_refused(answer, *parts)


@pytest.mark.parametrize(
    ("fault", "parts"),
    [
        ("gpu-0", ["'gpu-0'", "lost"]),
        ("gpu-0:tired", ["'gpu-0:tired'", "in-use"]),
        ("gpu-9:lost", ["gpu-9"]),
        ("gpu-0:create-gpu-instance:explode", ["explode", "in-use"]),
    ],
)
def test_a_wrong_fault_is_told_with_the_right_form(tangram, machine, fault, parts):
    answer = tangram("node", "fault", "--machine", machine.directory, fault)

    assert_refused(answer, *parts)
    assert machine.faults() == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (claim("{name: one, exactly: {deviceClassName: any}}"), ["'any'", "mig.tangram.dev"]),
        (selecting("device.driver ==").replace("any", "gpu.tangram.dev"), ["does not compile"]),
        (SLICE, ["'ResourceSlice'", "claims and device classes"]),
        (CLASS, ["no ResourceClaim"]),
        (GOOD_CLAIM + "status: {allocation: {devices: {results: []}}}\n", ["default/mine", "allocated"]),
    ],
)
def test_a_claim_that_the_demo_cannot_use_is_refused_before_it_begins(tangram, written, text, parts):
    answer = tangram("demo", "--node", "a100x2", "--claim", written("claim.yaml", text))

    assert_refused(answer, *parts)


def test_a_wrong_node_file_is_told_by_field_and_rule(tangram, written):
    text = tangram("node", "show", "a100x2").out.replace("minor: 1", "minor: 0")

    answer = tangram("show", "--node", written("mine.yaml", text))

    assert_refused(answer, "mine.yaml", "minor")


NODE_FILES = {
    "deep lists": ("[" * 5000, ["nested deeper than 64 levels"]),
    "deep maps": ("{a: " * 3000 + "1" + "}" * 3000, ["nested deeper than 64 levels"]),
    "an empty file": ("", ["must be a mapping"]),
    "a list": ("- 1", ["must be a mapping"]),
    "a large file": ("#" * 300_000, ["larger than 256 KiB"]),
}


@pytest.mark.parametrize("mistake", NODE_FILES)
def test_a_node_file_of_a_wrong_form_is_one_message(tangram, written, mistake):
    text, parts = NODE_FILES[mistake]

    answer = tangram("demo", "--node", written("mine.yaml", text))

    assert_refused(answer, "mine.yaml", *parts)


@pytest.mark.parametrize("harm", [{"gpus": {}}, {"node": "[" * 5000}], ids=["no GPUs", "deep"])
@pytest.mark.parametrize(
    "arguments", [("show",), ("node", "reboot"), ("node", "fault", "--list")], ids=" ".join
)
def test_a_damaged_machine_is_one_message(tangram, machine, harm, arguments):
    file = machine.directory / "machine.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | harm))

    answer = tangram(*arguments, "--machine", machine.directory)

    assert_refused(answer, str(machine.directory), "machine.json is damaged")


def test_allocating_nowhere_is_refused(tangram, written):
    everywhere = written("slice.yaml", SLICE.replace("nodeName: node-1", "allNodes: true"))
    files = ["-f", everywhere, "-f", written("class.yaml", CLASS), "-f", written("claim.yaml", GOOD_CLAIM)]

    answer = tangram("allocate", *files)

    assert_refused(answer, "--node-name", "say on which node")


def test_files_without_claims_are_refused(tangram, written):
    answer = tangram("allocate", "-f", written("slice.yaml", SLICE))

    assert_refused(answer, "slice.yaml", "no ResourceClaim")


def test_v1_slices_have_no_composite_form(tangram, written):
    answer = tangram("show", "-f", written("slice.yaml", SLICE), "--as", "composite")

    assert_refused(answer, "--as", "'composite'", "gpu.example.com/node-1")


def test_a_command_that_fails_writes_nothing(tangram, written, tmp_path, monkeypatch):
    work, wrong = tmp_path / "work", written("wrong.yaml", "kind: Pod\n")
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("TMPDIR", str(work))

    for arguments in (
        ("allocate", "-f", wrong),
        ("show", "-f", wrong),
        ("show", "--node", wrong),
        ("demo", "--claim", wrong),
        ("demo", "--node", wrong),
        ("node", "reboot", "--machine", work / "machine"),
        ("node", "fault", "--machine", work / "machine", "gpu-0:lost"),
    ):
        assert tangram(*arguments).status == 2

    assert list(Path(work).iterdir()) == []


def assert_refused(answer, *parts: str) -> None:
    assert answer.status == 2
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("tangram: ")
    assert [part for part in parts if part not in answer.err] == [], answer.err
