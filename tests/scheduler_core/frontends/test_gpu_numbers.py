"""Names of devices say which GPUs they are."""

from __future__ import annotations

import pytest

from scheduler_core.frontends.partitions.gpu_numbers import numbers_in


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("gpu-0", (0,)),
        ("gpu-12-mig-1g-5gb-0", (12,)),
        ("gpu-3-shared", (3,)),
        ("gpus-0-11", (0, 11)),
        ("gpu-", ()),
        ("gpu-x", ()),
        ("nic-0000-3b-00-0", ()),
        ("imex-channel-0", ()),
    ],
)
def test_a_name_begins_with_the_numbers_of_its_gpus(name, numbers):
    assert numbers_in(name) == numbers
