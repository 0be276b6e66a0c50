"""Every error of a claim says which claim it was for."""

from __future__ import annotations

import pytest

from agent.hardware.errors import GpuLost, InUse
from plugin.base.errors import DeviceHeld, HardwareFailed, PluginError
from plugin.claim.attribution import attributed
from scheduler_core.model.claim import ClaimRef, ClaimUid

UID, REF = ClaimUid("u1"), ClaimRef("default", "train")


def test_an_error_of_the_plugin_keeps_its_class_and_gets_the_claim() -> None:
    with pytest.raises(DeviceHeld) as refusal, attributed("prepare", REF, UID):
        raise DeviceHeld("prepare", "device gpu-0", "claim default/other holds it")

    assert refusal.value.claim_uid == UID


@pytest.mark.parametrize("kind", [InUse, GpuLost])
def test_an_error_of_the_hardware_becomes_one_of_the_claim_and_keeps_whether_it_may_be_retried(
    kind: type[InUse] | type[GpuLost],
) -> None:
    cause = kind("destroy", "GI 1", "a process uses it")

    text = r"cannot unprepare claim default/train: .*a process uses it"
    with pytest.raises(HardwareFailed, match=text) as refusal, attributed("unprepare", REF, UID):
        raise cause

    assert refusal.value.__cause__ is cause
    assert (refusal.value.claim_uid, refusal.value.retry) == (UID, cause.retry)


def test_what_is_no_error_of_ours_passes_unchanged() -> None:
    with pytest.raises(KeyError), attributed("prepare", REF, UID):
        raise KeyError("mistake")
    with attributed("prepare", REF, UID):
        pass
    assert PluginError.claim_uid is None
