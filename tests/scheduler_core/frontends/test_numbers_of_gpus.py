"""A pool of several nodes means GPUs by the numbers in their names, whatever the driver counted."""

from __future__ import annotations

from scheduler_core.frontends.multi_node.in_use import why_not_withheld

DRIVER = "tangram.dev"


def slices(*devices):
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    return [{"metadata": {"name": "s"}, "spec": {"driver": DRIVER, "pool": pool, "devices": list(devices)}}]


def gpu(name, minor, key="minor"):
    return {"name": name, "attributes": {key: {"int": minor}, "uuid": {"string": f"GPU-{name}"}}}


def why_not(numbers, *devices):
    return why_not_withheld("node-1", numbers, slices(*devices), [], DRIVER)


def test_after_a_reboot_with_a_dead_gpu_a_pool_waited_for_the_wrong_gpu():
    left = gpu("gpu-4", 3)  # gpu-0 is dead, so the driver calls this one 3

    assert why_not({3}, left) is None
    assert "gpu-4 of GPU 4" in why_not({4}, left)


def test_parts_and_groups_are_named_after_their_gpus_too():
    part = {"name": "gpu-4-mig-1g-5gb-0", "attributes": {"parentMinor": {"int": 3}}}
    group = {"name": "gpus-4-5", "attributes": {"gpuMinors": {"string": "3,4"}}}

    assert "GPU 4" in why_not({4}, part)
    assert "GPU 5" in why_not({3, 5}, group)
    assert why_not({3}, part, group) is None
