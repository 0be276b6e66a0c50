"""A container that starts again within a boot gets the same: the document of a prepared claim stays."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plugin.base.errors import NotReady

HALF, WHOLE = "gpu-0-mig-3g-20gb-4-7", "gpu-1"
EARLIER = (Path(__file__).parents[2] / "data/cdi/parts-with-each-device.json").read_bytes()
"""What versions wrote that had the driver's parts with each device, and libraries where the host has them."""


@pytest.fixture
def updated(bench: Any) -> Any:
    """A node whose plugin was updated while a claim of two devices was prepared."""
    bench.options = replace(bench.options, host_root=bench.simulated.root)
    bench.restart()
    bench.prepare("u1", HALF, WHOLE)
    bench.document("u1").write_bytes(EARLIER)
    bench.restart()
    return bench


def again(bench: Any) -> bytes:
    """Prepare the claim again and return its document."""
    bench.prepare("u1", HALF, WHOLE)
    content: bytes = bench.document("u1").read_bytes()
    return content


def host(bench: Any, path: str) -> Path:
    root: Path = bench.simulated.root
    return root / path


def test_a_claim_that_was_prepared_before_the_update_keeps_its_document(updated: Any) -> None:
    assert again(updated) == EARLIER


def test_a_claim_keeps_its_document_after_an_update_that_writes_others(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = again(bench)
    monkeypatch.setattr("plugin.cdi.document._NOTHING_ELSE", "NVIDIA_VISIBLE_DEVICES=void_as_a_later_version")
    bench.restart()

    assert again(bench) == first

    bench.unprepare("u1")
    assert again(bench) != first


def test_a_document_that_was_damaged_and_written_anew_stays_from_then_on(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = again(bench)
    monkeypatch.setattr("plugin.cdi.document._NOTHING_ELSE", "NVIDIA_VISIBLE_DEVICES=void_as_a_later_version")
    bench.document("u1").write_bytes(first[:-9])
    second = again(bench)
    monkeypatch.undo()

    assert second != first
    assert again(bench) == second


def test_a_claim_whose_instance_was_made_anew_gets_the_document_of_that_one(bench: Any) -> None:
    first = again(bench)
    (instance,) = bench.instances(0)
    for compute in instance.compute_instances:
        bench.simulated.gpus.destroy_compute_instance(bench.uuid(0), instance.gi_id, compute.ci_id)
    bench.simulated.gpus.destroy_gpu_instance(bench.uuid(0), instance.gi_id)

    second = again(bench)

    (made,) = bench.instances(0)
    assert first != second
    assert str(made.compute_instances[0].uuid) in second.decode()


def test_a_new_claim_has_what_all_its_devices_share_once(updated: Any) -> None:
    updated.unprepare("u1")

    document = json.loads(again(updated))

    paths = [mount["containerPath"] for mount in document["containerEdits"]["mounts"]]
    assert len(paths) == len(set(paths))
    assert {f"/usr/lib{folder}/libcuda.so.1" for folder in ("64", "/x86_64-linux-gnu")} <= set(paths)
    assert not any("mounts" in device["containerEdits"] for device in document["devices"])


def test_a_node_that_the_driver_makes_later_does_not_change_a_claims_document(bench: Any) -> None:
    node = host(bench, "dev/nvidia-modeset")
    node.rename(node.with_name("later"))
    first = again(bench)
    node.with_name("later").rename(node)

    assert again(bench) == first


def test_settings_that_are_installed_later_do_not_change_a_claims_document(bench: Any) -> None:
    first = again(bench)
    file = host(bench, "usr/share/nvidia/nvoptix.bin")
    file.parent.mkdir(parents=True)
    file.touch()

    assert again(bench) == first


@pytest.mark.parametrize("path", ["usr/bin/nvidia-smi", "dev/nvidia-modeset"])
def test_a_document_that_names_what_is_gone_is_written_anew(updated: Any, path: str) -> None:
    host(updated, path).unlink()

    assert f"/{path}" not in again(updated).decode()


def test_a_driver_that_was_replaced_within_the_boot_gives_its_own_libraries(
    updated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in host(updated, "usr/lib/x86_64-linux-gnu").glob("*.so.560.35.03"):
        library.with_name(library.name.replace("560.35.03", "560.35.05")).write_text("new")
    versions = replace(updated.simulated.gpus.versions(), driver="560.35.05")
    monkeypatch.setattr(type(updated.simulated.gpus), "versions", lambda _: versions)

    assert "560.35.03" not in again(updated).decode()


def test_a_claim_without_unified_memory_gets_it_now(updated: Any) -> None:
    without = re.sub(rb'\s*\{\s*"path": "/dev/nvidia-uvm(-tools)?"\s*\},', b"", EARLIER)
    assert b"uvm" not in without
    updated.document("u1").write_bytes(without)

    assert b'"/dev/nvidia-uvm-tools"' in again(updated)


def test_a_document_that_is_damaged_in_any_line_is_written_anew(updated: Any) -> None:
    updated.document("u1").unlink()
    whole = again(updated)
    lines = EARLIER.splitlines(keepends=True)
    damaged = {
        number: b"".join(lines[:number] + lines[number + 1 :])
        for number, line in enumerate(lines)
        if line.strip() not in {b"}", b"},", b"{", b"]", b"],"}
    }

    kept = []
    for number, content in damaged.items():
        updated.document("u1").write_bytes(content)
        if again(updated) != whole:
            kept.append((number, lines[number]))

    assert kept == []


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (b"u1-gpu-1", b"u2-gpu-1"),
        (b'"ro"', b'"rw"'),
        (b'"/dev/nvidia1"', b'"/dev/nvidia3"'),
        (b"/usr/lib/x86_64-linux-gnu/libcuda.so.1", b"/usr/lib/x86_64-linux-gnu/libcudb.so.1"),
        (b'"containerPath": "/usr/bin', b'"containerPath": "/usr/bim'),
        (b"NVIDIA_VISIBLE_DEVICES=void", b"NVIDIA_VISIBLE_DEVICES=all"),
        (b'"0.3.0"', b'"0.3.1"'),
        (b"tangram.dev/claim", b"tangram.dev/clair"),
        (b"TANGRAM_DEVICE_GPU_1=GPU-4", b"TANGRAM_DEVICE_GPU_1=GPU-5"),
        (b"  ", b"\t"),
    ],
)
def test_a_document_that_somebody_edited_is_written_anew(updated: Any, was: bytes, becomes: bytes) -> None:
    updated.document("u1").unlink()
    whole = again(updated)
    assert was in EARLIER
    updated.document("u1").write_bytes(EARLIER.replace(was, becomes))

    assert again(updated) == whole


def with_program(bench: Any) -> Path:
    """Let NVIDIA's program run for containers."""
    bench.options = replace(bench.options, cdi_hook=Path("/usr/bin/nvidia-cdi-hook"))
    bench.restart()
    return host(bench, "usr/bin/nvidia-cdi-hook")


def test_an_option_that_is_given_later_does_not_change_a_claims_document(updated: Any) -> None:
    with_program(updated).touch()

    assert again(updated) == EARLIER


def test_a_claim_whose_document_names_a_program_that_is_gone_gets_another_one(updated: Any) -> None:
    updated.unprepare("u1")
    program = with_program(updated)
    program.touch()
    assert b"nvidia-cdi-hook" in again(updated)
    program.unlink()
    updated.options = replace(updated.options, cdi_hook=None)
    updated.restart()

    assert b"nvidia-cdi-hook" not in again(updated)


def test_a_program_that_is_wanted_and_missing_is_told_before_a_container_fails_on_it(updated: Any) -> None:
    updated.unprepare("u1")
    with_program(updated)

    with pytest.raises(NotReady, match=r"/usr/bin/nvidia-cdi-hook.*does not exist.*--nvidia-cdi-hook"):
        again(updated)

    assert updated.leftovers() == []
