"""Prepared devices tell their pods, so that what others measure of GPUs can be joined to pods."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plugin.base.metrics import Metrics
from plugin.claim.figures.figures import Figures
from scheduler_core.model.claim import ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"


def claim(uid: str, *pods: str, **more: Any) -> dict[str, Any]:
    reserved = [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"} for pod in pods]
    return {"metadata": {"uid": uid}, "status": {"reservedFor": reserved}, **more}


def infos(bench: Any) -> list[dict[str, str]]:
    bench.driver.figures.refresh()
    lines = bench.driver.metrics.text().splitlines()
    shown = [line for line in lines if line.startswith("tangram_device_info{")]
    return [dict(re.findall(r'(\w+)="([^"]*)"', line)) for line in shown]


def prepare(bench: Any, uid: str, device: str, *pods: str) -> None:
    bench.prepare(uid, device)
    bench.driver.figures.pods.note(ClaimUid(uid), claim(uid, *pods))


def test_a_mig_device_is_told_as_dcgm_names_it_by_its_gpu_and_its_gpu_instance(bench: Any) -> None:
    prepare(bench, "u1", HALF, "trainer")

    (found,) = infos(bench)

    (instance,) = bench.instances()
    assert found == {
        "type": "mig",
        "uuid": str(bench.records()[0].devices[0].mig_uuid),
        "gpu_uuid": str(bench.uuid(0)),
        "gpu_instance": str(instance.gi_id),
        "profile": "3g.20gb",
        "pci_address": "",
        "device": HALF,
        "pod": "trainer",
        "namespace": "default",
        "claim": "claim-u1",
        "request": "r",
    }


def test_a_whole_gpu_is_told_by_its_uuid_and_no_gpu_instance(bench: Any) -> None:
    prepare(bench, "u1", "gpu-1", "trainer")

    (found,) = infos(bench)

    assert (found["uuid"], found["gpu_uuid"]) == (str(bench.uuid(1)), str(bench.uuid(1)))
    assert (found["gpu_instance"], found["profile"]) == ("", "")


def test_each_pod_that_shares_a_claim_has_a_series(bench: Any) -> None:
    prepare(bench, "u1", "gpu-1", "one", "two")

    assert [found["pod"] for found in infos(bench)] == ["one", "two"]


def test_a_device_whose_pod_is_not_known_is_told_without_it(bench: Any) -> None:
    bench.prepare("u1", "gpu-1")

    assert [found["pod"] for found in infos(bench)] == [""]


def test_only_prepared_devices_are_told(bench: Any) -> None:
    prepare(bench, "u1", HALF, "trainer")
    bench.unprepare("u1")

    assert infos(bench) == []


def test_a_device_of_an_earlier_boot_is_not_told(bench: Any) -> None:
    prepare(bench, "u1", HALF, "trainer")
    bench.simulated.reboot()

    assert infos(bench) == []


def test_after_each_change_the_series_are_those_of_a_plugin_that_measures_for_the_first_time(
    bench: Any,
) -> None:
    def told_anew() -> list[dict[str, str]]:
        first = Figures(bench.driver.figures._steps, metrics := Metrics())
        first.pods = bench.driver.figures.pods
        first.refresh()
        lines = [line for line in metrics.text().splitlines() if line.startswith("tangram_device_info{")]
        return [dict(re.findall(r'(\w+)="([^"]*)"', line)) for line in lines]

    changes = (
        lambda: prepare(bench, "u1", HALF, "trainer"),
        lambda: prepare(bench, "u2", "gpu-1", "one"),
        lambda: bench.driver.figures.pods.note(ClaimUid("u2"), claim("u2", "one", "two")),
        lambda: bench.driver.figures.pods.note(ClaimUid("u1"), claim("u1")),
        lambda: bench.unprepare("u1"),
        lambda: prepare(bench, "u1", HALF, "again"),
        bench.simulated.reboot,
    )
    for change in changes:
        change()
        shown = infos(bench)
        assert sorted(shown, key=str) == sorted(told_anew(), key=str)


def test_a_profile_that_is_not_known_yet_is_told_once_the_node_was_read(bench: Any) -> None:
    prepare(bench, "u1", HALF, "trainer")
    node = bench.driver.figures._steps.node
    node._snapshot = None
    before = [found["profile"] for found in infos(bench)]

    node.read_again()

    assert (before, [found["profile"] for found in infos(bench)]) == ([""], ["3g.20gb"])


@pytest.mark.parametrize(
    "reserved",
    [
        None,
        "pod-1",
        ["pod-1", {"resource": "pods"}, {"apiGroup": "x.example", "resource": "pods", "name": "p"}],
        [{"apiGroup": "batch", "resource": "jobs", "name": "j"}],
    ],
)
def test_who_has_a_claim_and_is_no_pod_is_left_out(bench: Any, reserved: object) -> None:
    bench.prepare("u1", "gpu-1")
    odd = {"metadata": {"uid": "u1"}, "status": {"reservedFor": reserved}}
    bench.driver.figures.pods.note(ClaimUid("u1"), odd)

    assert [found["pod"] for found in infos(bench)] == [""]


def test_claims_and_mig_instances_are_counted_when_somebody_asks(bench: Any) -> None:
    prepare(bench, "u1", HALF, "trainer")
    prepare(bench, "u2", "gpu-1", "trainer")
    infos(bench)

    text = bench.driver.metrics.text()
    assert 'tangram_plugin_claims{state="completed"} 2.0\n' in text
    assert 'tangram_plugin_mig_instances{profile="3g.20gb"} 1.0\n' in text


def test_records_that_cannot_be_read_leave_the_last_figures(bench: Any, monkeypatch: Any) -> None:
    from plugin.base.errors import StorageFailed  # noqa: PLC0415

    prepare(bench, "u1", "gpu-1", "trainer")
    before = infos(bench)

    def fails(_: object) -> None:
        raise StorageFailed("list", "records", "Input/output error")

    monkeypatch.setattr("plugin.claim.record_store.RecordStore.census", fails)
    assert infos(bench) == before


def test_steps_mode_changes_and_repairs_of_a_claim_are_counted(bench: Any) -> None:
    bench.prepare("u1", HALF)
    bench.prepare("u1", HALF)
    bench.unprepare("u1")

    text = bench.driver.metrics.text()
    for method, step in (
        ("prepare", "plan"),
        ("prepare", "lock"),
        ("prepare", "set_up"),
        ("prepare", "confirm"),
        ("unprepare", "lock"),
        ("unprepare", "undo"),
    ):
        assert f'tangram_plugin_step_seconds_count{{method="{method}",step="{step}"}}' in text
    assert 'tangram_plugin_mig_mode_changes_total{result="active",wish="on"} 1.0' in text
    assert 'tangram_plugin_mig_mode_changes_total{result="active",wish="off"} 1.0' in text
