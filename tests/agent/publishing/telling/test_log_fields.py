"""Lines of the agent's log name the devices that they are about in the field ``device``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent.health.causes import Cause, Severity
from agent.health.findings import Finding
from agent.inventory.model import NodeDevices
from agent.inventory.withheld import Cause as Why
from agent.inventory.withheld import Reason, Withheld
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.telling.health import HealthTold
from agent.publishing.telling.withholding import Withholding
from daemon.log_fields import fields_of
from scheduler_core.model.device import DeviceName
from scheduler_core.model.pool import Pool, PoolId

LOST = Finding(Cause.GPU_LOST, Severity.EVICT, 0.0, (79,))
NO_RDMA = Reason(Why.NO_RDMA, "it has no RDMA device", "the operator loads the module")
GPU, PART = DeviceName("gpu-0"), DeviceName("gpu-0-mig-1g-5gb-0")


class Nobody:
    def warn(self, reason: str, text: str) -> None: ...

    def note(self, reason: str, text: str) -> None: ...


def found(*withheld: Withheld, by_name: Mapping[DeviceName, Any] | None = None) -> Found:
    pool = Pool(id=PoolId("d.example", "node-1"))
    return Found(NodeDevices(shared=(), groups=(), by_name=by_name or {}, pool=pool, withheld=withheld))


def test_what_is_wrong_and_what_is_over_name_the_devices(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    told, well = HealthTold(Metrics(), Nobody()), found(by_name={GPU: None, PART: None})

    told.judged(replace(well, health={GPU: (LOST,), PART: (LOST,)}))
    told.judged(well)

    assert [(one.levelname, fields_of(one)) for one in caplog.records] == [
        ("WARNING", {"device": f"{GPU},{PART}"}),
        ("INFO", {"device": f"{GPU},{PART}"}),
    ]


def test_what_is_withheld_and_what_no_longer_is_name_the_devices(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    told = Withholding(Metrics(), Nobody())

    told.discovered(
        found(Withheld(DeviceName("vf-0"), "vf", NO_RDMA), Withheld(DeviceName("vf-1"), "vf", NO_RDMA))
    )
    told.discovered(found())

    assert [fields_of(one) for one in caplog.records] == [{"device": "vf-0,vf-1"}] * 2
