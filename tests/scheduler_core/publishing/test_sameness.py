"""What a server adds is no difference; what it drops is told."""

from __future__ import annotations

import pytest

from scheduler_core.publishing.sameness import dropped, same


def spec(**fields):
    return {"spec": {"driver": "d.example", **fields}}


def device(name="gpu-0", **fields):
    return {"name": name, **fields}


DRAW = {"counterSet": "gpu-0", "counters": {"memory": {"value": "1Gi"}}, "compatibilityGroups": ["a"]}


@pytest.mark.parametrize(
    ("wanted", "stored"),
    [
        ({"value": "1024Mi"}, {"value": "1Gi"}),
        ({"quantity": "0.5"}, {"quantity": "500m"}),
        ({"taints": [{"key": "k"}]}, {"taints": [{"key": "k", "timeAdded": "2026-11-21T13:00:00Z"}]}),
        ({"timeAdded": "2026-11-21T13:00:00.7Z"}, {"timeAdded": "2026-11-21T13:00:00Z"}),
        ({"a": (1, 2)}, {"a": [1, 2]}),
    ],
)
def test_what_servers_rewrite_is_the_same(wanted, stored):
    assert same(wanted, stored)


@pytest.mark.parametrize(
    ("wanted", "stored"),
    [
        ({"value": "1Gi"}, {"value": "2Gi"}),
        ({"string": "1024Mi"}, {"string": "1Gi"}),
        ({"value": "red"}, {"value": "blue"}),
        ({"timeAdded": "2026-11-21T13:00:00Z"}, {"timeAdded": "2026-11-21T13:00:05Z"}),
        ({"timeAdded": "2026-11-21T13:00:00Z"}, {"timeAdded": "soon"}),
        ({"devices": [1, 2]}, {"devices": [2, 1]}),
        ({"devices": [1]}, {"devices": [1, 2]}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"int": 1}, {"bool": 1}),
        ({"a": True}, {"a": 1}),
    ],
)
def test_everything_else_is_a_difference(wanted, stored):
    assert not same(wanted, stored)


@pytest.mark.parametrize(
    ("sent", "stored", "lost"),
    [
        (spec(sharedCounters=[{"name": "gpu-0"}]), spec(), {"sharedCounters"}),
        (
            spec(devices=[device(consumesCounters=[DRAW])]),
            spec(devices=[device()]),
            {"consumesCounters"},
        ),
        (
            spec(devices=[device(consumesCounters=[DRAW])]),
            spec(devices=[device(consumesCounters=[{key: DRAW[key] for key in ("counterSet", "counters")}])]),
            {"consumesCounters.compatibilityGroups"},
        ),
        (spec(devices=[device(taints=[{"key": "k"}])]), spec(devices=[device()]), {"taints"}),
        (
            spec(devices=[device(bindingConditions=["Ready"], bindsToNode=True)]),
            spec(devices=[device()]),
            {"bindingConditions", "bindsToNode"},
        ),
        (
            spec(devices=[device(allowMultipleAllocations=True)]),
            spec(devices=[device()]),
            {"allowMultipleAllocations"},
        ),
        (
            spec(devices=[device(consumesCounters=[DRAW])]),
            spec(devices=[device(consumesCounters=[DRAW])]),
            set(),
        ),
    ],
)
def test_fields_that_were_dropped_are_named(sent, stored, lost):
    assert dropped(sent, stored) == lost


@pytest.mark.parametrize("kind", ["basic", "composite"])
def test_a_field_of_a_composite_device_that_was_not_stored_is_told(kind):
    sent = {
        "spec": {
            "devices": [{"name": "a", kind: {"attributes": {"x": {"int": 1}}, "taints": [{"key": "k"}]}}]
        }
    }
    stored = {"spec": {"devices": [{"name": "a", kind: {"attributes": {"x": {"int": 1}}}}]}}

    assert dropped(sent, stored) == {"taints"}
    assert dropped(sent, sent) == frozenset()
