"""A release is complete, names the image everywhere, and is the same whenever it is made of one commit."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import release
import yaml

ROOT = Path(__file__).parents[2]
IMAGE = "registry.example.com/tangram"
TIME = 1_700_000_000


@pytest.fixture(scope="module")
def made(program, tmp_path_factory):
    """The folder of a release, without the image archive."""
    return make(program, tmp_path_factory.mktemp("release") / "dist")


def make(program, folder):
    one = release.Release(version="0.1.0", image=IMAGE, time=TIME, folder=folder, programs=program)
    release.make(one, with_image=False)
    return folder


def documents(path):
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


def test_the_files_of_a_release_are_those_of_the_install_page_with_their_checksums(made):
    page = (ROOT / "docs/install.md").read_text()

    sums = dict(reversed(line.split()) for line in (made / "SHA256SUMS").read_text().splitlines())

    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in made.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert [name for name in sums if f"`{name}`" not in page] == []
    assert len(sums) == 8


def test_the_same_commit_gives_the_same_bytes(made, program, tmp_path):
    again = make(program, tmp_path / "dist")

    assert (again / "SHA256SUMS").read_text() == (made / "SHA256SUMS").read_text()


@pytest.mark.parametrize("name", release.MANIFESTS)
def test_every_manifest_names_the_image_with_its_version(name, made):
    found = documents(made / name)
    pods = [one["spec"]["template"]["spec"] for one in found if one["kind"] in {"DaemonSet", "Deployment"}]

    images = {
        container["image"]
        for pod in pods
        for container in (*pod["containers"], *pod.get("initContainers", ()))
    }

    assert images == {f"{IMAGE}:0.1.0"}


def test_the_chart_installs_the_image_without_an_option(made, program):
    command = (
        program("helm"),
        "template",
        "tangram",
        str(made / "tangram-0.1.0.tgz"),
        "--namespace",
        "tangram-system",
    )

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
    found = {(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(done.stdout) if one}
    wanted = {(one["kind"], one["metadata"]["name"]) for one in documents(made / "install.yaml")}
    assert found == wanted - {("Namespace", "tangram-system")}
    assert f"image: {IMAGE}:0.1.0" in done.stdout


def test_the_sbom_has_every_package_that_the_lock_file_installs(made):
    sbom = json.loads((made / "tangram-0.1.0.cdx.json").read_text())
    named = {one["purl"] for one in sbom["components"]}

    assert sbom["bomFormat"] == "CycloneDX"
    assert sbom["metadata"]["component"]["name"] == "tangram-dra"
    assert sbom["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert any(one.startswith("pkg:pypi/grpcio@") for one in named)
    assert not any(one.startswith("pkg:pypi/pytest@") for one in named)


def test_an_images_archive_gets_another_name_and_nothing_else(tmp_path):
    old, new = tmp_path / "old.tar", tmp_path / "new.tar"
    manifest = [{"Config": "c.json", "RepoTags": ["localhost/tangram:test"], "Layers": ["l.tar"]}]
    parts = {
        "c.json": b"{}",
        "l.tar": b"layer",
        "manifest.json": json.dumps(manifest).encode(),
        "repositories": b"{}",
    }
    with tarfile.open(old, "w") as archive:
        for name, content in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))

    release.named_otherwise(old, new, f"{IMAGE}:0.1.0")

    with tarfile.open(new) as archive:
        found = {one.name: archive.extractfile(one).read() for one in archive}
    assert json.loads(found.pop("manifest.json")) == [{**manifest[0], "RepoTags": [f"{IMAGE}:0.1.0"]}]
    assert found == {"c.json": b"{}", "l.tar": b"layer"}


@pytest.mark.parametrize("name", ["registry.example.com/tangram:0.1.0", "Tangram", "a b", ""])
def test_a_wrong_name_of_the_image_is_refused_and_nothing_is_made(name, tmp_path, capsys):
    with pytest.raises(SystemExit) as refused:
        release.main(["--image", name, "--output", str(tmp_path / "dist")])

    assert refused.value.code == 2
    assert "must be a name such as registry.example.com/tangram, without a tag" in capsys.readouterr().err
    assert not (tmp_path / "dist").exists()


def test_the_wheel_gives_a_working_command_line(made, tmp_path):
    uv = str(Path(sys.executable).with_name("uv"))
    locked = tmp_path / "locked.txt"
    wheel = next(made.glob("*.whl"))
    outside = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}

    def run(*command):
        done = subprocess.run(
            command, cwd=tmp_path, env=outside, capture_output=True, text=True, check=False, timeout=110
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # The versions of the lock file, which are in uv's cache; the page installs those that are new today.
    run(
        uv,
        "export",
        "--project",
        str(ROOT),
        "--locked",
        "--no-dev",
        "--no-emit-project",
        "--no-hashes",
        "--quiet",
        "-o",
        str(locked),
    )
    run(uv, "venv", "--quiet", "--python", sys.executable, "fresh")
    run(uv, "pip", "install", "--quiet", "--python", "fresh", "--constraint", str(locked), str(wheel))

    assert "gpu-0" in run("fresh/bin/tangram", "show", "--node", "a100x2")
    assert run("fresh/bin/kubectl-tangram", "--version") == run("fresh/bin/tangram", "--version")
