"""A release with the image: podman loads its archive, its program runs, and the SBOM says what is in it."""

from __future__ import annotations

import json
import os
import re
import subprocess

import image
import needs
import pytest
import release
from podman_runs import real_podman

pytestmark = pytest.mark.timeout(900)  # where nothing is built yet, one core needs minutes for the image
IMAGE = "registry.example.com/tangram"
INSTALLED = (
    "import importlib.metadata as m, json;"
    "print(json.dumps([[d.metadata['Name'], d.version] for d in m.distributions()]))"
)


@pytest.fixture(scope="module")
def podman():
    with real_podman() as found:
        yield found


@pytest.fixture(scope="module")
def made(program, podman, tmp_path_factory):
    """The folder of a release. The image is that of the cluster's tests: it is built once for both."""
    # Where everything is required the release builds the image itself.
    if not image.archive_path(None).exists() and os.environ.get("TANGRAM_REQUIRE_ALL") != "1":
        needs.fail_or_skip(needs.IMAGE)
    folder = tmp_path_factory.mktemp("release") / "dist"
    one = release.Release(version="0.1.0", image=IMAGE, time=1, folder=folder, programs=program)
    release.make(one, with_image=True)
    return folder


@pytest.fixture(scope="module")
def in_image(made, podman, tmp_path_factory):
    """Load the archive as the install page says, and return a function that runs the image."""
    (archive,) = made.glob("tangram-image-0.1.0-*.tar")
    loaded = subprocess.run(
        podman.command("load", "--input", str(archive)), capture_output=True, text=True, check=True
    )
    assert f"{IMAGE}:0.1.0" in loaded.stdout
    no_devices = tmp_path_factory.mktemp("cdi")

    def run(*arguments, options=()):
        done = podman.call(no_devices, *options, f"{IMAGE}:0.1.0", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_checksums_are_those_of_all_files_and_sha256sum_agrees(made):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=made,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    checked = {line.removesuffix(": OK") for line in done.stdout.splitlines()}
    assert checked == {path.name for path in made.iterdir()} - {"SHA256SUMS"}
    assert len(checked) == 9


def test_the_archive_is_loaded_under_the_name_of_the_release_and_its_program_runs(in_image):
    assert in_image("--version").strip() == "tangram 0.1.0"


def test_every_package_of_the_image_is_in_the_sbom_with_its_version(in_image, made):
    sbom = json.loads((made / "tangram-0.1.0.cdx.json").read_text())
    listed = {(one["name"], one["version"]) for one in sbom["components"]}
    own = sbom["metadata"]["component"]["name"]

    found = json.loads(in_image("-P", "-c", INSTALLED, options=("--entrypoint=python3",)))

    packages = {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in found}
    assert {version for name, version in packages if name == own} == {"0.1.0"}
    assert {one for one in packages if one[0] != own} - listed == set()
    assert any(name == "grpcio" for name, _ in packages)
