"""What containers read of the devices of a request, as Kubernetes 1.37 writes it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from unreadable_files import UNREADABLE

from plugin.base.errors import ClaimUnusable, StorageFailed
from plugin.cdi.metadata import DeviceFacts, RequestFacts, RequestFile, device_id, encode, mount_document
from plugin.cdi.metadata_folder import MetadataFolder
from scheduler_core.model.claim import ClaimRef, ClaimUid

DRIVER, REF, UID = "tangram.dev", ClaimRef("team", "train"), ClaimUid("0b7a0f6e")
ADDRESS = {"resource.kubernetes.io/pciBusID": {"string": "0000:07:00.0"}}
CONTAINER_FOLDER = "/var/run/kubernetes.io/dra-device-attributes"
LONG = ClaimRef("n" * 63, "c" * 253)


def file(request: str = "gpu", pod_claim_name: str | None = None, **attributes: Any) -> RequestFile:
    device = DeviceFacts(driver=DRIVER, pool="n", name="gpu-0", attributes=attributes)
    return RequestFile(
        request=request,
        facts=RequestFacts(name=f"{request}/big", devices=(device,)),
        pod_claim_name=pod_claim_name,
    )


def objects(data: bytes) -> list[Any]:
    decoder, text, found = json.JSONDecoder(), data.decode(), []
    while text.strip():
        one, end = decoder.raw_decode(text.lstrip())
        found.append(one)
        text = text.lstrip()[end:]
    return found


@pytest.fixture
def folder(tmp_path: Path) -> MetadataFolder:
    return MetadataFolder(tmp_path / "metadata", tmp_path / "cdi", DRIVER, is_wanted=True)


def claims(folder: MetadataFolder, told: list[str] | None = None) -> frozenset[ClaimUid]:
    """Return the claims that have files; what is told must be expected."""
    found: list[str] = []
    known = folder.claims(lambda _, text: found.append(text))
    assert told is not None or not found
    if told is not None:
        told.extend(found)
    return known


def everything(folder: MetadataFolder) -> list[str]:
    places = (folder.folder, folder.cdi_folder)
    return [path.name for place in places for path in sorted(place.rglob("*")) if path.is_file()]


def test_the_same_is_said_in_every_version_of_kubernetes_1_37_the_newest_first() -> None:
    newest, older = objects(encode(REF, UID, file(**ADDRESS), 1))

    assert newest == {
        "kind": "DeviceMetadata",
        "apiVersion": "metadata.resource.k8s.io/v1beta1",
        "metadata": {"name": "train", "namespace": "team", "uid": UID, "generation": 1},
        "requests": [
            {
                "name": "gpu/big",
                "devices": [{"driver": DRIVER, "pool": "n", "name": "gpu-0", "attributes": ADDRESS}],
            }
        ],
    }
    assert older == newest | {"apiVersion": "metadata.resource.k8s.io/v1alpha1"}


@pytest.mark.parametrize(
    ("pod_claim_name", "folder"),
    [(None, "resourceclaims/train"), ("mine", "resourceclaimtemplates/mine")],
)
def test_a_file_is_found_by_the_name_that_the_pod_has_for_the_claim(
    pod_claim_name: str | None, folder: str
) -> None:
    found = file(pod_claim_name=pod_claim_name)

    document = json.loads(mount_document(DRIVER, REF, UID, found, "/host/metadata.json"))

    ((device,), ((said, _),)) = document["devices"], (objects(encode(REF, UID, found, 1)),)
    assert said.get("podClaimName") == pod_claim_name
    assert (document["cdiVersion"], document["kind"]) == ("0.5.0", "tangram.dev/metadata")
    assert f"{document['kind']}={device['name']}" == device_id(DRIVER, UID, "gpu")
    assert device["containerEdits"]["mounts"] == [
        {
            "hostPath": "/host/metadata.json",
            "containerPath": f"{CONTAINER_FOLDER}/{folder}/gpu/tangram.dev-metadata.json",
            "options": ["ro", "bind"],
        }
    ]


def test_files_lie_where_kubernetes_own_library_puts_them(folder: MetadataFolder) -> None:
    folder.ensure(REF, UID, [file()])

    path = folder.folder / "team_train" / "gpu" / "metadata.json"
    document = json.loads((folder.cdi_folder / f"tangram.dev_metadata_{UID}_gpu.json").read_text())
    assert path.stat().st_mode & 0o777 == 0o644
    assert document["devices"][0]["containerEdits"]["mounts"][0]["hostPath"] == str(path)
    assert claims(folder) == {UID}


def test_what_is_said_already_is_not_written_again_and_a_change_has_the_next_generation(
    folder: MetadataFolder,
) -> None:
    folder.ensure(REF, UID, [file()])
    path = folder.path(REF, "gpu")
    before = path.stat().st_ino, folder.document(UID, "gpu").stat().st_ino
    folder.ensure(REF, UID, [file()])
    after = path.stat().st_ino, folder.document(UID, "gpu").stat().st_ino
    folder.ensure(REF, UID, [file(**ADDRESS)])

    assert before == after
    assert [one["metadata"]["generation"] for one in objects(path.read_bytes())] == [2, 2]


@pytest.mark.parametrize("spoilt", [b"", b"{", b"\xff\n}\n", b'{"metadata": 1}'])
def test_a_file_that_cannot_be_read_is_written_anew(folder: MetadataFolder, spoilt: bytes) -> None:
    folder.ensure(REF, UID, [file()])
    whole = folder.path(REF, "gpu").read_bytes()
    folder.path(REF, "gpu").write_bytes(spoilt)

    folder.ensure(REF, UID, [file()])

    assert folder.path(REF, "gpu").read_bytes() == whole


@pytest.mark.parametrize("harm", sorted(UNREADABLE))
def test_a_file_that_gives_an_error_has_no_known_owner_and_is_told_and_the_others_go_on(
    folder: MetadataFolder, harm: str
) -> None:
    folder.ensure(REF, UID, [file()])
    folder.ensure(ClaimRef("team", "other"), ClaimUid("u2"), [file()])
    folder.document(UID, "gpu").unlink()
    UNREADABLE[harm](folder.path(REF, "gpu"))

    told: list[str] = []
    assert claims(folder, told) == {"u2"}

    assert len(told) == 1
    assert f"for which claim {folder.path(REF, 'gpu')} was written is unknown: cannot read" in told[0]


@pytest.mark.parametrize("harm", sorted(UNREADABLE))
def test_a_file_or_document_that_gives_an_error_is_written_anew(folder: MetadataFolder, harm: str) -> None:
    folder.ensure(REF, UID, [file()])
    paths = folder.path(REF, "gpu"), folder.document(UID, "gpu")
    whole = [path.read_bytes() for path in paths]
    for path in paths:
        UNREADABLE[harm](path)

    folder.ensure(REF, UID, [file()])

    assert [path.read_bytes() for path in paths] == whole


@pytest.mark.parametrize("ref", [REF, None])
@pytest.mark.parametrize("harm", sorted(UNREADABLE))
def test_a_claim_with_a_file_that_gives_an_error_is_removed_whole(
    folder: MetadataFolder, harm: str, ref: ClaimRef | None
) -> None:
    folder.ensure(REF, UID, [file(), file("nic")])
    for path in (folder.path(REF, "gpu"), folder.document(UID, "gpu")):
        UNREADABLE[harm](path)

    folder.remove(ref, UID)

    assert [*folder.folder.iterdir(), *folder.cdi_folder.iterdir()] == []


@pytest.mark.parametrize("name", ["", "team_train"])
def test_a_folder_that_cannot_be_listed_is_told_and_keeps_no_claim_from_its_end(
    folder: MetadataFolder, name: str
) -> None:
    bad = folder.folder / name
    bad.parent.mkdir(exist_ok=True)
    bad.symlink_to(bad)

    told: list[str] = []
    assert claims(folder, told) == frozenset()
    folder.remove(None, UID)
    folder.remove(REF, UID)

    assert len(told) == 1
    assert f"for which claim {bad} was written is unknown: cannot list" in told[0]
    assert bad.is_symlink() != bool(name), "what has the name of the claim's folder goes with it"


def test_too_many_open_files_say_nothing_of_a_file(
    folder: MetadataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.ensure(REF, UID, [file()])

    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "open", full)
    for act in (
        lambda: claims(folder),
        lambda: folder.remove(REF, UID),
        lambda: folder.ensure(REF, UID, [file()]),
    ):
        with pytest.raises(StorageFailed, match="Too many open files"):
            act()

    assert folder.path(REF, "gpu").exists()


def test_removing_a_claim_leaves_nothing_of_it_and_all_of_the_others(folder: MetadataFolder) -> None:
    other = ClaimRef("team", "train-2")
    folder.ensure(REF, UID, [file(), file("nic")])
    folder.ensure(other, ClaimUid("u2"), [file()])

    folder.remove(REF, UID)
    folder.remove(REF, UID)

    assert everything(folder) == ["metadata.json", "tangram.dev_metadata_u2_gpu.json"]
    assert claims(folder) == {"u2"}


def test_the_late_end_of_a_claim_leaves_the_files_of_the_next_one_of_its_name(folder: MetadataFolder) -> None:
    folder.ensure(REF, ClaimUid("old"), [file()])
    folder.ensure(REF, UID, [file()])

    folder.remove(REF, ClaimUid("old"))

    assert everything(folder) == ["metadata.json", f"tangram.dev_metadata_{UID}_gpu.json"]


def test_a_claim_that_ends_after_the_next_one_of_its_name_leaves_nothing(folder: MetadataFolder) -> None:
    folder.ensure(REF, ClaimUid("old"), [file()])
    folder.ensure(REF, UID, [file()])

    folder.remove(REF, UID)
    folder.remove(REF, ClaimUid("old"))

    assert everything(folder) == []


def test_a_claim_of_which_only_the_uid_is_known_is_removed_too(folder: MetadataFolder) -> None:
    folder.ensure(REF, UID, [file()])
    folder.document(UID, "gpu").unlink()
    assert claims(folder) == {UID}

    folder.remove(None, UID)

    assert everything(folder) == []


def test_a_name_that_is_longer_than_names_of_files_may_be_has_a_file_too(folder: MetadataFolder) -> None:
    folder.ensure(LONG, UID, [file()])
    assert len(everything(folder)) == 2

    folder.remove(LONG, UID)

    assert everything(folder) == []


@pytest.mark.parametrize(
    ("ref", "request_name"),
    [(ClaimRef("..", "train"), "gpu"), (ClaimRef("team", "../../x"), "gpu"), (REF, ".."), (REF, "a/b")],
)
def test_a_name_that_could_leave_the_folder_is_refused_and_removes_nothing(
    folder: MetadataFolder, tmp_path: Path, ref: ClaimRef, request_name: str
) -> None:
    (tmp_path / "kept").write_text("")

    with pytest.raises(ClaimUnusable, match="must be a lower-case DNS subdomain"):
        folder.ensure(ref, UID, [file(request_name)])
    folder.remove(ref, UID)

    assert [path.name for path in tmp_path.rglob("*")] == ["kept"]
