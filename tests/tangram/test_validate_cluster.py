"""``tangram validate --cluster``: the sentences for files, about what an API server has; it is only read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripted_api import Reply, Script, serving, write_kubeconfig

from tangram.bench.machine import Dgx
from tangram.hardware import AllMachines

Document = dict[str, Any]
VF_CLASS: Document = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "vfs"},
    "spec": {"selectors": [{"cel": {"expression": 'device.attributes["tangram.dev"].type == "vf"'}}]},
}


def claim(class_name: str, vlan: int = 5) -> Document:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", "vlan": {"id": vlan}}
    devices = {
        "requests": [{"name": "r", "exactly": {"deviceClassName": class_name}}],
        "config": [{"opaque": {"driver": "tangram.dev", "parameters": parameters}}],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "team"},
        "spec": {"devices": devices},
    }


def listed(kind: str, items: list[Document]) -> Document:
    return {"apiVersion": "resource.k8s.io/v1", "kind": f"{kind}List", "metadata": {}, "items": items}


@pytest.fixture
def server() -> Iterator[Script]:
    yield from serving(Script())


@pytest.fixture(scope="module")
def slices() -> list[Document]:
    return list(Dgx(AllMachines()).slices())


@pytest.fixture
def judged(
    tangram: Callable[..., Any], server: Script, slices: list[Document], tmp_path: Path
) -> Callable[..., Any]:
    """Judge files, or claims of a cluster that has these classes; return status and texts by place."""

    def run(files: list[Document], classes: list[Document], claims: list[Document] | None = None) -> Any:
        host, port = server.server_address[:2]
        config = write_kubeconfig(tmp_path / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"})
        replies = [("ResourceSlice", slices), ("DeviceClass", classes)]
        replies += [("ResourceClaim", claims)] if claims is not None else []
        server.answers(*(Reply(listed(kind, items)) for kind, items in replies))
        (tmp_path / "files.yaml").write_text(yaml.safe_dump_all(files))
        given = ["-f", str(tmp_path / "files.yaml")] if files else []
        said = tangram("validate", "--cluster", "--kubeconfig", str(config), *given, "--json")
        return said.status, [(one["place"], one["text"]) for one in json.loads(said.out)["findings"]]

    return run


def test_a_file_is_judged_by_the_classes_of_the_cluster(judged: Callable[..., Any]) -> None:
    assert judged([claim("vfs")], [VF_CLASS]) == (0, [])


def test_a_class_that_the_cluster_lacks_is_told(judged: Callable[..., Any]) -> None:
    _, ((place, text),) = judged([claim("vf.tangram.dev")], [VF_CLASS])

    assert "files.yaml" in place
    assert "vf.tangram.dev" in text


def test_claims_of_the_cluster_are_judged_with_the_sentences_for_files(
    judged: Callable[..., Any],
) -> None:
    status, ((place, text),) = judged([], [VF_CLASS], [claim("vfs", vlan=5000)])
    of_file = judged([claim("vfs", vlan=5000)], [VF_CLASS])[1][0][1]

    assert status == 2
    assert place == "cluster: team/c"
    assert "5000" in text
    assert text == of_file


def test_a_class_in_a_file_counts_instead_of_the_clusters_of_that_name(judged: Callable[..., Any]) -> None:
    gpus = json.loads(json.dumps(VF_CLASS).replace('\\"vf\\"', '\\"gpu\\"'))

    status, found = judged([claim("vfs"), gpus], [VF_CLASS])

    assert status == 2
    assert [place for place, _ in found if "cluster" in place] == []


def test_what_is_wrong_with_objects_of_others_is_no_finding(judged: Callable[..., Any]) -> None:
    theirs = json.loads(json.dumps(VF_CLASS).replace('"vfs"', '"theirs"').replace(".type ==", ".typo =="))

    assert judged([claim("vfs")], [VF_CLASS, theirs]) == (0, [])


def test_nothing_is_written(judged: Callable[..., Any], server: Script) -> None:
    judged([], [VF_CLASS], [claim("vfs")])

    assert {said.partition(" ")[0] for said in server.said} == {"GET"}
