"""Pods as they are admitted: what they asked for by amounts becomes a claim, and nothing else changes."""

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.frontends.admission.asked_pod import asked_in_annotation, asked_in_containers
from scheduler_core.frontends.admission.changes import admission_of
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.model.ownership import AMOUNTS, CLAIM, GATE, TEMPLATES

GPU, RDMA, CLASS = "nvidia.com/gpu", "koordinator.sh/rdma", "class.tangram.dev/fast.nic"
JOINT = {"scheduling.koordinator.sh/device-joint-allocate": '{"deviceTypes": ["gpu", "rdma"]}'}


def container(name="main", *, claims=(), **parts):
    resources = {part: values for part, values in parts.items() if values}
    if claims:
        resources["claims"] = [{"name": one} for one in claims]
    return {"name": name, "image": "i", "resources": resources}


def pod(*containers, init=(), annotations=None, name="web-0", **spec):
    metadata = {"name": name} if name else {"generateName": "web-"}
    if annotations:
        metadata["annotations"] = dict(annotations)
    made = {"containers": list(containers), **spec}
    if init:
        made["initContainers"] = list(init)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made}


def applied(found, patch):
    """The pod after a JSON patch that only adds: an independent, literal reading of RFC 6902."""
    after = copy.deepcopy(found)
    for one in patch:
        assert one["op"] == "add"
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:]]
        at = after
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]
        at[last] = one["value"]
    return after


def admitted(found, uid="u-1"):
    return applied(found, admission_of(found, "team", uid).patch())


def resources(found, index=0, listed="containers"):
    return found["spec"][listed][index]["resources"]


def test_amounts_become_a_claim_that_the_container_uses_and_the_pod_waits():
    after = admitted(pod(container(requests={RDMA: 1, "cpu": "2"}, limits={RDMA: 1})))

    annotations = after["metadata"]["annotations"]
    assert json.loads(annotations[AMOUNTS]) == {RDMA: "1"}
    assert after["spec"]["resourceClaims"] == [{"name": "tangram", "resourceClaimName": annotations[CLAIM]}]
    assert after["spec"]["schedulingGates"] == [{"name": GATE}]
    assert resources(after) == {"requests": {"cpu": "2"}, "limits": {}, "claims": [{"name": "tangram"}]}


def test_containers_without_amounts_stay_as_they_are_and_init_containers_count():
    before = pod(
        container(requests={"cpu": 1}),
        container("b", limits={CLASS: 2}),
        init=[container("i", limits={CLASS: 3})],
    )

    after = admitted(before)

    assert resources(after) == resources(before)
    assert resources(after, 1)["claims"] == [{"name": "tangram"}]
    assert resources(after, 0, "initContainers") == {"limits": {}, "claims": [{"name": "tangram"}]}
    assert json.loads(after["metadata"]["annotations"][AMOUNTS]) == {CLASS: "3"}


@pytest.mark.parametrize(
    "before",
    [
        pod(container(limits={GPU: 1})),
        pod(container(limits={"cpu": 1})),
        pod(container(limits={RDMA: 0})),
        pod(container(limits={"example.com/rdma": 1}), annotations=JOINT),
        pod(container(limits={RDMA: 1}), annotations={"kubernetes.io/config.mirror": "x"}, nodeName="n"),
    ],
    ids=["a device plugin's GPU", "no device", "none", "another's name", "a mirror of a file on a node"],
)
def test_pods_that_ask_for_nothing_of_ours_are_not_touched(before):
    assert admission_of(before, "team", "u-1").patch() == []


def test_whole_gpus_count_where_an_annotation_says_so():
    after = admitted(pod(container(limits={GPU: 4, RDMA: 1}), annotations=JOINT))

    assert json.loads(after["metadata"]["annotations"][AMOUNTS]) == {GPU: "4", RDMA: "1"}
    assert resources(after)["limits"] == {}


def test_whole_gpus_beside_other_amounts_stay_with_the_device_plugin_without_an_annotation():
    after = admitted(pod(container(limits={GPU: 4, RDMA: 1})))

    assert json.loads(after["metadata"]["annotations"][AMOUNTS]) == {RDMA: "1"}
    assert resources(after)["limits"] == {GPU: 4}


def test_a_container_that_asks_for_none_gets_no_claim():
    after = admitted(pod(container(limits={RDMA: 1}), container("b", limits={RDMA: 0, "cpu": 1})))

    assert resources(after, 1) == {"limits": {"cpu": 1}}


def test_a_pod_without_a_name_gets_a_claim_of_its_own_in_every_request():
    names = {
        admitted(pod(container(limits={RDMA: 1}), name=None), uid)["metadata"]["annotations"][CLAIM]
        for uid in ("u-1", "u-2")
    }

    assert len(names) == 2
    assert all(name.startswith("web-") and len(name) <= 63 for name in names)


def test_a_claim_that_the_pod_calls_tangram_keeps_its_name():
    own = [{"name": "tangram", "resourceClaimName": "mine"}]
    after = admitted(pod(container(claims=["tangram"], limits={RDMA: 1}), resourceClaims=own))

    assert [one["name"] for one in after["spec"]["resourceClaims"]] == ["tangram", "tangram-2"]
    assert resources(after)["claims"] == [{"name": "tangram"}, {"name": "tangram-2"}]


def test_templates_of_a_pod_that_waits_become_claims_by_name():
    entries = [
        {"name": "gpu", "resourceClaimTemplateName": "one-gpu"},
        {"name": "shared", "resourceClaimName": "s"},
    ]
    after = admitted(pod(container(claims=["gpu"]), resourceClaims=entries, schedulingGates=[{"name": GATE}]))

    first, second = after["spec"]["resourceClaims"]
    assert set(first) == {"name", "resourceClaimName"}
    assert json.loads(after["metadata"]["annotations"][TEMPLATES]) == {first["resourceClaimName"]: "one-gpu"}
    assert second == entries[1]


def test_templates_of_other_pods_stay():
    entries = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]

    assert admission_of(pod(container(), resourceClaims=entries), "team", "u-1").patch() == []


def test_amounts_and_templates_of_one_pod_become_claims_with_different_names():
    entries = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    after = admitted(pod(container(limits={RDMA: 1}), resourceClaims=entries))

    annotations = after["metadata"]["annotations"]
    names = [one["resourceClaimName"] for one in after["spec"]["resourceClaims"]]
    assert names == [*json.loads(annotations[TEMPLATES]), annotations[CLAIM]]
    assert len(set(names)) == 2


def test_a_template_that_another_webhook_adds_joins_the_ones_before():
    first = {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}
    after = admitted(pod(container(), resourceClaims=[first], schedulingGates=[{"name": GATE}]))
    after["spec"]["resourceClaims"].append({"name": "nic", "resourceClaimTemplateName": "one-nic"})

    again = admitted(after, "u-2")

    templates = json.loads(again["metadata"]["annotations"][TEMPLATES])
    assert sorted(templates.values()) == ["one-gpu", "one-nic"]
    assert set(templates) == {one["resourceClaimName"] for one in again["spec"]["resourceClaims"]}


amounts = st.dictionaries(
    st.sampled_from((RDMA, CLASS, "koordinator.sh/fpga", "cpu", "nvidia.com/gpu")),
    st.integers(0, 3),
    max_size=4,
)
containers = st.builds(
    lambda part, found: container(**{part: found}), st.sampled_from(("requests", "limits")), amounts
)
entries = st.lists(
    st.sampled_from(
        (
            {"name": "tangram", "resourceClaimName": "mine"},
            {"name": "a", "resourceClaimTemplateName": "t"},
            {"name": "b", "resourceClaimName": "c"},
        )
    ),
    unique_by=lambda one: one["name"],
)
gates = st.lists(st.sampled_from(({"name": GATE}, {"name": "other"})), unique_by=lambda one: one["name"])
pods = st.builds(
    lambda found, init, marks, claims, waits: pod(
        *found, init=init, annotations=marks, resourceClaims=claims, schedulingGates=waits
    ),
    st.lists(containers, min_size=1, max_size=3),
    st.lists(containers, max_size=2),
    st.sampled_from((None, JOINT)),
    entries,
    gates,
)


@given(pods)
def test_asking_again_changes_nothing(found):
    after = admitted(found, "u-1")

    assert admission_of(after, "team", "u-2").patch() == []


@given(pods)
def test_the_annotation_says_what_the_containers_asked_for(found):
    asked = asked_in_containers(found)
    after = admitted(found)

    assert asked_in_containers(after) is None
    again = asked_in_annotation(after)
    assert (again and (again.amounts, again.classes)) == (asked and (asked.amounts, asked.classes))
    assert (again and again.ask and again.ask.asks) == (asked and asked.ask and asked.ask.asks)


@pytest.mark.parametrize(
    ("wrong", "parts"),
    [
        (
            pod(container(limits={"koordinator.sh/gpu-core": 50})),
            ["requests", "koordinator.sh/gpu-core", "must be one of"],
        ),
        (pod(container(limits={RDMA: 150})), ["requests koordinator.sh/rdma: 150", "multiple of 100"]),
        (pod(container(limits={RDMA: "1.5"})), ["limits.koordinator.sh/rdma: '1.5'", "whole number"]),
        (
            pod(container(limits={"koordinator.sh/gpus": 1})),
            ["koordinator.sh/gpus", "is no known GPU resource"],
        ),
        (pod(container(limits={"class.tangram.dev/cpu": 1})), ["class.tangram.dev/cpu", "cannot be a class"]),
        (
            pod(
                container(limits={RDMA: 1}),
                annotations={"scheduling.koordinator.sh/device-joint-allocate": "{"},
            ),
            ["annotation scheduling.koordinator.sh/device-joint-allocate", "is not JSON"],
        ),
        (pod(container(limits={RDMA: 1}), nodeName="n-1"), ["spec.nodeName: 'n-1'", "must be absent"]),
        (pod(container(), annotations={CLAIM: "mine"}), [CLAIM, "is written by Tangram alone"]),
        (pod(container(), annotations={TEMPLATES: "{}"}), [TEMPLATES, "is written by Tangram alone"]),
        (
            pod(container(), annotations={TEMPLATES: '{"c": "t"}'}, schedulingGates=[{"name": GATE}]),
            [TEMPLATES, "is written by Tangram alone"],
        ),
        (
            pod(container(), annotations={AMOUNTS: "{}", CLAIM: "c"}, schedulingGates=[{"name": GATE}]),
            [AMOUNTS, "asks for no device"],
        ),
        (
            pod(
                container(),
                annotations={AMOUNTS: f'{{"{RDMA}": 1}}', CLAIM: "c"},
                schedulingGates=[{"name": GATE}],
                resourceClaims=[{"name": "x", "resourceClaimName": "c"}],
            ),
            [AMOUNTS, "is written by Tangram alone"],
        ),
    ],
)
def test_a_pod_that_nobody_could_serve_is_refused_with_object_field_and_rule(wrong, parts):
    with pytest.raises(InvalidPod) as refusal:
        admission_of(wrong, "team", "u-1")

    assert str(refusal.value).startswith("Pod team/web-0: ") or "Pod web-0" in str(refusal.value)
    assert all(part in str(refusal.value) for part in parts), str(refusal.value)


def test_a_copy_of_a_pod_that_got_its_devices_is_refused():
    running = admitted(pod(container(limits={RDMA: 1})))
    running["spec"]["schedulingGates"] = []

    with pytest.raises(InvalidPod, match="leave out the annotations"):
        admission_of(running, "team", "u-2")


def test_amounts_that_another_webhook_adds_later_are_refused():
    after = admitted(pod(container(limits={RDMA: 1})))
    after["spec"]["containers"].append(container("sidecar", limits={RDMA: 1}))

    with pytest.raises(InvalidPod, match="let Tangram's webhook come last"):
        admission_of(after, "team", "u-2")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    (
                        "name",
                        "resources",
                        "limits",
                        RDMA,
                        "claims",
                        CLAIM,
                        AMOUNTS,
                        "schedulingGates",
                        "resourceClaims",
                        "containers",
                        "annotations",
                        "nodeName",
                    )
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).flatmap(
        lambda spec: st.builds(
            lambda metadata: {"metadata": metadata, "spec": spec},
            st.fixed_dictionaries(
                {"annotations": st.sampled_from((None, {CLAIM: "c"}, {TEMPLATES: "{}"}, 3))}
            ),
        )
    )
)
def test_whatever_a_pod_looks_like_it_is_changed_or_refused_with_a_sentence(found):
    with suppress(InvalidPod):  # any other error is the webhook's
        admission_of(found, "team", "u")
