"""Whether a document on disk may stay, decided from its bytes and what the host has."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from agent.hardware.types import DeviceNode, HostFile
from plugin.cdi.document import Injection, checksum, claim_document, encode
from plugin.cdi.standing import Exists, may_stay

LIBRARIES = "/usr/lib64"


def files(*pairs: tuple[str, str]) -> tuple[HostFile, ...]:
    return tuple(HostFile(path, Path(host_path)) for path, host_path in pairs)


CUDA = (f"{LIBRARIES}/libcuda.so.1", f"{LIBRARIES}/libcuda.so.560")
CORE = (f"{LIBRARIES}/libnvidia-glcore.so.560", f"{LIBRARIES}/libnvidia-glcore.so.560")
NODES = tuple(
    DeviceNode(path, Path(path))
    for path in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12")
)
WANTED = claim_document(
    "tangram.dev",
    [
        Injection(
            name="u1-gpu-0",
            device="gpu-0",
            identity="GPU-1",
            nodes=NODES[1:],
            files=(),
            shared_nodes=NODES[:1],
            shared_files=files(CUDA, CORE),
        )
    ],
)


def earlier(*more: tuple[str, str], nodes: tuple[DeviceNode, ...] = NODES) -> bytes:
    """What an earlier version wrote: everything with the device."""
    injection = Injection(
        name="u1-gpu-0", device="gpu-0", identity="GPU-1", nodes=nodes, files=files(CUDA, *more)
    )
    return encode(claim_document("tangram.dev", [injection]))


def test_libraries_that_early_versions_gave_beside_the_right_ones_may_stay() -> None:
    for_32_bits = ("/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.560")
    by_the_usual_soname = (f"{LIBRARIES}/libnvidia-glcore.so.1", CORE[1])

    assert may_stay(earlier(for_32_bits, by_the_usual_soname), WANTED, lambda _: True)


@pytest.mark.parametrize(
    "another",
    [
        (f"{LIBRARIES}/libcrypto.so.3", f"{LIBRARIES}/libcrypto.so.3"),
        (f"{LIBRARIES}/libcuda.so", f"{LIBRARIES}/libcuda.so.550"),
        (f"{LIBRARIES}/libnvidia-ml.so.1", CUDA[1]),
        ("/etc/libcuda.so", CUDA[1]),
        (CORE[0], "/tmp/libnvidia-glcore.so.560"),
    ],
)
def test_files_that_are_none_of_the_drivers_may_not(another: tuple[str, str]) -> None:
    assert not may_stay(earlier(another), WANTED, lambda _: True)


@pytest.mark.parametrize("gone", [CUDA[1], "/dev/nvidia0"])
def test_what_names_something_that_is_gone_may_not(gone: str) -> None:
    assert not may_stay(earlier(), WANTED, lambda path: path != gone)


def test_a_node_by_its_numbers_is_the_node_that_somebody_made_meanwhile() -> None:
    by_numbers = DeviceNode("/dev/nvidia-caps/nvidia-cap12", None, 511, 12)

    assert may_stay(earlier(nodes=(*NODES[:2], by_numbers)), WANTED, lambda _: True)


def test_a_node_with_other_numbers_is_another_node() -> None:
    ours, theirs = (DeviceNode("/dev/nvidia-caps/nvidia-cap12", None, 511, minor) for minor in (12, 13))
    injection = Injection(name="u1-a", device="a", identity="G", nodes=(ours,), files=())
    other = Injection(name="u1-a", device="a", identity="G", nodes=(theirs,), files=())

    found, wanted = (claim_document("tangram.dev", [one]) for one in (injection, other))

    assert may_stay(encode(found), found, lambda _: True)
    assert not may_stay(encode(found), wanted, lambda _: True)


def test_a_document_without_a_needed_node_or_with_one_more_may_not() -> None:
    more = DeviceNode("/dev/nvidia1", Path("/dev/nvidia1"))

    assert not may_stay(earlier(nodes=NODES[:2]), WANTED, lambda _: True)
    assert not may_stay(earlier(nodes=(*NODES, more)), WANTED, lambda _: True)


@pytest.mark.parametrize("on_disk", [b"", b"{}", b"[]", b"\xff", b"null", b'{"x":' + b"[" * 100_000])
def test_what_is_no_document_may_not(on_disk: bytes) -> None:
    assert not may_stay(on_disk, WANTED, lambda _: True)


def test_a_document_in_other_bytes_may_not() -> None:
    assert not may_stay(msgspec.json.format(earlier(), indent=4), WANTED, lambda _: True)


def test_every_flipped_bit_makes_another_document_or_none() -> None:
    whole = earlier()
    kept = []
    for at in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            if may_stay(bytes(damaged), WANTED, lambda _: True):
                kept.append(whole[max(0, at - 30) : at + 10])

    assert kept == []


def written_by_another_version(*more: tuple[str, str], nodes: tuple[DeviceNode, ...] = NODES) -> bytes:
    """What a version wrote whose variables, folders of libraries and bytes are its own."""
    elsewhere = files(("/opt/libcuda.so.1", CUDA[1]), *more)
    injection = Injection(
        name="u1-gpu-0",
        device="gpu-0",
        identity="GPU-1",
        nodes=nodes,
        files=elsewhere,
        variables=(("OF_THAT_VERSION", "1"),),
    )
    return msgspec.json.format(encode(claim_document("tangram.dev", [injection])), indent=4)


def known(on_disk: bytes, exists: Exists = lambda _: True) -> bool:
    """Whether it may stay where the claim's record has its checksum."""
    return may_stay(on_disk, WANTED, exists, checksum(on_disk))


def test_what_the_record_knows_by_its_checksum_may_stay_whatever_would_be_written_today() -> None:
    theirs = written_by_another_version(("/usr/bin/nvidia-later", "/usr/bin/nvidia-later"), nodes=NODES[:2])

    assert known(theirs)
    assert not may_stay(theirs, WANTED, lambda _: True)
    assert not may_stay(theirs, WANTED, lambda _: True, checksum(b"another"))


@pytest.mark.parametrize("gone", [CUDA[1], "/dev/nvidia0"])
def test_what_the_record_knows_may_not_stay_where_something_is_gone(gone: str) -> None:
    assert not known(written_by_another_version(), lambda path: path != gone)


def test_what_the_record_knows_may_not_stay_where_the_hardware_or_the_driver_is_another() -> None:
    of_another_gpu = DeviceNode("/dev/nvidia1", Path("/dev/nvidia1"))
    replaced = ("/usr/lib/libnvidia-glcore.so.1", f"{LIBRARIES}/libnvidia-glcore.so.550")

    assert not known(written_by_another_version(nodes=(*NODES, of_another_gpu)))
    assert not known(written_by_another_version(replaced))


def test_every_flipped_bit_of_what_the_record_knows_is_noticed() -> None:
    whole = written_by_another_version()
    digest, kept = checksum(whole), []
    for at in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            if may_stay(bytes(damaged), WANTED, lambda _: True, digest):
                kept.append(whole[max(0, at - 30) : at + 10])

    assert kept == []
