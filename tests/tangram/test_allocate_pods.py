"""``tangram allocate`` with pods in its files: pod by pod, with the claims of their templates."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.frontends.configuration.preparable import ONE_DAEMON

V1 = "resource.k8s.io/v1"
MPS = {"apiVersion": "tangram.dev/v1alpha1", "kind": "GpuConfig", "sharing": {"strategy": "MPS"}}


def claim(name: str, count: int = 1, kind: str = "ResourceClaim", **devices: Any) -> dict[str, Any]:
    request = {"name": "g", "exactly": {"deviceClassName": "gpu.tangram.dev", "count": count}}
    spec = {"devices": {"requests": [request], **devices}}
    return {
        "apiVersion": V1,
        "kind": kind,
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }


def template(name: str, count: int = 1, **devices: Any) -> dict[str, Any]:
    return claim(name, count, "ResourceClaimTemplate", **devices)


def pod_spec(**claims: str) -> dict[str, Any]:
    """A pod whose container uses claims; those whose name begins with ``t`` are templates."""
    entries = [
        {"name": name, f"resourceClaim{'TemplateName' if one.startswith('t') else 'Name'}": one}
        for name, one in claims.items()
    ]
    uses = {"claims": [{"name": name} for name in claims]}
    return {"resourceClaims": entries, "containers": [{"name": "main", "resources": uses}]}


def pod(name: str, **claims: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(**claims)}


def makes_pods(kind: str, copies: int | None = None, **claims: str) -> dict[str, Any]:
    field = "parallelism" if kind == "Job" else "replicas"
    number = {} if copies is None else {field: copies}
    spec = {**number, "template": {"spec": pod_spec(**claims)}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "team"},
        "spec": spec,
    }


@pytest.fixture
def allocated(tangram, shipped, written, examples):
    """Allocate on two GPUs; return what the command says."""

    def run(*documents: dict[str, Any], command: str = "allocate", options: tuple[str, ...] = ("--json",)):
        slices = tangram("show", "--machine", shipped("a100x2"), "--as", "v1").out
        files = [written("slices.yaml", slices), examples / "device-classes.yaml"]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})
        files.append(written("in.json", text))
        return tangram(command, *(part for file in files for part in ("-f", file)), *options)

    return run


def devices(answer: Any) -> list[list[str] | None]:
    """The devices of each pod, None for one that does not fit."""
    return [
        [
            one["device"]
            for part in found["claims"]
            for one in part["status"]["allocation"]["devices"]["results"]
        ]
        if found["allocated"]
        else None
        for found in answer.json["pods"]
    ]


def test_each_pod_gets_a_claim_of_its_template_as_long_as_there_are_devices(allocated):
    answer = allocated(template("t"), *(pod(f"p{number}", d="t") for number in range(3)))

    assert answer.status == 1
    assert devices(answer) == [["gpu-0"], ["gpu-1"], None]
    assert answer.json["allocated"] is False
    assert [one["pod"] for one in answer.json["pods"]] == [f"Pod team/p{number}" for number in range(3)]


@pytest.mark.parametrize(("kind", "copies", "expected"), [
    ("Deployment", 2, [["gpu-0"], ["gpu-1"]]),
    ("StatefulSet", None, [["gpu-0"]]),
    ("Job", 4, [["gpu-0"], ["gpu-1"], None]),
    ("Deployment", 0, []),
])  # fmt: skip
def test_the_pods_that_an_object_makes_are_counted(allocated, kind, copies, expected):
    answer = allocated(template("t"), makes_pods(kind, copies, d="t"))

    assert devices(answer) == expected
    assert answer.status == (1 if None in expected else 0)


def test_pods_share_a_claim_that_they_name(allocated):
    answer = allocated(claim("c", count=2), pod("p0", d="c"), pod("p1", x="c"))

    assert answer.status == 0
    assert devices(answer) == [["gpu-0", "gpu-1"], []]


def test_claims_that_no_pod_names_come_last(allocated):
    answer = allocated(claim("c"), template("t"), pod("p", d="t"))

    assert devices(answer) == [["gpu-0"], ["gpu-1"]]
    assert answer.json["pods"][1]["pod"] == "claims that no pod names"


def test_the_table_is_per_pod(allocated):
    answer = allocated(template("t", count=2), pod("p0", d="t"), pod("p1", d="t"), options=())

    assert answer.status == 1
    assert "Pod team/p0: on a100x2" in answer.out
    assert "team/p0-d" in answer.out
    assert "Pod team/p1:\ndoes not fit" in answer.out


def test_a_container_with_several_daemons_is_refused(allocated):
    config = [{"opaque": {"driver": "tangram.dev", "parameters": MPS}}]

    answer = allocated(template("t", config=config), pod("p", x="t", y="t"))

    assert answer.status == 2
    assert "Pod team/p: container main gets several devices under MPS" in answer.err
    assert ONE_DAEMON in answer.err
    assert allocated(template("t", config=config), pod("p", x="t"), pod("q", x="t")).status == 0


@pytest.mark.parametrize(
    ("one", "what"), [("tx", "names no ResourceClaimTemplate"), ("x", "no file has claim")]
)
def test_a_claim_that_is_not_there_is_named(allocated, one, what):
    answer = allocated(claim("c"), pod("p", d=one))

    assert answer.status == 2
    assert "Pod team/p" in answer.err
    assert what in answer.err


def test_pods_by_amounts_and_running_pods_are_not_judged_here(allocated):
    by_amounts = pod("a")
    by_amounts["spec"] = {
        "containers": [{"name": "main", "resources": {"limits": {"koordinator.sh/gpu-core": 100,
                                                                 "koordinator.sh/gpu-memory-ratio": 100}}}]
    }  # fmt: skip
    running = pod("r", d="tx")
    running["spec"]["nodeName"] = "a100x2"

    answer = allocated(claim("c"), by_amounts, running)

    assert answer.status == 0
    assert answer.devices == ["gpu-0"]
    assert "asks by amounts and is passed over: give it with --pod" in answer.err


def test_explain_passes_over_what_makes_pods(allocated):
    answer = allocated(claim("c"), makes_pods("Deployment", d="c"), command="explain", options=())

    assert answer.status == 0
    assert "Deployment is passed over" in answer.err


def test_without_any_claim_there_is_nothing_to_allocate(allocated):
    answer = allocated(makes_pods("Deployment"))

    assert answer.status == 2
    assert "no pod names a claim" in answer.err
