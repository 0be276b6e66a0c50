"""Errors are counted by class, and by NVML's return code where that was the cause."""

from __future__ import annotations

import pytest

from agent.hardware.errors import GpuLost
from agent.hardware.nvml.calls import refusal
from plugin.base.errors import ClaimUnusable, HardwareFailed, PluginError
from plugin.base.metrics import error_labels
from plugin.claim.attribution import attributed
from scheduler_core.model.claim import ClaimRef, ClaimUid


def test_an_error_of_the_driver_is_counted_by_its_class_and_nvmls_code() -> None:
    with pytest.raises(HardwareFailed) as caught, attributed("prepare", ClaimRef("n", "c"), ClaimUid("u")):
        raise refusal("read", "GPU 1", 15)

    assert error_labels(caught.value) == ("GpuLost", "GPU_IS_LOST")


def test_an_error_without_a_code_has_its_class_only() -> None:
    lost = PluginError("prepare", "claim n/c", "no reason")
    lost.__cause__ = GpuLost("read", "GPU 1", "it fell off the bus")

    assert error_labels(lost) == ("GpuLost", "")
    assert error_labels(ClaimUnusable("prepare", "claim n/c", "it is not allocated")) == ("ClaimUnusable", "")
