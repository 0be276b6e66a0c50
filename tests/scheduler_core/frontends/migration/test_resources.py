"""Resources of device plugins: what stands for each, how much is asked for, and who shares it."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.codec.documents import Document
from scheduler_core.frontends.migration.migrate import migrate
from scheduler_core.frontends.migration.resources import amount_of, asked_by, why_not


def container(name: str, gpus: int, **fields: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"limits": {"nvidia.com/gpu": gpus}}, **fields}


def migrated(
    first: list[dict[str, Any]], containers: list[dict[str, Any]]
) -> tuple[dict[str, int], list[list[str]]]:
    """Return the counts of the claim by request, and the requests that each container uses."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"initContainers": first, "containers": containers},
    }
    template, after = (one.content for one in migrate([Document("file:1", pod)], {}, ()).documents)
    requests = template["spec"]["spec"]["devices"]["requests"]
    used = [
        [claim["request"] for claim in one["resources"]["claims"]]
        for one in (*after["spec"]["initContainers"], *after["spec"]["containers"])
    ]
    return {one["name"]: one["exactly"].get("count", 1) for one in requests}, used


@pytest.mark.parametrize(
    ("resource", "profile"),
    [
        ("nvidia.com/mig-1g.5gb", "1g.5gb"),
        ("nvidia.com/mig-1g.10gb.me", "1g.10gb+me"),
        ("nvidia.com/mig-1g.24gb.me.all", "1g.24gb+me.all"),
        ("nvidia.com/mig-1g.24gb.gfx", "1g.24gb+gfx"),
        ("nvidia.com/mig-2g.48gb-me", "2g.48gb-me"),
    ],
)
def test_a_partition_of_the_device_plugin_is_the_profile_of_that_name(resource: str, profile: str) -> None:
    asked = asked_by(resource, {})

    assert asked is not None
    assert asked.class_name == "mig.tangram.dev"
    assert asked.expression == f'device.attributes["tangram.dev"].profile == "{profile}"'


@pytest.mark.parametrize("resource", ["cpu", "ephemeral-storage", "example.com/dongle", "amd.com/gpu"])
def test_what_others_count_is_neither_changed_nor_told(resource: str) -> None:
    assert asked_by(resource, {}) is None
    assert why_not(resource) is None


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        (1, 1),
        ("2", 2),
        ("1k", 1000),
        ("1.0", 1),
        ("500m", None),
        (-1, None),
        (True, None),
        ("{{ .n }}", None),
    ],
)
def test_an_amount_is_a_whole_number_in_any_form_of_a_quantity(value: Any, amount: int | None) -> None:
    assert amount_of(value) == amount


def test_each_container_has_devices_of_its_own() -> None:
    counts, used = migrated([], [container("a", 1), container("b", 2)])

    assert counts == {"gpu": 1, "gpu-2": 2}
    assert used == [["gpu"], ["gpu-2"]]


def test_an_init_container_uses_devices_of_the_containers_after_it() -> None:
    counts, used = migrated(
        [container("first", 2)], [container("a", 1), container("b", 1), container("c", 1)]
    )

    assert counts == {"gpu": 1, "gpu-2": 1, "gpu-3": 1}
    assert used[0] == ["gpu", "gpu-2"]


def test_init_containers_that_ask_for_more_share_one_request_for_the_rest() -> None:
    counts, used = migrated([container("first", 3), container("second", 4)], [container("a", 2)])

    assert sum(counts.values()) == 4
    assert used[0] == ["gpu", "gpu-2"]
    assert used[1] == ["gpu", "gpu-2", "gpu-3"]


def test_a_sidecar_keeps_its_devices_while_the_pod_runs() -> None:
    counts, used = migrated([container("sidecar", 1, restartPolicy="Always")], [container("a", 1)])

    assert counts == {"gpu": 1, "gpu-2": 1}
    assert used == [["gpu"], ["gpu-2"]]
