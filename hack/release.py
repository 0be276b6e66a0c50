"""Make everything that a release consists of: ``hack/release.py --image REGISTRY/tangram`` fills a folder.

In go the checkout and the name under which the image will be published; out come manifests, chart, image
archive, wheel, source distribution, a list of what is in it (SBOM), and checksums. Nothing is published. All
but the image archive is the same, byte by byte, whenever it is made of one commit: times in it are the
commit's, or SOURCE_DATE_EPOCH's.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import image

sys.path.insert(0, str(Path(__file__).parent / "cluster"))

from launcher.build import Builder, tools_folder
from launcher.errors import LauncherError
from launcher.toolset import VERSIONS, helm, kubernetes

ROOT: Final = Path(__file__).resolve().parent.parent
MANIFESTS: Final = {
    "install.yaml": ("overlays/nvidia",),
    "install-simulated.yaml": ("overlays/simulated",),
    "install-controller.yaml": ("overlays/controller",),
    "clean-nodes.yaml": ("clean-nodes",),
}
"""What is rendered, by the file's name, from folders of deploy/manifests."""
IMAGES: Final = ("registry.invalid/tangram", "localhost/tangram")
_REPOSITORY: Final = re.compile(r"[a-z0-9][^ :@]*(:[0-9]+/[^ :@]+)?")


class Failed(Exception):
    """The release cannot be made; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What is released.

    Shape: ``image`` the name to publish under, without a tag; ``programs`` the path of a program by its name.
    Units: ``time`` seconds since 1970.
    """

    version: str
    image: str
    time: int
    folder: Path
    programs: Callable[[str], str]

    @property
    def reference(self) -> str:
        """The image with its tag."""
        return f"{self.image}:{self.version}"


def make(release: Release, *, with_image: bool) -> None:
    """Fill the folder, which is emptied first, and end with the checksums. Raises: Failed, image.Failed."""
    shutil.rmtree(release.folder, ignore_errors=True)
    release.folder.mkdir(parents=True)
    _packages(release)
    _sbom(release)
    for name, folders in MANIFESTS.items():
        (release.folder / name).write_text(_rendered(release, folders))
    _chart(release)
    if with_image:
        archive = release.folder / f"tangram-image-{release.version}-{platform.machine()}.tar"
        named_otherwise(image.build(None, None), archive, release.reference)
    sums = release.folder / "SHA256SUMS"
    sums.write_text("".join(f"{digest}  {name}\n" for name, digest in checksums(release.folder)))


def checksums(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each file of a folder by name, with its SHA-256."""
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            yield path.name, hashlib.file_digest(file, "sha256").hexdigest()


def _packages(release: Release) -> None:
    # The wheel is made of the source distribution, so that this is complete.
    _run(
        _uv(),
        "build",
        "--quiet",
        "--out-dir",
        str(release.folder),
        environment={"SOURCE_DATE_EPOCH": str(release.time)},
    )
    (release.folder / ".gitignore").unlink(missing_ok=True)


def _sbom(release: Release) -> None:
    text = _run(_uv(), "export", "--locked", "--no-dev", "--quiet", "--format", "cyclonedx1.5")
    (release.folder / f"tangram-{release.version}.cdx.json").write_text(reproducible(text, release.time))


def reproducible(sbom: str, seconds: int) -> str:
    """Return a CycloneDX document with this time, and a serial number that follows from its content."""
    document = json.loads(sbom)
    document["metadata"]["timestamp"] = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    del document["serialNumber"]
    named = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return json.dumps({**document, "serialNumber": f"urn:uuid:{named}"}, indent=2) + "\n"


def _rendered(release: Release, folders: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory(prefix="tangram-release-") as made:
        chosen = {
            "resources": [os.path.relpath(ROOT / "deploy/manifests" / one, made) for one in folders],
            "images": [{"name": one, "newName": release.image, "newTag": release.version} for one in IMAGES],
        }
        Path(made, "kustomization.yaml").write_text(json.dumps(chosen))
        return _run(release.programs("kubectl"), "kustomize", made)


def _chart(release: Release) -> None:
    """Package the chart with the image's name as its default."""
    with tempfile.TemporaryDirectory(prefix="tangram-release-") as made:
        chart = Path(made, "tangram")
        shutil.copytree(ROOT / "deploy/helm/tangram", chart)  # its link to the manifests becomes a folder
        values = chart / "values.yaml"
        values.write_text(with_default_image(values.read_text(), release.image))
        _run(release.programs("helm"), "package", str(chart), "--destination", made)
        (packed,) = Path(made).glob("*.tgz")
        with_time(packed, release.folder / packed.name, release.time)


def with_default_image(values: str, name: str) -> str:
    """Return the chart's values with a default of ``image.repository``. Raises: Failed."""
    text, count = re.subn(
        r'^  # No image is published yet\..*\n  repository: ""$',
        f"  repository: {name}",
        values,
        flags=re.MULTILINE,
    )
    if count != 1:
        raise Failed("package the chart: its values.yaml has no empty image.repository to fill in")
    return text


def with_time(packed: Path, target: Path, seconds: int) -> None:
    """Write a compressed archive anew: its files by name, of root, all with one time."""
    with (
        tarfile.open(packed) as old,
        target.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=seconds) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as new,
    ):
        for member in sorted((one for one in old if one.isfile()), key=lambda one: one.name):
            plain = tarfile.TarInfo(member.name)
            plain.size, plain.mtime, plain.mode = member.size, seconds, 0o644
            new.addfile(plain, old.extractfile(member))


def named_otherwise(archive: Path, target: Path, reference: str) -> None:
    """Copy an image's archive under another name of the image: ``podman load`` then shows that name."""
    with tarfile.open(archive) as old, tarfile.open(target, "w") as new:
        for member in old:
            if member.name == "repositories":  # the same once more, for Docker before 1.10
                continue
            content = old.extractfile(member) if member.isfile() else None
            if member.name == "manifest.json" and content is not None:
                (described,) = json.load(content)
                text = json.dumps([{**described, "RepoTags": [reference]}]).encode()
                member.size, content = len(text), io.BytesIO(text)
            new.addfile(member, content)


def _uv() -> str:
    return str(Path(sys.executable).with_name("uv"))


def _run(*command: str, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"run {' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _program(name: str) -> str:
    """Return the path of kubectl or Helm: the pinned one, built now if need be."""
    builder = Builder(folder=tools_folder(), say=_say, clock=time.monotonic)
    return str(builder.programs(helm() if name == "helm" else kubernetes(VERSIONS[0])) / name)


def _say(text: str) -> None:
    print(f"release: {text}", file=sys.stderr, flush=True)


def _time() -> int:
    """Return the time of the release: SOURCE_DATE_EPOCH's, else the commit's. Raises: Failed."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or _run("git", "log", "-1", "--format=%ct").strip()
    if not given.isdecimal():
        raise Failed(f"read SOURCE_DATE_EPOCH={given!r}: it must be whole seconds since 1970")
    return int(given)


def _repository(text: str) -> str:
    if not _REPOSITORY.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: must be a name such as registry.example.com/tangram, without a tag"
        )
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add(
        "--image",
        type=_repository,
        required=True,
        metavar="NAME",
        help="the image's name where it will be published, without a tag",
    )
    add("--output", type=Path, default=ROOT / "dist", metavar="DIR", help="emptied first; default: dist")
    add(
        "--without-image",
        action="store_true",
        help="no image archive, for who builds the image in another way",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the release; return 1 with one message where it fails."""
    given = _parser().parse_args(arguments)
    try:
        version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        release = Release(
            version=version, image=given.image, time=_time(), folder=given.output, programs=_program
        )
        make(release, with_image=not given.without_image)
    except (Failed, LauncherError, image.Failed) as failure:
        print(f"hack/release.py: {failure}", file=sys.stderr)
        return 1
    print((given.output / "SHA256SUMS").read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
