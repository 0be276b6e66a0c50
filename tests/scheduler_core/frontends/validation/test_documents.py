"""Every document is judged for itself; what cannot be read is a finding and hides nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from judged_documents import claim, config, device_class, exactly, judge, of_type, slice_of

from scheduler_core.frontends.validation.finding import Level

GPU = slice_of(("gpu-0", {"type": "gpu", "productName": "A"}))


def pod(*claims: dict[str, Any], uses: dict[str, Any] | None = None, kind: str = "Pod") -> dict[str, Any]:
    container = {"name": "main", "resources": {"claims": [uses] if uses else []}}
    spec: dict[str, Any] = {"resourceClaims": list(claims), "containers": [container]}
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": {"template": {"spec": spec}}}}
    elif kind != "Pod":
        spec = {"template": {"spec": spec}}
    return {"kind": kind, "metadata": {"name": "p"}, "spec": spec}


def test_nothing_is_said_of_what_is_right() -> None:
    named = {"name": "gpus", "resourceClaimName": "c"}
    one = claim(exactly("g", "gpu", 'device.attributes["tangram.dev"].productName == "A"'))

    assert judge(GPU, of_type("gpu"), one, pod(named, uses={"name": "gpus", "request": "g"})) == ()


def test_a_claim_that_cannot_be_read_does_not_hide_the_next() -> None:
    broken = claim(exactly("g", "gpu", count=0), name="broken")
    wrong = claim(exactly("g", "gpu"), config=[config("GpuConfig", share=1)])

    first, second = judge(broken, wrong)

    assert (first.place, first.subject) == ("f:0", "ResourceClaim broken")
    assert (first.path, first.text) == (
        "spec.devices.requests[0].exactly.count",
        "spec.devices.requests[0].exactly.count: 0: must be at least 1",
    )
    assert (second.place, second.subject) == ("f:1", "ResourceClaim c")


def test_findings_come_in_the_order_of_the_documents() -> None:
    wrong = [claim(exactly("g", "unheard"), name=name) for name in "ab"]
    broken = device_class("c", "1 +")

    assert [one.place for one in judge(wrong[0], broken, wrong[1])] == ["f:0", "f:1", "f:2"]


def test_a_class_that_is_not_there_is_refused_with_similar_names() -> None:
    (found,) = judge(of_type("gpu"), claim(exactly("g", "gpuu")))

    assert (found.level, found.path) == (Level.ERROR, "spec.devices.requests[0].exactly.deviceClassName")
    rule = "names no DeviceClass of these documents; similar: gpu.tangram.dev"
    assert found.text == f"request g: deviceClassName: 'gpuu.tangram.dev': {rule}"


def test_without_classes_the_usual_ones_count_and_others_are_a_warning() -> None:
    assert judge(claim(exactly("g", "gpu"))) == ()
    (found,) = judge(claim(exactly("g", "other")))
    assert found.level is Level.WARNING


@pytest.mark.parametrize("request_form", ["flat", "alternative"])
def test_paths_follow_the_form_of_the_request(request_form: str) -> None:
    flat = {"name": "g", "deviceClassName": "x"}
    request = flat if request_form == "flat" else {"name": "r", "firstAvailable": [flat]}

    (found,) = judge(claim(request))

    place = "" if request_form == "flat" else ".firstAvailable[0]"
    assert found.path == f"spec.devices.requests[0]{place}.deviceClassName"


def test_a_selector_that_does_not_compile_is_refused() -> None:
    of_class, of_request = judge(device_class("gpu.tangram.dev", "1 +"), claim(exactly("g", "gpu", "2 +")))

    assert of_class.path == "spec.selectors[0].cel.expression"
    assert of_request.path == "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    assert of_request.text.startswith("request g: selector '2 +' does not compile")


def test_a_key_that_no_published_device_has_is_a_warning_with_similar_ones() -> None:
    wrong = 'device.attributes["tangram.dev"].productname == "A"'

    (found,) = judge(GPU, claim(exactly("g", "gpu", wrong)))

    assert found.level is Level.WARNING
    sentence = "no published device has the attribute tangram.dev/productname; similar: productName"
    assert found.text == f"request g: selector: {sentence}"
    assert judge(claim(exactly("g", "gpu", wrong))) == (), "without slices nothing is known of keys"


def test_of_the_keys_of_a_type_that_nobody_publishes_nothing_is_known() -> None:
    own = 'device.attributes["tangram.dev"]'

    assert judge(GPU, claim(exactly("g", "gpu", f'{own}.type == "vf" && {own}.vfioCapable'))) == ()
    assert len(judge(GPU, claim(exactly("g", "gpu", f'{own}.type == "gpu" && {own}.vfioCapable')))) == 1


def test_a_capacity_is_no_attribute() -> None:
    of_capacity = 'device.capacity["tangram.dev"].type.isGreaterThan(quantity("1"))'

    (found,) = judge(GPU, claim(exactly("g", "gpu", of_capacity)))

    assert "no published device has the capacity tangram.dev/type" in found.text


def test_an_object_that_is_given_twice_is_told() -> None:
    (found,) = judge(claim(exactly("g", "gpu")), claim(exactly("g", "gpu")))

    assert (found.place, found.text) == ("f:1", "is given twice, first at f:0")


def test_an_object_without_a_kind_is_wrong() -> None:
    (found,) = judge({"metadata": {"name": "m"}})

    assert found.level is Level.ERROR


def test_parts_of_slices_that_are_not_used_are_told() -> None:
    wrong = slice_of(("gpu-0", {"type": "gpu"}), ("GPU_1", {"type": "gpu"}))

    (found,) = judge(wrong)

    assert found.level is Level.ERROR
    assert "GPU_1" in found.text


def test_a_slice_that_cannot_be_read_is_told() -> None:
    broken = slice_of(("gpu-0", {"type": "gpu"}))
    del broken["spec"]["pool"]

    (found,) = judge(broken, claim(exactly("g", "gpu")))

    assert found.path == "spec.pool"


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "Job", "CronJob"])
def test_a_container_names_claims_of_its_pod(kind: str) -> None:
    named = {"name": "gpus", "resourceClaimName": "c"}

    (found,) = judge(pod(named, uses={"name": "gpu"}, kind=kind))

    assert found.path.endswith("containers[0].resources.claims[0].name")
    assert "names no entry of the pod's resourceClaims" in found.text


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_a_container_names_requests_of_its_claim(kind: str) -> None:
    inner = claim(exactly("g", "gpu"))
    is_template = kind == "ResourceClaimTemplate"
    given = inner | {"kind": kind, "spec": {"spec": inner["spec"]} if is_template else inner["spec"]}
    key = "resourceClaimTemplateName" if is_template else "resourceClaimName"

    (found,) = judge(given, pod({"name": "gpus", key: "c"}, uses={"name": "gpus", "request": "h"}))

    assert "'h': names no request of c; known there: g" in found.text
    assert judge(given, pod({"name": "gpus", key: "c"}, uses={"name": "gpus", "request": "g"})) == ()


def test_a_claim_of_another_namespace_is_another_claim() -> None:
    elsewhere = claim(exactly("g", "gpu"))
    elsewhere["metadata"]["namespace"] = "other"

    named = {"name": "gpus", "resourceClaimName": "c"}

    assert judge(elsewhere, pod(named, uses={"name": "gpus", "request": "h"})) == ()


@pytest.mark.parametrize("entry", [{}, {"resourceClaimName": "c", "resourceClaimTemplateName": "t"}])
def test_a_pod_takes_each_claim_from_one_source(entry: dict[str, Any]) -> None:
    (found,) = judge(pod({"name": "gpus", **entry}))

    assert found.path == "spec.resourceClaims[0]"
    assert "must have exactly one of resourceClaimName and resourceClaimTemplateName" in found.text


def test_two_claims_of_a_pod_have_two_names() -> None:
    named = {"name": "gpus", "resourceClaimName": "c"}

    (found,) = judge(pod(named, named))

    assert found.path == "spec.resourceClaims[1].name"


def asking(name: str, amount: Any, kind: str = "Pod", **marks: str) -> dict[str, Any]:
    found = pod(kind=kind)
    holder = found["spec"]["template"] if kind != "Pod" else found
    holder["spec"]["containers"][0]["resources"] = {"limits": {name: amount}}
    annotations = {f"scheduling.koordinator.sh/{key.replace('_', '-')}": text for key, text in marks.items()}
    holder.setdefault("metadata", {"name": "p"})["annotations"] = annotations
    return found


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_amounts_and_annotations_of_pods_are_judged_as_the_webhook_judges_them(kind: str) -> None:
    (amount,) = judge(asking("koordinator.sh/rdma", 150, kind))
    (mark,) = judge(asking("koordinator.sh/rdma", 1, kind, device_joint_allocate='{"deviceTypes": ["x"]}'))
    (idle,) = judge(asking("koordinator.sh/rdma", 1, kind, device_allocate_hint='{"gpu": {"selector": {}}}'))

    assert amount.text == "requests koordinator.sh/rdma: 150: above 100 it must be a multiple of 100"
    assert mark.text.startswith("annotation scheduling.koordinator.sh/device-joint-allocate: deviceTypes[0]")
    assert (idle.level, idle.text) == (
        Level.WARNING,
        "the hint for gpu has no effect: the pod asks for none",
    )
