"""Reviews of pods, as an API server sends them."""

import base64
import json

import pytest

from controller.webhook.review import InvalidReview, review

RDMA = "koordinator.sh/rdma"


def asked(pod, *, operation="CREATE", kind="Pod", **more):
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": {"group": "", "version": "v1", "kind": kind},
            "namespace": "team",
            "operation": operation,
            "object": pod,
            **more,
        },
    }


def pod(amount, **annotations):
    marks = {f"scheduling.koordinator.sh/{key.replace('_', '-')}": text for key, text in annotations.items()}
    resources = {"limits": {RDMA: amount}}
    return {
        "metadata": {"generateName": "web-", "annotations": marks},
        "spec": {"containers": [{"name": "c", "resources": resources}]},
    }


def test_a_pod_with_amounts_is_allowed_with_a_patch_for_the_request_that_was_asked():
    found = review(asked(pod(1)))

    assert found["kind"] == "AdmissionReview"
    assert found["apiVersion"] == "admission.k8s.io/v1"
    answer = found["response"]
    assert (answer["uid"], answer["allowed"], answer["patchType"]) == ("u-1", True, "JSONPatch")
    paths = [one["path"] for one in json.loads(base64.b64decode(answer["patch"]))]
    assert "/spec/resourceClaims" in paths


def test_a_dry_run_gets_the_same_answer():
    assert review(asked(pod(1), dryRun=True)) == review(asked(pod(1)))


def test_a_wrong_pod_is_refused_with_one_sentence_that_names_it():
    answer = review(asked(pod(150)))["response"]

    assert answer["allowed"] is False
    assert answer["status"]["code"] == 422
    assert answer["status"]["message"] == (
        "Pod team/web-*: requests koordinator.sh/rdma: 150: above 100 it must be a multiple of 100"
    )


def test_an_annotation_without_effect_is_told_as_a_warning():
    answer = review(asked(pod(1, device_allocate_hint='{"gpu": {"exclusivePolicy": "PCIeLevel"}}')))[
        "response"
    ]

    assert answer["warnings"] == ["Pod team/web-*: the hint for gpu has no effect: the pod asks for none"]


@pytest.mark.parametrize(
    "request_of",
    [
        lambda: asked(pod(150), operation="UPDATE"),
        lambda: asked(pod(150), subResource="ephemeralcontainers"),
        lambda: asked(pod(150), kind="Service"),
        lambda: asked(None, operation="DELETE"),
    ],
    ids=["an update", "a subresource", "another kind", "a deletion"],
)
def test_what_is_no_new_pod_is_allowed_as_it_is(request_of):
    assert review(request_of())["response"] == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ([], "JSON object"),
        ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}, "apiVersion"),
        ({"kind": "Pod", "apiVersion": "admission.k8s.io/v1"}, "kind"),
        ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}, "no request"),
        ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {}}, "request.uid"),
    ],
)
def test_what_is_no_review_is_refused(document, part):
    with pytest.raises(InvalidReview, match=part):
        review(document)
