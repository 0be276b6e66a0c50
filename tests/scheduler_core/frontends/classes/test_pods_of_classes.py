"""What pods ask of classes, counted as Kubernetes counts, and what they were given before."""

import pytest

from scheduler_core.base.errors import InvalidInput
from scheduler_core.frontends.classes.annotation import PREFIX
from scheduler_core.frontends.classes.model import Grant, Use
from scheduler_core.frontends.classes.pods import decode_class_pod


def pod(*containers, init=(), annotations=None, node=None, phase=None):
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"containers": list(containers), "initContainers": list(init)}
        | ({"nodeName": node} if node else {}),
        "status": {"phase": phase} if phase else {},
    }


def asking(restart=None, **resources):
    return {"resources": resources} | ({"restartPolicy": restart} if restart else {})


def test_containers_add_up_and_a_limit_stands_for_a_missing_request():
    found = decode_class_pod(pod(asking(limits={"a.b": 2}), asking(requests={"a.b": "1"}, limits={"a.b": 9})))

    assert found.requests == {"a.b": 3}


def test_an_init_container_counts_where_it_asks_for_more_than_what_runs_later():
    init = [asking("Always", limits={"c": 1}), asking(limits={"c": 4, "d": 1})]

    found = decode_class_pod(pod(asking(limits={"c": 2}), init=init))

    assert found.requests == {"c": 5, "d": 1}


def test_names_with_a_meaning_of_their_own_are_no_classes():
    names = ("cpu", "memory", "ephemeral-storage", "hugepages-1Gi", "nvidia.com/gpu")

    found = decode_class_pod(pod(asking(limits={name: "1" for name in names} | {"hugepages-1gig": 1})))

    assert found.requests == {"hugepages-1gig": 1}


def test_a_class_may_be_asked_for_in_our_domain_which_api_servers_take():
    found = decode_class_pod(pod(asking(limits={"class.tangram.dev/a.b": 1, "a.b": 1})))

    assert found.requests == {"a.b": 2}


def test_annotations_tell_what_a_pod_holds_on_its_node():
    found = decode_class_pod(pod(annotations={f"{PREFIX}c_gpu-0": "1"}, node="n"))

    assert found.grant == Grant("n", (Use("c", "gpu-0", 1),))


@pytest.mark.parametrize(("phase", "has_ended"), [("Succeeded", True), ("Failed", True), ("Running", False)])
def test_a_pod_has_ended_when_its_phase_says_so(phase, has_ended):
    assert decode_class_pod(pod(phase=phase)).has_ended is has_ended


@pytest.mark.parametrize("amount", [-1, "0.5", "many", True, None])
def test_an_amount_that_is_no_whole_number_is_refused_by_its_place(amount):
    with pytest.raises(InvalidInput) as refused:
        decode_class_pod(pod(asking(limits={"c": amount})))

    assert str(refused.value).startswith("Pod p: spec.containers[0].resources.limits.c: ")


def test_annotations_without_a_node_are_refused():
    with pytest.raises(InvalidInput, match=r"Pod p: spec.nodeName: is required"):
        decode_class_pod(pod(annotations={f"{PREFIX}c_gpu-0": "1"}))
