"""What a pod was given, as annotations, and back."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.classes.annotation import PREFIX, annotations_of, uses_in
from scheduler_core.frontends.classes.model import Use

LABELS = re.compile(
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
)  # Kubernetes' rule for names of annotations

names = st.from_regex(
    r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?){0,3}", fullmatch=True
)
uses = st.lists(
    st.builds(Use, names, names, st.integers(1, 10**18)),
    max_size=4,
    unique_by=lambda use: (use.class_name, use.device),
)


@settings(deadline=None)
@given(uses)
def test_annotations_lead_back_to_the_uses_whatever_the_lengths_of_names(given_uses):
    annotations = annotations_of(tuple(given_uses))

    found = uses_in("Pod p", {**annotations, "other": "x"})

    assert sorted(found, key=str) == sorted(given_uses, key=str)


@settings(deadline=None)
@given(uses)
def test_api_servers_take_the_names_of_annotations(given_uses):
    for key in annotations_of(tuple(given_uses)):
        name = key.removeprefix("scheduler.alpha.kubernetes.io/")
        assert len(name) <= 63
        assert LABELS.fullmatch(name)


def test_the_usual_form_is_the_proposal_s():
    key = "scheduler.alpha.kubernetes.io/resClass_test-res-class_nvidia-tesla-gpu"

    assert annotations_of((Use("test-res-class", "nvidia-tesla-gpu", 4),)) == {key: "4"}


def test_names_too_long_together_are_shortened_and_the_value_says_them():
    use = Use("a-class-with-quite-a-long-name.example.com", "gpu-0-of-a-long-name", 2)

    ((key, value),) = annotations_of((use,)).items()

    assert value == "2 a-class-with-quite-a-long-name.example.com gpu-0-of-a-long-name"
    assert key.startswith(f"{PREFIX}a-class-with-quite-a-long-name.")
    assert "_" not in key.removeprefix(PREFIX)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("c_gpu-0", "0", "quantity: '0': must be a whole number, at least 1"),
        ("c_gpu-0", "1.5", "quantity: '1.5': must be a whole number, at least 1"),
        ("c_gpu-0", 1, "1: must be a string"),
        ("c", "1", "'1': must be resClass_<class>_<device>=<quantity>, or"),
        ("c_GPU", "1", "'c GPU': must be resClass_<class>_<device>=<quantity>, or"),
        ("c.0123456789abcdef", "1 c gpu-0", "does not belong to this name"),
    ],
)
def test_an_annotation_that_says_no_use_is_refused_by_its_name(name, value, message):
    with pytest.raises(InvalidPod) as refused:
        uses_in("Pod p", {PREFIX + name: value})

    assert str(refused.value).startswith(f"Pod p: annotation {PREFIX}{name}")
    assert message in str(refused.value)
