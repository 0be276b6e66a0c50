"""``tangram show -f FILE --compatibility``: the matrix, and declarations that contradict themselves."""

import yaml

SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
}


def written(tmp_path, *devices):
    spec = {"driver": "d.example.com", "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": True}
    path = tmp_path / "slices.yaml"
    path.write_text(yaml.safe_dump(SLICE | {"spec": spec | {"devices": list(devices)}}))
    return path


def device(name, expression=None):
    attributes = {"name": {"string": name}}
    only = {"compatibleOnlyWith": {"expression": expression}} if expression else {}
    return {"name": name, "attributes": attributes} | only


def test_the_square_marks_who_may_stand_beside_whom(tangram, tmp_path):
    path = written(tmp_path, device("a"), device("b", "false"), device("c"))

    answer = tangram("show", "-f", path, "--compatibility")

    assert answer.status == 0
    rows = [line.split() for line in answer.out.splitlines() if line[:2] in ("1 ", "2 ", "3 ")]
    assert rows == [["1", "a", "·", "-", "x"], ["2", "b", "-", "·", "-"], ["3", "c", "x", "-", "·"]]


def test_a_contradiction_is_named_and_ends_with_1(tangram, tmp_path):
    path = written(
        tmp_path, device("a", "true"), device("b", "device.attributes['d.example.com'].name != 'a'")
    )

    answer = tangram("show", "-f", path, "--compatibility")

    assert answer.status == 1
    assert "contradiction: a accepts b, which refuses a" in answer.out


def test_machines_get_every_pair_with_its_reason(tangram, tmp_path):
    path = written(tmp_path, device("a"), device("b", "false"))

    (pool,) = tangram("show", "-f", path, "--compatibility", "--json").json

    assert pool["obstacles"] == [{"devices": ["a", "b"], "reason": "b is not compatible with a, held by a"}]
    assert pool["contradictions"] == []


def test_the_option_is_for_files(tangram):
    answer = tangram("show", "--node", "a100x2", "--compatibility")

    assert answer.status == 2
    assert "--compatibility: needs --file or --cluster" in answer.err
