"""Through the kubelet's socket: files in which containers find the facts of their devices."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-2"
NAME = {"resource.kubernetes.io/pod-claim-name": "mine"}


@pytest.fixture
def telling(site: Any) -> Any:
    """The site with metadata files switched on."""
    site.options = replace(site.options, has_metadata=True)
    return site


def mounted(site: Any, cdi_id: str) -> tuple[str, list[Any]]:
    """Where a container sees a file, and the devices in it, both from the CDI id that the kubelet got."""
    kind, _, name = cdi_id.partition("=")
    for path in site.options.cdi_dir.iterdir():
        document = json.loads(path.read_text())
        for device in document["devices"] if document["kind"] == kind else ():
            if device["name"] == name:
                (mount,) = device["containerEdits"]["mounts"]
                with open(mount["hostPath"]) as file:
                    found, _ = json.JSONDecoder().raw_decode(file.read())
                return mount["containerPath"], found["requests"][0]["devices"]
    raise AssertionError(f"no document has {cdi_id}")


def test_the_first_device_of_a_request_brings_the_file_of_all_its_devices(
    telling: Any, kubelet_of: Callable[..., Any]
) -> None:
    claim = telling.allocate("u1", HALF, SMALL, request="train/half")
    with telling.start():
        kubelet = kubelet_of(telling)
        (first, own, file), second = kubelet.devices(claim)
        path, devices = mounted(telling, file)
        kubelet.undone(claim)

    folder = "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/claim-u1"
    assert (first, own) == (HALF, f"tangram.dev/claim=u1-{HALF}")
    assert second == (SMALL, f"tangram.dev/claim=u1-{SMALL}")
    assert file == "tangram.dev/metadata=u1_train"
    assert path == f"{folder}/train/tangram.dev-metadata.json"
    assert [device["name"] for device in devices] == [HALF, SMALL]
    assert devices[0]["attributes"]["resource.kubernetes.io/pciBusID"] == {"string": "0000:07:00.0"}
    assert devices[0]["attributes"]["uuid"]["string"].startswith("MIG-")
    assert telling.leftovers() == []


def test_a_claim_from_a_template_is_found_by_the_pods_name_for_it(
    telling: Any, kubelet_of: Callable[..., Any]
) -> None:
    claim = telling.allocate("u1", "gpu-1")
    path = telling.claims_dir / "claim-u1.yaml"
    document = json.loads(path.read_text())
    document["metadata"]["annotations"] = NAME
    path.write_text(json.dumps(document))

    with telling.start():
        ((_, _, file),) = kubelet_of(telling).devices(claim)

    assert "/resourceclaimtemplates/mine/r/" in mounted(telling, file)[0]


def test_a_monitor_reads_that_it_may_only_look(telling: Any, kubelet_of: Callable[..., Any]) -> None:
    with telling.start():
        ((_, _, file),) = kubelet_of(telling).devices(telling.allocate("u1", "gpu-1", admin_access=True))

    (device,) = mounted(telling, file)[1]
    assert device["attributes"]["adminAccess"] == {"bool": True}


def test_files_that_are_lost_are_there_again_after_a_start(
    telling: Any, kubelet_of: Callable[..., Any]
) -> None:
    claim = telling.allocate("u1", HALF)
    with telling.start():
        ((_, _, file),) = kubelet_of(telling).devices(claim)
    before = mounted(telling, file)
    for path in telling.options.metadata_dir.rglob("metadata.json"):
        path.unlink()
    (telling.options.cdi_dir / "tangram.dev_metadata_u1_r.json").unlink()

    with telling.start():
        assert mounted(telling, file) == before
        kubelet_of(telling).undone(claim)

    assert telling.leftovers() == []


def test_files_of_a_claim_without_a_record_are_gone_after_a_start(
    telling: Any, kubelet_of: Callable[..., Any]
) -> None:
    with telling.start():
        kubelet_of(telling).devices(telling.allocate("u1", "gpu-1"))
    (telling.options.claims_dir / "u1.json").unlink()
    (telling.options.cdi_dir / "tangram.dev-claim_u1.json").unlink()

    with telling.start():
        assert telling.leftovers() == []


def test_nothing_is_written_unless_it_is_asked_for(site: Any, kubelet: Any) -> None:
    assert kubelet.devices(site.allocate("u1", HALF)) == [(HALF, f"tangram.dev/claim=u1-{HALF}")]

    assert not site.options.metadata_dir.exists()


def test_files_of_an_earlier_start_go_with_their_claim_where_they_are_no_longer_wanted(
    telling: Any, kubelet_of: Callable[..., Any]
) -> None:
    claim = telling.allocate("u1", HALF)
    with telling.start():
        kubelet_of(telling).devices(claim)
    telling.options = replace(telling.options, has_metadata=False)

    with telling.start():
        kubelet = kubelet_of(telling)
        assert kubelet.devices(claim) == [(HALF, f"tangram.dev/claim=u1-{HALF}")]
        kubelet.undone(claim)

    assert telling.leftovers() == []


def test_a_node_that_has_restarted_keeps_no_file_of_its_earlier_boot(
    telling: Any, kubelet_of: Callable[..., Any]
) -> None:
    with telling.start():
        kubelet_of(telling).devices(telling.allocate("u1", HALF))
    telling.simulated.reboot()

    with telling.start():
        assert telling.leftovers() == []


def test_a_file_that_cannot_be_written_fails_the_claim_and_leaves_nothing(
    telling: Any, kubelet_of: Callable[..., Any]
) -> None:
    with telling.start():
        telling.options.metadata_dir.write_text("in the way")
        error = kubelet_of(telling).prepare(telling.allocate("u1", HALF))["u1"].error
    telling.options.metadata_dir.unlink()

    assert "metadata.json" in error
    assert "the operator checks the disk" in error
    assert telling.leftovers() == []
