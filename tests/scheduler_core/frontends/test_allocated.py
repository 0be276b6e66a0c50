"""The annotation of what a pod has got, read back strictly."""

import json

import pytest

from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.pods.allocated import held_by
from scheduler_core.frontends.pods.reported import ReportedDevice, pool_of

TOTAL = {"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory-ratio": 100}
POOL = pool_of("node-1", [ReportedDevice(kind="gpu", minor=number, total=TOTAL) for number in (0, 1)])


def running(*entries):
    annotations = {"scheduling.koordinator.sh/device-allocated": json.dumps({"gpu": entries})}
    metadata = {"name": "p", "namespace": "d", "annotations": annotations}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "node-1"}}


def test_a_running_pod_holds_each_of_its_devices_once():
    held = held_by(running({"minor": 0}, {"minor": 1}), [POOL])

    assert [one.device.device for one in held.results] == ["gpu-0", "gpu-1"]


@pytest.mark.parametrize(
    ("entries", "parts"),
    [
        ([{"minor": 1}, {"minor": 1}], ["device-allocated", "gpu[1].minor: 1", "twice"]),
        ([{"minor": 1, "id": "mlx"}, {"minor": 1, "id": "mlx"}], ["gpu[1].minor: 1", "twice"]),
        (
            [{"minor": 0, "id": "koordinator.sh/node-1/gpu-0"}, {"minor": 0}],
            ["gpu[1].minor: 0", "twice"],
        ),
        (
            [{"minor": 0}, {"minor": 1, "id": "koordinator.sh/node-1/gpu-0"}],
            ["gpu[1].id: 'koordinator.sh/node-1/gpu-0'", "twice"],
        ),
    ],
)
def test_a_device_that_stands_twice_in_what_a_pod_got_is_refused_with_its_place(entries, parts):
    with pytest.raises(InvalidPod) as refusal:
        held_by(running(*entries), [POOL])

    assert all(part in str(refusal.value) for part in parts)
