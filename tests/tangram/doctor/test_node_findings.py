"""``tangram doctor`` on a node: what is planted is found under its own id, and nothing else is."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from damaged_files import flip, places
from gpu_programs import CLIENT, programs, said

from agent.hardware.simulated import parse_fault
from agent.hardware.types import Bdf, MigSpec, Placement
from agent.inventory.vfs.rules import VfRule, VfRules
from plugin.base.locks import Locks
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.machine.made_vfs import MadeVfs, MadeVfStore
from plugin.machine.mig.made import MadeModes
from scheduler_core.model.claim import ClaimUid
from tangram.doctor.finding import Release
from tangram.doctor.node.facts import Folder, NodeFacts, PluginSocket
from tangram.doctor.node.findings import node_findings

OTHER_NIC = Bdf("0000:19:00.1")
NOBODY: dict[str, list[dict[str, Any]]] = {}


def claim(uid: str, device: str, pod_uid: str = "pod-1") -> dict[str, Any]:
    """A claim of the site as the API server has it, reserved for a pod."""
    result = {"request": "r", "driver": "tangram.dev", "pool": "a100x2", "device": device}
    return {
        "metadata": {"namespace": "default", "name": f"claim-{uid}", "uid": uid},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": "p", "uid": pod_uid}],
        },
    }


POD = {"metadata": {"namespace": "default", "name": "p", "uid": "pod-1"}, "status": {"phase": "Running"}}


def changed_record(site: Any, **changed: Any) -> None:
    """Write the record of u1 anew, ten minutes ago, with other fields."""
    store = RecordStore(site.options.claims_dir)
    (record,) = store.census().records
    store.save(msgspec.structs.replace(record, **changed))
    ago = time.time() - 600
    os.utime(site.record("u1"), (ago, ago))


def test_a_node_with_a_prepared_claim_has_no_finding(site: Any) -> None:
    assert site.found() == []
    assert site.found({"ResourceClaim": [claim("u1", "gpu-0-mig-3g-20gb-4-7")], "Pod": [POD]}) == []


def test_a_record_that_cannot_be_believed_can_be_released(site: Any) -> None:
    data = site.record("u1").read_bytes()
    site.record("u1").write_bytes(flip(data, places(data)[-2]))

    (found,) = site.patient().look()

    assert found.id == "record-quarantined/u1"
    assert found.fix == Release("u1")
    assert "may hold gpu-0-mig-3g-20gb-4-7" in found.problem


@pytest.mark.parametrize("state", [State.STARTED, State.UNDOING])
def test_a_claim_that_is_half_done_for_long_is_found(site: Any, state: State) -> None:
    site.document("u1").unlink()
    changed_record(site, state=state)

    (found,) = site.patient().look()

    assert found.id == "record-half-done/u1"
    assert found.since.endswith("Z")


def test_a_claim_that_was_begun_a_moment_ago_is_no_finding(site: Any) -> None:
    site.document("u1").unlink()
    changed_record(site, state=State.STARTED)
    os.utime(site.record("u1"))

    assert site.found() == []


def test_a_record_of_an_earlier_boot_is_found(site: Any) -> None:
    site.simulated.reboot()

    assert site.found() == ["record-of-earlier-boot/u1"]


def test_a_record_whose_claim_is_gone_is_found_only_where_the_api_server_is_asked(site: Any) -> None:
    assert site.found() == []
    assert site.found(NOBODY) == ["record-without-claim/u1"]


def test_programs_that_keep_a_claim_that_is_over_are_named(idle: Any) -> None:
    with idle.served(), programs() as started:
        idle.prepare("u1", "gpu-1")
        program = started(CLIENT, idle.simulated.directory, 1, "train")
        said(program)

        (found,) = idle.patient(NOBODY).look()

        assert found.id == "claim-held-by-programs/u1"
        assert f"train ({program.pid})" in found.problem


def test_a_running_pod_whose_claim_has_no_record_is_found(site: Any) -> None:
    claims = [claim("u1", "gpu-0-mig-3g-20gb-4-7"), claim("u2", "gpu-1")]

    (found,) = site.patient({"ResourceClaim": claims, "Pod": [POD]}).look()

    assert found.id == "claim-without-record/u2"
    assert found.remedies == ("kubectl --namespace default delete pod p",)


def test_a_pod_that_still_waits_needs_no_record(site: Any) -> None:
    waits = {**POD, "status": {"phase": "Pending"}}
    claims = [claim("u1", "gpu-0-mig-3g-20gb-4-7"), claim("u2", "gpu-1")]

    assert site.found({"ResourceClaim": claims, "Pod": [waits]}) == []


def test_a_document_of_no_claim_is_found(site: Any) -> None:
    site.document("u9").write_bytes(site.document("u1").read_bytes())

    assert site.found() == ["document-of-nobody/u9"]


def test_a_document_that_is_missing_is_found(site: Any) -> None:
    site.document("u1").unlink()

    assert site.found() == ["document-missing/u1"]


def test_a_document_that_was_changed_is_found(site: Any) -> None:
    site.document("u1").write_bytes(site.document("u1").read_bytes() + b"\n")

    assert site.found() == ["document-changed/u1"]


def test_a_mig_instance_of_no_claim_is_found_with_the_command_that_destroys_it(site: Any) -> None:
    gpus, uuid = site.simulated.gpus, site.simulated.node.cards[0].uuid
    profile = next(one for one in gpus.profiles(uuid) if one.name == "1g.5gb")
    gi_id = gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, Placement(0, 1)))

    (found,) = site.patient().look()

    assert found.id == f"foreign-instance/gpu-0-gi-{gi_id}"
    assert found.remedies[0].endswith(f"-gi {gi_id} -dgi")


def test_the_mig_mode_that_the_plugin_left_on_is_found(idle: Any) -> None:
    with idle.served():
        card = idle.simulated.node.cards[1]
        gpu = next(one for one in idle.simulated.gpus.gpus() if one.uuid == card.uuid)
        idle.simulated.gpus.set_mig_mode(card.uuid, True)
        assert idle.found() == []  # somebody else turned it on

        MadeModes(idle.options.mig_modes_dir).add(gpu)
        assert idle.found() == ["mig-mode-left/gpu-1"]


def test_vfs_that_were_made_on_demand_and_left_are_found(site_of: Callable[[str], Any]) -> None:
    site = site_of("a30x4")
    site.with_options(vfs=VfRules({OTHER_NIC: VfRule(3, on_demand=True)}))
    with site.served():
        assert site.found() == []
        boot_id = site.patient().facts().machine.boot_id
        MadeVfStore(site.options.made_vfs_dir).save(OTHER_NIC, MadeVfs(boot_id=boot_id, asked=3, made=3))
        site.simulated.set_vfs(OTHER_NIC, 3)

        assert site.found() == [f"vfs-left/{OTHER_NIC}"]


def test_a_lost_gpu_is_found_once_as_the_driver_does_not_list_it(site: Any) -> None:
    site.simulated.inject(parse_fault("gpu-1:lost"))

    (found,) = site.patient().look()

    assert found.id == "gpu-not-in-driver/gpu-1"


def test_a_device_that_cannot_be_read_is_found(site: Any) -> None:
    site.simulated.inject(parse_fault("gpu-1:profiles:timed-out"))

    assert any(one.startswith(("device-unreadable/", "gpu-not-in-driver/")) for one in site.found())


def test_a_node_without_a_plugin_says_so_once(idle: Any) -> None:
    assert idle.found() == ["plugin-not-running/a100x2"]


def test_a_plugin_that_ended_left_its_folders_and_is_found(idle: Any) -> None:
    with idle.served():
        pass

    assert idle.found() == ["plugin-not-running/a100x2"]


def test_a_plugin_that_no_socket_announces_is_found(site: Any) -> None:
    site.options.registration_socket.unlink()

    assert site.found() == ["plugin-not-registered/a100x2"]


def test_a_socket_whose_process_does_not_answer_as_a_plugin_is_found(idle: Any) -> None:
    with idle.served():
        pass
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(idle.options.dra_socket))
        silent.listen()
        (seen,) = idle.patient().facts().serving.sockets

    assert "does not answer" in seen.problem
    assert not seen.is_registered


def test_a_folder_that_is_missing_is_found(site: Any) -> None:
    site.options.made_vfs_dir.rmdir()

    assert site.found() == [f"folder-unwritable/{site.options.made_vfs_dir}"]


def test_a_lock_that_is_held_is_found_with_its_holder(site: Any) -> None:
    locks = Locks(path=site.options.lock_file, wait_s=1, clock=time.monotonic, sleep=time.sleep)

    with locks.hold("claim-u1", "claim u1", "a test"):
        (found,) = site.patient().look()

    assert found.id == "lock-held/claim-u1"
    assert f"({os.getpid()})" in found.problem
    assert site.found() == []


@pytest.fixture
def facts(site: Any) -> NodeFacts:
    found: NodeFacts = site.patient().facts()
    return found


def ids_of(facts: NodeFacts, **serving: Any) -> list[str]:
    return [one.id for one in node_findings(replace(facts, serving=replace(facts.serving, **serving)))]


def test_a_plugin_that_hangs_is_found(facts: NodeFacts) -> None:
    path = facts.serving.sockets[0].path
    hangs = PluginSocket(path, is_registered=True, problem="dra.sock does not answer: Deadline Exceeded")

    assert ids_of(facts, sockets=(hangs,)) == ["plugin-hangs/dra.sock"]


@pytest.mark.parametrize(("free", "files"), [(0, 5), (1_000_000, None), (10**9, 0)])
def test_a_full_disk_is_found_by_its_bytes_or_its_files(
    facts: NodeFacts, free: int, files: int | None
) -> None:
    path = facts.serving.data_dir

    assert ids_of(facts, folders=(Folder(path, "", free, files),)) == [f"disk-full/{path}"]


def test_a_folder_that_cannot_be_written_is_no_full_disk_too(facts: NodeFacts) -> None:
    path = facts.serving.data_dir

    found = ids_of(facts, folders=(Folder(path, "it cannot be written"),))

    assert found == [f"folder-unwritable/{path}"]


def test_a_claim_whose_files_are_all_lost_is_not_known_here(site: Any) -> None:
    assert ClaimUid("u9") not in site.patient().facts().claims.checksums
