"""The image's builder rebuilds what changed, keeps little, and says what it lacks."""

import os
import subprocess
import sys

import image
import pytest


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout of a few files, with a folder of its own for archives."""
    for name in image.SOURCES:
        path = tmp_path / name
        if path.suffix or name == "LICENSE":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        else:
            path.mkdir(parents=True, exist_ok=True)
            (path / "__init__.py").write_text(name)
    monkeypatch.setattr(image, "ROOT", tmp_path)
    monkeypatch.setattr(image, "CACHE", tmp_path / "archives")
    return tmp_path


@pytest.mark.parametrize("changed", ["agent/__init__.py", "uv.lock", "deploy/image/__init__.py"])
def test_another_source_is_another_archive(checkout, changed):
    before = image.archive_path(None)

    (checkout / changed).write_text("changed")

    assert image.archive_path(None) != before


def test_what_is_no_part_of_the_image_changes_nothing(checkout):
    before = image.archive_path(None)

    (checkout / "tests").mkdir()
    (checkout / "tests/test_x.py").write_text("changed")
    (checkout / "agent/__pycache__").mkdir()
    (checkout / "agent/__pycache__/x.pyc").write_bytes(b"changed")

    assert image.archive_path(None) == before


def test_another_base_is_another_archive(checkout):
    assert image.archive_path("localhost/other:1") != image.archive_path(None)


def test_an_archive_that_is_there_is_taken_and_copied_to_where_it_is_wanted(checkout):
    archive = image.archive_path(None)
    archive.parent.mkdir()
    archive.write_bytes(b"built before")

    found = image.build(None, checkout / "wanted")

    assert found.parent == checkout / "wanted"
    assert found.read_bytes() == b"built before"


def test_without_its_programs_it_names_the_packages_and_builds_nothing(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")

    with pytest.raises(image.Failed, match="apt-get install debootstrap podman"):
        image.build(None, None)

    assert list(image.CACHE.glob("*.tar")) == []


@pytest.fixture
def podman(checkout, monkeypatch):
    """A podman that reaches no registry, beside a Debian that was made before."""
    program = checkout / "podman"
    program.write_text("#!/bin/sh\n[ $1 = import ] || { echo registry unreachable >&2; exit 1; }\n")
    program.chmod(0o755)
    image.CACHE.mkdir()
    monkeypatch.setattr(image, "_default_base", lambda: "registry.example/python")
    monkeypatch.setattr(image, "_debian", lambda: checkout / "debian.tar")
    return (str(program),)


def test_without_a_registry_the_default_base_is_debians_and_that_is_said(podman, capsys):
    assert image._base(podman, None) == image.BASE_TAG

    said = capsys.readouterr().err
    assert (
        said == "image: pull base registry.example/python: registry unreachable: Debian's is taken instead\n"
    )


def test_a_base_that_somebody_named_and_nobody_has_ends_the_build(podman):
    with pytest.raises(image.Failed, match="registry unreachable: name another --base"):
        image._base(podman, "registry.example/other")


def test_only_the_archives_that_were_used_last_are_kept(tmp_path):
    for age in range(image.KEPT_ARCHIVES + 2):
        archive = tmp_path / f"tangram-{age}.tar"
        archive.touch()
        os.utime(archive, (1_000 - age, 1_000 - age))

    image._forget_old(tmp_path)

    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {f"tangram-{age}.tar" for age in range(image.KEPT_ARCHIVES)}


def test_a_base_that_lacks_something_ends_the_build_with_what_it_is():
    without_packages = [sys.executable, "-I", "-S", image.CONTAINERFILE.parent / "check.py"]

    done = subprocess.run(without_packages, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith("build the image: the base has ")
    assert done.stderr.strip().endswith("name another base with BASE")
