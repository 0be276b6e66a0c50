"""Which group a pod is in, and what is asked of it."""

import pytest

from controller.gangs.reading import agreed, membership_of, pod_group_of
from controller.gangs.values import Gang, GroupKey, InvalidPodGroup, Source
from scheduler_core.frontends.annotations.errors import InvalidPod

GANG = "gang.scheduling.koordinator.sh/"
TRAINING = GroupKey(Source.KOORDINATOR, "default", "training")


def pod(labels=None, group=None, **annotations):
    """A pod; underscores in names of Koordinator's annotations stand for hyphens."""
    written = {GANG + key.replace("_", "-"): value for key, value in annotations.items()}
    metadata = {"namespace": "default", "name": "worker-0", "annotations": written, "labels": labels or {}}
    return {"metadata": metadata, "spec": {"schedulingGroup": {"podGroupName": group}} if group else {}}


def pod_group(version, **spec):
    return {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": {"namespace": "default", "name": "training"},
        "spec": spec,
    }


def test_a_pod_without_any_of_this_is_in_no_group():
    assert membership_of(pod({"app": "x"})) is None


def test_koordinators_annotations_name_the_group_its_minimum_and_its_time():
    found = membership_of(
        pod(name="training", min_available="3", total_number="5", waiting_time="1h30m", mode="Strict")
    )

    assert found.key == TRAINING
    assert found.gang == Gang(minimum=3, timeout_s=5400.0)


def test_a_group_without_a_time_waits_as_long_as_it_takes():
    assert membership_of(pod(name="training", min_available="2")).gang == Gang(2, None)


def test_a_pod_may_name_its_group_only_and_the_others_say_what_is_asked():
    alone = membership_of(pod(name="training"))

    assert alone.gang is None
    assert agreed(TRAINING, [("a", alone)]) is None
    stated = membership_of(pod(name="training", min_available="2"))
    assert agreed(TRAINING, [("a", alone), ("b", stated)]) == Gang(2)


def test_members_that_say_different_things_are_refused():
    members = [
        (name, membership_of(pod(name="training", min_available=minimum, waiting_time="10s")))
        for name, minimum in (("a", "2"), ("b", "3"))
    ]

    with pytest.raises(InvalidPod) as refused:
        agreed(TRAINING, members)
    assert str(refused.value) == (
        "Pod default/b: asks for at least 3 members, waiting at most 10 s; "
        "pod a of its group default/training asks for at least 2 members, waiting at most 10 s"
    )


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({"min_available": "2"}, "needs the name of the group in gang.scheduling.koordinator.sh/name"),
        ({"name": "", "min_available": "2"}, "must not be empty"),
        ({"name": "x", "min_available": "0"}, "must be a number from 1 to 2147483647"),
        ({"name": "x", "min_available": "two"}, "must be a number from 1"),
        ({"name": "x", "min_available": "-1"}, "must be a number from 1"),
        ({"name": "x", "min_available": "٣"}, "must be a number from 1"),
        ({"name": "x", "min_available": "9" * 5000}, "must be a number from 1"),
        ({"name": "x", "min_available": "3", "total_number": "2"}, "must be a number from 3"),
        ({"name": "x", "min_available": "3", "waiting_time": "100"}, "must be a duration above zero"),
        ({"name": "x", "min_available": "3", "waiting_time": "0s"}, "must be a duration above zero"),
        ({"name": "x", "min_available": "3", "waiting_time": "-5s"}, "must be a duration above zero"),
        ({"name": "x", "mode": "strict"}, "must be Strict or NonStrict"),
        ({"name": "x", "groups": "default/x"}, "must be a JSON list of NAMESPACE/NAME"),
        ({"name": "x", "groups": '["default/x", "default/y"]'}, "may name default/x alone"),
        ({"name": "x", "min_available": 3}, "must be a string"),
    ],
)
def test_annotations_that_mean_nothing_are_refused_with_one_sentence(annotations, words):
    with pytest.raises(InvalidPod) as refused:
        membership_of(pod(**annotations))

    assert words in str(refused.value)
    assert "Pod default/worker-0" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_gang_that_names_itself_as_its_only_group_is_served():
    assert membership_of(pod(name="training", groups='["default/training"]')).key == TRAINING


@pytest.mark.parametrize(
    ("text", "seconds"), [("100s", 100), ("1.5h", 5400), ("1m30s", 90), (".5s", 0.5), ("250ms", 0.25)]
)
def test_times_are_written_as_go_writes_durations(text, seconds):
    found = membership_of(pod(name="training", min_available="1", waiting_time=text))

    assert found.gang.timeout_s == pytest.approx(seconds)


def test_the_label_of_scheduler_plugins_names_a_pod_group():
    found = membership_of(pod({"scheduling.x-k8s.io/pod-group": "training"}))

    assert found.key == GroupKey(Source.SCHEDULER_PLUGINS, "default", "training")
    assert found.gang is None


def test_a_pod_group_of_scheduler_plugins_says_minimum_and_time():
    document = pod_group("scheduling.x-k8s.io/v1alpha1", minMember=4, scheduleTimeoutSeconds=10)

    key = GroupKey(Source.SCHEDULER_PLUGINS, "default", "training")
    assert pod_group_of(document) == (key, Gang(4, 10.0))


def test_the_scheduling_group_of_a_pod_names_a_pod_group_of_kubernetes():
    found = membership_of(pod(group="training"))

    assert found.key == GroupKey(Source.KUBERNETES, "default", "training")


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1"])
def test_a_pod_group_of_kubernetes_says_the_minimum(version):
    document = pod_group(f"scheduling.k8s.io/{version}", schedulingPolicy={"gang": {"minCount": 4}})

    assert pod_group_of(document) == (GroupKey(Source.KUBERNETES, "default", "training"), Gang(4))


def test_pods_of_a_basic_pod_group_are_served_one_by_one():
    document = pod_group("scheduling.k8s.io/v1beta1", schedulingPolicy={"basic": {}})

    assert pod_group_of(document)[1] is None


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (pod_group("scheduling.x-k8s.io/v1alpha1", minMember=0), "minMember"),
        (pod_group("scheduling.x-k8s.io/v1alpha1", scheduleTimeoutSeconds=0), "scheduleTimeoutSeconds"),
        (pod_group("scheduling.k8s.io/v1beta1", schedulingPolicy={}), "must have one of basic and gang"),
        (
            pod_group("scheduling.k8s.io/v1beta1", schedulingPolicy={"gang": {"minCount": 0}}),
            "schedulingPolicy.gang.minCount",
        ),
        (
            pod_group(
                "scheduling.k8s.io/v1beta1",
                schedulingPolicy={"gang": {"minCount": 2}},
                schedulingConstraints={"topology": [{"key": "rack"}]},
            ),
            "schedulingConstraints",
        ),
        (pod_group("scheduling.volcano.sh/v1beta1", minMember=2), "apiVersion"),
    ],
)
def test_pod_groups_that_mean_nothing_or_ask_for_more_are_refused(document, words):
    with pytest.raises(InvalidPodGroup) as refused:
        pod_group_of(document)

    assert words in str(refused.value)
    assert "PodGroup default/training" in str(refused.value)


def test_a_pod_in_two_groups_is_refused():
    with pytest.raises(InvalidPod, match=r"is in one group at most; it names training .* and other"):
        membership_of(pod({"scheduling.x-k8s.io/pod-group": "other"}, name="training"))
