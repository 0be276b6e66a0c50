"""The kubelet's contract, over real unix sockets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import pytest

from plugin._pb.dra_v1 import api_pb2 as v1
from plugin._pb.pluginregistration_v1 import api_pb2 as registration

SMALL = "gpu-0-mig-1g-5gb-2"
HALF = "gpu-0-mig-3g-20gb-4-7"
VERSIONS = pytest.mark.parametrize("version", ["v1", "v1beta1"])


def test_the_registration_socket_tells_who_serves_where(site: Any, kubelet: Any) -> None:
    info = kubelet.info()

    assert (info.type, info.name) == ("DRAPlugin", "tangram.dev")
    assert list(info.supported_versions) == [
        "v1.DRAPlugin",
        "v1beta1.DRAPlugin",
        "v1.DRAResourceHealth",
        "v1alpha1.DRAResourceHealth",
    ]
    assert Path(info.endpoint).is_socket()
    assert Path(info.endpoint).is_absolute()
    assert site.options.registration_socket.name == "tangram.dev-reg.sock"


def test_an_accepted_registration_is_taken_note_of_and_a_refused_one_is_an_error(kubelet: Any) -> None:
    stub = kubelet.registration()

    stub.NotifyRegistrationStatus(registration.RegistrationStatus(plugin_registered=True))
    with pytest.raises(grpc.RpcError, match="no version fits"):
        stub.NotifyRegistrationStatus(
            registration.RegistrationStatus(plugin_registered=False, error="no version fits")
        )

    assert kubelet.info().name == "tangram.dev", "the plugin goes on: the kubelet asks again"


@VERSIONS
def test_a_claim_is_prepared_and_unprepared_in_both_versions(site: Any, kubelet: Any, version: str) -> None:
    claim = site.allocate("u1", HALF, request="train/half")

    entry = kubelet.prepare(claim, version=version)["u1"]
    document = json.loads((site.options.cdi_dir / "tangram.dev-claim_u1.json").read_text())
    undone = kubelet.unprepare(claim, version=version)["u1"]

    (device,) = entry.devices
    assert entry.error == ""
    assert (device.pool_name, device.device_name, list(device.request_names)) == ("a100x2", HALF, ["train"])
    assert list(device.cdi_device_ids) == [f"{document['kind']}={document['devices'][0]['name']}"]
    assert undone.error == ""
    assert site.leftovers() == []


@VERSIONS
def test_one_failing_claim_of_a_call_leaves_the_other_alone(site: Any, kubelet: Any, version: str) -> None:
    good, bad = site.allocate("good", HALF), site.allocate("bad", "gpu-9")

    entries = kubelet.prepare(bad, good, version=version)

    assert set(entries) == {"good", "bad"}
    assert entries["good"].error == ""
    assert len(entries["good"].devices) == 1
    assert "claim default/claim-bad: " in entries["bad"].error
    assert "gpu-9" in entries["bad"].error
    assert list(entries["bad"].devices) == []


def test_prepare_may_repeat_and_gives_the_same_devices(site: Any, kubelet: Any) -> None:
    claim = site.allocate("u1", SMALL, HALF)

    assert kubelet.devices(claim) == kubelet.devices(claim)
    assert [name for name, _ in kubelet.devices(claim)] == [SMALL, HALF]


def test_unprepare_may_repeat_and_may_come_for_claims_that_nobody_knows(site: Any, kubelet: Any) -> None:
    claim = site.allocate("u1", HALF)
    kubelet.devices(claim)

    for _ in range(2):
        kubelet.undone(claim)
    kubelet.undone(v1.Claim(namespace="default", name="never", uid="never-seen"))

    assert site.leftovers() == []


def test_unprepare_needs_no_claim_object(site: Any, kubelet: Any) -> None:
    claim = site.allocate("u1", HALF)
    kubelet.devices(claim)
    (site.claims_dir / "claim-u1.yaml").unlink()

    kubelet.undone(claim)

    assert site.leftovers() == []


def test_an_overlap_is_refused_naming_the_holder(site: Any, kubelet: Any) -> None:
    kubelet.devices(site.allocate("u1", HALF))

    error = kubelet.prepare(site.allocate("u2", HALF))["u2"].error

    assert "default/claim-u2" in error
    assert f"{HALF} is held by claim default/claim-u1" in error


def test_a_whole_gpu_and_its_partitions_exclude_each_other_both_ways(site: Any, kubelet: Any) -> None:
    whole, part = site.allocate("whole", "gpu-0"), site.allocate("part", HALF)

    kubelet.devices(whole)
    refused_part = kubelet.prepare(part)["part"].error
    kubelet.undone(whole)
    kubelet.devices(part)
    refused_whole = kubelet.prepare(whole)["whole"].error
    kubelet.undone(part)

    assert "default/claim-whole" in refused_part
    assert "default/claim-part" in refused_whole
    assert kubelet.devices(whole)


def test_an_error_names_the_claim_once(site: Any, kubelet: Any) -> None:
    site.write_claim(v1.Claim(namespace="default", name="claim-odd", uid="odd"), {"allocation": 7})
    kubelet.devices(site.allocate("holder", HALF))
    claims = {
        "held": site.allocate("held", HALF),
        "unknown": site.allocate("unknown", "gpu-9"),
        "own": site.allocate("own", "gpu-1", "gpu-1-mig-1g-5gb-2"),
        "twice": site.allocate("twice", "gpu-1", "gpu-1"),
        "idle": site.allocate("idle", "gpu-1", name="other"),
        "gone": v1.Claim(namespace="default", name="claim-gone", uid="gone"),
        "odd": v1.Claim(namespace="default", name="claim-odd", uid="odd"),
    }
    site.write_claim(claims["idle"], {})

    entries = kubelet.prepare(*claims.values())

    counts = {uid: entries[uid].error.count(f"default/{claim.name}") for uid, claim in claims.items()}
    assert counts == dict.fromkeys(claims, 1), entries


@pytest.mark.parametrize(
    ("status", "reason"),
    [({}, "not allocated"), ({"allocation": {"devices": {"results": 7}}}, "must be a list")],
)
def test_a_claim_that_is_not_properly_allocated_is_refused(
    site: Any, kubelet: Any, status: dict[str, Any], reason: str
) -> None:
    claim = v1.Claim(namespace="default", name="claim-u1", uid="u1")
    site.write_claim(claim, status)

    assert reason in kubelet.prepare(claim)["u1"].error


def test_a_claim_that_was_replaced_by_one_of_the_same_name_is_refused(site: Any, kubelet: Any) -> None:
    site.allocate("new", HALF, name="claim")

    error = kubelet.prepare(v1.Claim(namespace="default", name="claim", uid="old"))["old"].error

    assert "replaced" in error
    assert "old" in error
    assert "new" in error


def test_a_claim_that_does_not_exist_is_refused(kubelet: Any) -> None:
    error = kubelet.prepare(v1.Claim(namespace="default", name="gone", uid="u1"))["u1"].error

    assert "claim default/gone" in error
    assert "no file" in error


@pytest.mark.parametrize("uid", ["../../evil", "", "a/b"])
def test_a_uid_that_is_no_uid_gets_an_error_and_touches_no_file(site: Any, kubelet: Any, uid: str) -> None:
    claim = v1.Claim(namespace="default", name="claim", uid=uid)

    assert "UID" in kubelet.prepare(claim)[uid].error
    assert "UID" in kubelet.unprepare(claim)[uid].error
    assert site.leftovers() == []


def test_a_cdi_folder_that_becomes_unwritable_leaves_nothing_half_done_and_is_retried(
    site: Any, kubelet: Any
) -> None:
    claim = site.allocate("u1", HALF)
    site.options.cdi_dir.rmdir()
    site.options.cdi_dir.write_text("no folder any more")

    error = kubelet.prepare(claim)["u1"].error
    instances = site.simulated.gpus.gpu_instances(site.simulated.node.cards[0].uuid)
    site.options.cdi_dir.unlink()

    assert f"cannot write {site.options.cdi_dir}/tangram.dev-claim_u1.json" in error
    assert "the operator checks the disk and its permissions" in error
    assert instances == ()
    assert kubelet.devices(claim)


def test_an_empty_call_is_answered(kubelet: Any) -> None:
    assert kubelet.prepare() == {}
    assert kubelet.unprepare() == {}


def test_a_claim_of_other_drivers_only_is_prepared_with_nothing(site: Any, kubelet: Any) -> None:
    claim = v1.Claim(namespace="default", name="claim", uid="u1")
    foreign = {"request": "r", "driver": "other.example.com", "pool": "a100x2", "device": "gpu-0"}
    site.write_claim(claim, {"allocation": {"devices": {"results": [foreign]}}})

    assert kubelet.devices(claim) == []
    assert site.leftovers() == []
