"""Laws of migrations: a second one changes nothing, nothing unknown is lost, nothing foreign stays untold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from scheduler_core.codec.documents import Document
from scheduler_core.frontends.admission.asked_pod import asked_in_containers
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
MARK = {"scheduling.koordinator.sh/device-joint-allocate": '{"deviceTypes": ["gpu"]}'}
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


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value below an object."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield (*place, key)
        yield from places(below, (*place, key))


def with_value(obj: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    changed = dict(obj) if isinstance(obj, dict) else list(obj)
    changed[place[0]] = with_value(obj[place[0]], place[1:], value)
    return changed


FILES = sorted((Path(__file__).parents[3] / "data" / "migrate").glob("*.in.yaml"))
OBJECTS = [obj for path in FILES for obj in yaml.safe_load_all(path.read_text())]
ODD = (None, 0, -1, True, "x", [], {}, ["x"], [None], [[]], [{}], {"x": 1})


@given(
    st.sampled_from([(obj, place) for obj in OBJECTS for place in places(obj) if place != ("kind",)]),
    st.sampled_from(ODD),
)
def test_an_object_with_a_value_of_any_other_form_is_read_and_stays_as_it_is_migrated(
    found: tuple[Any, tuple[Any, ...]], odd: Any
) -> None:
    once = [one.content for one in migration(with_value(*found, odd)).documents]

    assert [one.content for one in migration(*once).documents] == once


@example(name=[])
@given(st.sampled_from(ODD))
def test_a_claim_of_a_pod_may_have_an_odd_name(name: Any) -> None:
    pod = {
        "kind": "Pod",
        "spec": {
            "resourceClaims": [{"name": name}],
            "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}],
        },
    }

    claims = migration(pod).documents[-1].content["spec"]["resourceClaims"]

    assert claims == [{"name": name}, {"name": "devices", "resourceClaimTemplateName": "pod-devices"}]


def test_a_job_of_another_group_stays_and_is_told() -> None:
    asked = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": {"tasks": [{"template": asked}]}}

    found = migration(job)

    assert [one.content for one in found.documents] == [job]
    (left,) = found.not_carried
    assert left.path == "spec.tasks[0].template.containers[0].resources.limits"


roles = st.lists(
    st.tuples(st.sampled_from(("init", "sidecar", "main")), st.integers(0, 3)), min_size=1, max_size=6
)


def pod_of(given_roles: list[tuple[str, int]]) -> dict[str, Any]:
    spec: dict[str, Any] = {"initContainers": [], "containers": []}
    for number, (role, amount) in enumerate(given_roles):
        one: dict[str, Any] = {"name": f"c{number}", "resources": {"limits": {"nvidia.com/gpu": amount}}}
        if role == "sidecar":
            one["restartPolicy"] = "Always"
        spec["containers" if role == "main" else "initContainers"].append(one)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}


def moments(pod: dict[str, Any]) -> Iterator[list[str]]:
    """Yield which containers run, moment by moment, as the kubelet starts and ends them."""
    running: list[str] = []
    for one in pod["spec"]["initContainers"]:
        yield [*running, one["name"]]
        if one.get("restartPolicy") == "Always":
            running.append(one["name"])
    yield [*running, *(one["name"] for one in pod["spec"]["containers"])]


@given(roles)
@example([("sidecar", 1), ("init", 1), ("main", 0)])
def test_containers_that_run_at_once_have_devices_of_their_own_and_no_more_are_claimed(
    given_roles: list[tuple[str, int]],
) -> None:
    pod = pod_of(given_roles)
    amounts = {f"c{number}": amount for number, (_, amount) in enumerate(given_roles)}
    *templates, after = (one.content for one in migration(pod).documents)
    counts = {
        one["name"]: one["exactly"].get("count", 1)
        for template in templates
        for one in template["spec"]["spec"]["devices"]["requests"]
    }
    used = {
        one["name"]: [claim["request"] for claim in one["resources"].get("claims", ())]
        for one in [*after["spec"]["initContainers"], *after["spec"]["containers"]]
    }

    assert sum(counts.values()) == max(sum(amounts[name] for name in moment) for moment in moments(pod))
    marked = {"metadata": {"name": "pod", "annotations": MARK}, "spec": pod["spec"]}
    asked = asked_in_containers(marked)
    assert (asked.amounts["nvidia.com/gpu"] if asked else 0) == sum(counts.values())
    for moment in moments(pod):
        requests = [request for name in moment for request in used[name]]
        assert len(requests) == len(set(requests))
        assert all(sum(counts[request] for request in used[name]) >= amounts[name] for name in moment)


DEVICES_OF_OTHERS = (
    {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000},
    {"nvidia.com/gpu": 2, "nvidia.com/gpucores": 30},
    {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 1024},
    {"aliyun.com/gpu-mem": 3},
)


@pytest.mark.parametrize("limits", DEVICES_OF_OTHERS)
def test_a_share_of_a_gpu_is_not_half_rewritten(limits: dict[str, int]) -> None:
    whole = {"name": "whole", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    share = {"name": "share", "resources": {"limits": limits}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [share]}}

    found = migration(pod)
    both = migration({**pod, "spec": {"containers": [share, whole]}})

    assert [one.content for one in found.documents] == [pod]
    assert found.not_carried
    assert all("docs/modes.md" in one.reason and "--sriov" not in one.reason for one in found.not_carried)
    after = both.documents[-1].content["spec"]["containers"]
    assert after[0] == share
    assert after[1]["resources"] == {"claims": [{"name": "devices", "request": "gpu"}]}


@pytest.mark.parametrize(
    ("label", "stands_for"),
    [
        ("nvidia.com/gpu.product", 'device.attributes["tangram.dev"].productName'),
        ("nvidia.com/gpu.memory", 'device.capacity["tangram.dev"].memory'),
        ("nvidia.com/gpu.family", 'device.attributes["tangram.dev"].architecture'),
        ("nvidia.com/gpu.compute.major", 'device.attributes["tangram.dev"].cudaComputeCapability'),
        ("nvidia.com/cuda.driver.major", 'device.attributes["tangram.dev"].driverVersion'),
        ("nvidia.com/cuda.runtime-version.full", 'device.attributes["tangram.dev"].cudaDriverVersion'),
        ("node.koordinator.sh/gpu-model", 'device.attributes["tangram.dev"].productName'),
        ("nvidia.com/gpu.present", "remove it"),
        ("kubernetes.io/hostname", None),
    ],
)
@pytest.mark.parametrize("is_affinity", [False, True])
def test_a_label_of_another_product_is_named_with_what_stands_for_it(
    label: str, stands_for: str | None, is_affinity: bool
) -> None:
    expression = {"key": label, "operator": "In", "values": ["x"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    selector = {"affinity": affinity} if is_affinity else {"nodeSelector": {label: "x"}}
    pod = pod_of([("main", 1)])

    found = migration({**pod, "spec": {**pod["spec"], **selector}}).not_carried

    assert len(found) == (stands_for is not None)
    assert all(one.reason.startswith(f"{label}: ") and str(stands_for) in one.reason for one in found)


@pytest.mark.parametrize("name", ["koord-scheduler", "hami-scheduler", "volcano", "default-scheduler", ""])
@pytest.mark.parametrize(
    "resource", ["nvidia.com/gpu", "koordinator.sh/gpu-core", "aliyun.com/gpu-mem", "cpu"]
)
def test_another_scheduler_of_a_pod_with_devices_is_named(name: str, resource: str) -> None:
    pod = pod_of([("main", 1)])
    pod["spec"] |= {"schedulerName": name}
    pod["spec"]["containers"][0]["resources"] = {"limits": {resource: 1}}

    found = [one for one in migration(pod).not_carried if one.path == "spec.schedulerName"]

    is_named = name not in ("", "default-scheduler") and resource != "cpu"
    assert len(found) == is_named
    assert all(name in one.reason and "remove it" in one.reason for one in found)
