"""Laws of migrations: a second one changes nothing, nothing unknown is lost, nothing foreign stays untold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.codec.documents import Document
from scheduler_core.frontends.migration.migrate import migrate
from scheduler_core.frontends.migration.values import Asked, Migration

RESOURCES = (
    "cpu",
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.5gb",
    "nvidia.com/mig-1g.10gb.me",
    "openshift.io/rdma",
    "example.com/dongle",
)
GIVEN = {"openshift.io/rdma": Asked("rdma", "vf.tangram.dev")}
EXPRESSIONS = (
    'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"',
    "device.driver == 'gpu.nvidia.com'",
    "device.attributes['gpu.nvidia.com'].addressingMode == 'ATS'",
    'device.attributes["example.com"].colour == "gpu.nvidia.com"',
    "device.attributes['gpu.nvidia.com'].brand ==",
    "true",
)
CLASSES = ("gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com", "example.com", "gpu.tangram.dev")
unknown = st.dictionaries(
    st.sampled_from(("annotations", "x", "y")), st.sampled_from((1, "text", None, {"z": []}))
)
amounts = st.sampled_from((0, 1, 2, "3", "500m", -1, "many", None, 40))


def container(name: str) -> st.SearchStrategy[dict[str, Any]]:
    limits = st.dictionaries(st.sampled_from(RESOURCES), amounts, max_size=3)
    return st.builds(
        lambda extra, asked, always: {
            **extra,
            "name": name,
            "resources": {"limits": asked},
            **({"restartPolicy": "Always"} if always else {}),
        },
        unknown,
        limits,
        st.booleans(),
    )


pods = st.builds(
    lambda extra, one, two, first: {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {**extra, "initContainers": [first], "containers": [one, two]},
        "more": extra,
    },
    unknown,
    container("one"),
    container("two"),
    container("first"),
)
requests = st.builds(
    lambda extra, name, of, texts: {
        "name": name,
        "exactly": {
            **extra,
            "deviceClassName": of,
            "selectors": [{"cel": {"expression": text}} for text in texts],
        },
    },
    unknown,
    st.sampled_from(("a", "b")),
    st.sampled_from(CLASSES),
    st.lists(st.sampled_from(EXPRESSIONS), max_size=2),
)
claims = st.builds(
    lambda extra, version, of, match: {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "labels": extra},
        "spec": {"devices": {**extra, "requests": of, "constraints": [{"matchAttribute": match}]}},
    },
    unknown,
    st.sampled_from(("v1", "v1beta2", "v1beta1", "v1alpha3")),
    st.lists(requests, max_size=2),
    st.sampled_from(("gpu.nvidia.com/parentUUID", "gpu.nvidia.com/gpuModuleID", "example.com/x")),
)
objects = st.one_of(pods, claims)


def migration(*objs: Mapping[str, Any]) -> Migration:
    return migrate([Document(f"file:{index}", one) for index, one in enumerate(objs)], GIVEN, ())


@given(objects)
def test_migrating_the_result_changes_nothing(obj: dict[str, Any]) -> None:
    once = [one.content for one in migration(obj).documents]

    assert [one.content for one in migration(*once).documents] == once


@given(objects)
def test_the_input_is_not_changed(obj: dict[str, Any]) -> None:
    before = json.dumps(obj)

    migration(obj)

    assert json.dumps(obj) == before


@given(pods)
def test_a_pod_differs_in_its_devices_only(pod: dict[str, Any]) -> None:
    def rest(obj: Mapping[str, Any]) -> Any:
        spec = {key: value for key, value in obj["spec"].items() if key != "resourceClaims"}
        for kind in ("initContainers", "containers"):
            spec[kind] = [
                {
                    **one,
                    "resources": {
                        name: value
                        for name, value in (one["resources"].get("limits") or {}).items()
                        if name in ("cpu", "example.com/dongle", "nvidia.com/gpu.shared")
                    },
                }
                for one in spec[kind]
            ]
        return {**obj, "spec": spec}

    assert rest(migration(pod).documents[-1].content) == rest(pod)


@given(pods)
def test_the_claim_has_the_devices_that_the_containers_asked_for(pod: dict[str, Any]) -> None:
    found = migration(pod)
    *templates, after = (one.content for one in found.documents)
    counts = {
        one["name"]: one["exactly"].get("count", 1)
        for template in templates
        for one in template["spec"]["spec"]["devices"]["requests"]
    }

    for before, container in zip(
        [*pod["spec"]["initContainers"], *pod["spec"]["containers"]],
        [*after["spec"]["initContainers"], *after["spec"]["containers"]],
        strict=True,
    ):
        limits = before["resources"]["limits"]
        left = container["resources"].get("limits", {})
        taken = sum(int(amount) for name, amount in limits.items() if name not in left)
        got = sum(counts[one["request"]] for one in container["resources"].get("claims", ()))
        is_short = before["name"] == "first" and "restartPolicy" not in before
        assert got >= taken if is_short else got == taken


@given(objects)
def test_every_foreign_name_that_stays_is_told(obj: dict[str, Any]) -> None:
    found = migration(obj)

    if "nvidia.com" in json.dumps(found.documents[-1].content):
        assert found.not_carried
    if not found.not_carried:
        assert "nvidia.com" not in json.dumps([one.content for one in found.documents])
