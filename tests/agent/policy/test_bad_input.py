"""Whatever a policy file holds, it is read, or refused with one line of text; nothing else can happen."""

from __future__ import annotations

import copy
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent.policy.files import MOST_BYTES, BadPolicy, parse, read_file
from agent.policy.model import Policy

HEAD = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\n"
EVERYTHING = """
apiVersion: tangram.dev/v1alpha1
kind: NodePolicy
rules:
- nodes:
    matchLabels: {a: b}
    matchExpressions: [{key: c, operator: In, values: [d]}]
  gpus:
  - select: {products: [NVIDIA*], pciAddresses: ["0000:07:00.0"], numbers: [0]}
    modes: [mig, mps, fraction]
    parts: {mps: 50, fraction: 50}
    migLayout: [{profile: 3g.20gb, start: 0}, {profile: 1g.5gb, count: 2}]
    computeInstances: true
    attributes: {example.com/rail: "0"}
  nics:
  - select: {linkTypes: [ethernet], interfaces: [eth0]}
    kinds: [vf]
    modes: [rdma, vfio]
    vfCount: {static: 4}
    vfRate: {eachMbps: 1, allMbps: 2}
    vfs: [{indexes: [0], modes: [rdma], attributes: {example.com/rail: "1"}}]
  topology: [{pciAddresses: ["0000:19:*"], numaNode: 0, pcieRoot: "pci0000:16"}]
  partitions: {board: hgx-h100, policy: Prefer}
  imexChannels: 4
  multusResource: example.com/vf
  health: {causes: {slowdown: {severity: note, quietMinutes: 5}}, xids: {"79": evict}, unknownXids: note}
  logs: {format: json, level: debug}
"""
ANY_KEYS = ("matchLabels", "attributes", "causes", "xids")
"""Objects whose keys their author chooses."""


def document() -> Any:
    return yaml.safe_load(EVERYTHING)


def read_bytes(name: str, data: bytes) -> Policy | str:
    """Return the policy, or why it is refused. Anything else ends the test."""
    try:
        return parse(name, data).policy
    except BadPolicy as error:
        return str(error)


def read(content: object) -> Policy | str:
    return read_bytes("policy.json", json.dumps(content).encode())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a document."""
    yield path
    if isinstance(value, dict):
        for key, child in value.items():
            yield from places(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from places(child, (*path, index))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


PLACES = list(places(document()))
OBJECTS = [path for path in PLACES if isinstance(at(document(), path), dict)]
FIXED = [path for path in OBJECTS if not path or path[-1] not in ANY_KEYS]


def test_the_document_of_these_tests_has_every_section_and_is_right() -> None:
    assert isinstance(read(document()), Policy)


@pytest.mark.parametrize("path", FIXED, ids=lambda path: ".".join(map(str, path)) or "file")
def test_an_unknown_key_is_refused_in_every_object_by_its_path(path: tuple[Any, ...]) -> None:
    changed = document()
    at(changed, path)["surprise"] = 1

    told = read(changed)

    assert isinstance(told, str)
    assert "surprise" in told
    assert "\n" not in told


WRONG_TYPES = (None, True, 7, -1.5, "x", [], ["x"], [[]], {}, {"x": 1})


@pytest.mark.parametrize("path", PLACES[1:], ids=lambda path: ".".join(map(str, path)))
def test_a_value_of_another_type_is_read_or_refused_with_one_line_in_every_place(
    path: tuple[Any, ...],
) -> None:
    for wrong in WRONG_TYPES:
        changed = document()
        at(changed, path[:-1])[path[-1]] = wrong

        told = read(changed)

        if isinstance(told, str):
            assert "\n" not in told
            assert told.startswith("policy.json")
        if isinstance(wrong, dict) and not isinstance(at(document(), path), dict):
            assert isinstance(told, str)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(path=st.sampled_from(PLACES[1:]), value=JSON)
def test_anything_at_any_place_is_read_or_refused(path: tuple[Any, ...], value: object) -> None:
    changed = copy.deepcopy(document())
    at(changed, path[:-1])[path[-1]] = value

    assert read(changed)


@given(data=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: (HEAD + text).encode()))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    told = read_bytes("policy.yaml", data)

    assert isinstance(told, Policy) or told.startswith("policy.yaml")


CYCLES = {
    "a list in itself": "rules: &a [*a]",
    "a rule in itself": "rules:\n- &a {gpus: [*a]}",
    "labels in themselves": "rules:\n- nodes: &a\n    matchLabels: *a\n  imexChannels: 1",
    "labels merged into themselves": "rules:\n- nodes: {matchLabels: &a {<<: *a, b: c}}\n  imexChannels: 1",
    "a table in itself": "rules:\n- partitions: &a {table: *a}",
    "two values in each other": "rules: &a [{gpus: &b [{attributes: *a}, *b]}]",
}


@pytest.mark.parametrize("what", CYCLES)
def test_a_value_that_contains_itself_is_read_as_something_finite_or_refused(what: str) -> None:
    told = read_bytes("policy.yaml", (HEAD + CYCLES[what]).encode())

    if isinstance(told, Policy):
        assert what == "labels merged into themselves"  # the merge adds nothing that is not there
    else:
        assert told.startswith("policy.yaml:")
        assert "\n" not in told


def test_aliases_that_unfold_without_end_are_refused() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))

    told = read_bytes("policy.yaml", f"{HEAD}l0: &l0 [x]\n{levels}rules: []\n".encode())

    assert told == "policy.yaml:1: is nested or repeated beyond 2000000 values"


def test_a_policy_may_use_aliases() -> None:
    first_rule = "- nodes: {matchLabels: {a: x}}\n  gpus: &a [{modes: [mig]}]\n"
    text = f"rules:\n{first_rule}- nodes: {{matchLabels: {{a: y}}}}\n  gpus: *a\n"

    first, second = parse("policy.yaml", (HEAD + text).encode()).policy.rules

    assert first.gpus[0].modes == second.gpus[0].modes


def test_of_a_file_of_10_mb_no_more_is_read_than_a_policy_may_have(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_bytes(HEAD.encode() + b"rules: []\n" + b"#" * 10 * 2**20)

    tracemalloc.start()
    with pytest.raises(BadPolicy) as refused:
        read_file(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert str(refused.value) == f"{file}: is larger than 1 MiB, which is the most a policy may have"
    assert most < 5 * MOST_BYTES
