"""Build the image of Tangram from the lock file, for a registry or for a test cluster.

``hack/image.py build`` prints the path of a docker archive (``ctr images import``, ``podman load``) that
holds ``localhost/tangram:test``; it is built only where the present sources have none yet. Packages are
resolved by uv from ``uv.lock`` with their hashes and copied in: the build itself has no network.
``hack/image.py context --output DIR`` makes the build context for another builder.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from image_packages import remove_unused

ROOT: Final = Path(__file__).resolve().parent.parent
CONTAINERFILE: Final = ROOT / "deploy/image/Containerfile"
TAG: Final = "localhost/tangram:test"
BASE_TAG: Final = "localhost/tangram-base:present"
PULL_S: Final = 300
CACHE: Final = Path(os.environ.get("TANGRAM_TOOLS") or ROOT / ".tangram/tools") / "image"
PACKAGES: Final = ("scheduler_core", "kube_api", "daemon", "agent", "plugin", "controller", "tangram")
SOURCES: Final = (
    *PACKAGES,
    "pyproject.toml",
    "uv.lock",
    "README.md",
    "LICENSE",
    "deploy/image",
    "hack/image.py",
    "hack/image_packages.py",
)
KEPT_ARCHIVES: Final = 3
"""Older archives are removed: each has 300 MB."""

DEBIAN: Final = "debootstrap --variant=minbase --include=python3,libudev1 bookworm"
"""The base where the default one cannot be pulled: the same Debian and Python 3.11, from its archive."""
NOT_IN_A_BASE: Final = (
    *("./var/cache/apt/*", "./var/lib/apt/lists/*", "./var/log/*", "./dev/*", "*/__pycache__"),
    *("./usr/share/doc/*", "./usr/share/man/*", "./usr/share/locale/*", "./usr/share/info/*"),
)
UNUSED: Final = (
    ".lock",
    "bin",
    "example.py",
    "kubernetes/aio",
    "kubernetes/e2e_test",
    "certifi/tests",
    "websocket/tests",
)
"""What packages bring for others: programs, examples, tests, and a second client for asyncio.

Packages that nothing imports then are removed as a whole (hack/image_packages.py).
"""

PROGRAMS: Final = {
    "podman": "podman",
    "debootstrap": "debootstrap",
    "unshare": "util-linux",
    "tar": "tar",
}
"""Needed programs and the Debian packages that hold them."""


class Failed(Exception):
    """The image cannot be built; the message says what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; return 1 with one message where it fails."""
    given = _parser().parse_args(arguments)
    try:
        if given.command == "context":
            make_context(given.output)
            print(given.output)
        elif given.print:
            print(archive_path(given.base))
        else:
            print(build(given.base, given.output))
    except Failed as failure:
        print(f"hack/image.py: {failure}", file=sys.stderr)
        return 1
    return 0


def build(base: str | None, output: Path | None) -> Path:
    """Return the archive of the present sources, built where there is none. Raises: Failed."""
    archive = archive_path(base)
    with _locked():
        if archive.exists():
            archive.touch()
        else:
            _require_programs()
            _build(base, archive)
            _forget_old(archive.parent)
    if output is None:
        return archive
    output.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(archive, output))


def archive_path(base: str | None) -> Path:
    """Return where the archive of the present sources lies, or will: its name is their digest."""
    digest = hashlib.sha256(f"{base} {DEBIAN} {platform.machine()}".encode())
    for path in sorted(source_files()):
        digest.update(f"{path.relative_to(ROOT)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return CACHE / f"tangram-{digest.hexdigest()[:16]}.tar"


def source_files() -> Iterator[Path]:
    """Yield every file that ends up in the image or decides how it is built."""
    for source in (ROOT / name for name in SOURCES):
        found = source.rglob("*") if source.is_dir() else iter((source,))
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)


def make_context(folder: Path) -> None:
    """Fill a folder with what the Containerfile copies: locked packages, our wheel. Raises: Failed."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in CONTAINERFILE.parent.iterdir():
        shutil.copy2(file, folder)
    with tempfile.TemporaryDirectory(prefix="tangram-image-") as made:
        lock, wheels = Path(made) / "locked.txt", Path(made) / "wheels"
        _uv("export", "--locked", "--no-dev", "--no-emit-project", "--quiet", "--output-file", str(lock))
        _uv("build", "--wheel", "--quiet", "--out-dir", str(wheels))
        _install(folder / "dependencies", "--require-hashes", "--requirements", str(lock))
        _install(folder / "project", *(str(wheel) for wheel in wheels.glob("*.whl")))
    for unused in UNUSED:
        path = folder / "dependencies" / unused
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for name in remove_unused(folder / "dependencies", folder / "project"):
        print(f"image: without {name}, which nothing imports", file=sys.stderr)


def _install(target: Path, *what: str) -> None:
    """Install wheels for the image's Python and this machine's architecture, whatever Python runs here."""
    shutil.rmtree(target, ignore_errors=True)
    image = ("--python-version", "3.11", "--python-platform", f"{platform.machine()}-manylinux_2_28")
    wheels = ("--no-deps", "--only-binary", ":all:", "--quiet", "--target", str(target))
    _uv("pip", "install", "--python", sys.executable, *image, *wheels, *what)


def _build(base: str | None, archive: Path) -> None:
    """Build in a storage of its own that goes with the folder: nothing on this machine is changed."""
    # In the system's folder: podman refuses a runroot of more than 50 characters.
    with tempfile.TemporaryDirectory(prefix="tangram-image-") as made:
        folder = Path(made)
        podman = (
            *("podman", "--root", str(folder / "storage"), "--runroot", str(folder / "run")),
            *("--storage-driver", "vfs", "--events-backend", "none", "--log-level", "error"),
        )
        with _step("collecting the locked packages"):
            make_context(folder / "context")
        reference = _base(podman, base)
        with _step(f"building {TAG} on {reference}"):
            where = ("--isolation", "chroot", "--layers=false", "--pull-never", "--quiet")
            named = ("--build-arg", f"BASE={reference}", "--tag", TAG)
            # A network namespace of its own, which has no network: all there is was copied in.
            _run("unshare", "--net", *podman, "build", *where, *named, str(folder / "context"))
        unfinished = archive.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)  # podman does not write over one
        with _step(f"writing {archive}"):
            _run(*podman, "save", "--quiet", "--format", "docker-archive", "--output", str(unfinished), TAG)
        unfinished.replace(archive)


def _base(podman: Sequence[str], wanted: str | None) -> str:
    """Put a base into the storage: the wanted or default one, else Debian's by debootstrap."""
    reference = wanted or _default_base()
    key = hashlib.sha256(f"{reference} {platform.machine()}".encode()).hexdigest()[:16]
    kept = CACHE / f"base-{key}.tar"
    if kept.exists():
        _run(*podman, "load", "--quiet", "--input", str(kept))
        return BASE_TAG
    try:
        image = _pulled(podman, reference)
    except Failed as failure:
        if wanted is not None:
            raise Failed(f"{failure}: name another --base, or none for Debian's") from failure
        print(f"image: {failure}: Debian's is taken instead", file=sys.stderr)
        _run(*podman, "import", "--quiet", str(_debian()), BASE_TAG)
        return BASE_TAG
    _run(*podman, "tag", image, BASE_TAG)
    if "@sha256:" in reference:  # a name without a digest may mean something else tomorrow
        _run(*podman, "save", "--quiet", "--format", "docker-archive", "--output", f"{kept}.new", BASE_TAG)
        Path(f"{kept}.new").replace(kept)
    return BASE_TAG


def _pulled(podman: Sequence[str], reference: str) -> str:
    """Return the id of a pulled image. Raises: Failed."""
    command = (*podman, "pull", "--quiet", reference)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PULL_S)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"pull base {reference}: no answer in {PULL_S} s") from error
    if done.returncode != 0:
        raise Failed(f"pull base {reference}: {_last_line(done.stderr)}")
    return done.stdout.strip()


def _default_base() -> str:
    found = re.search(r"^ARG BASE=(\S+)$", CONTAINERFILE.read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def _debian() -> Path:
    """Return the archive of a small Debian with Python, made once for what names it."""
    key = hashlib.sha256(f"{DEBIAN} {platform.machine()} {NOT_IN_A_BASE}".encode()).hexdigest()[:16]
    archive = CACHE / f"debian-{key}.tar"
    if not archive.exists():
        with tempfile.TemporaryDirectory(prefix=".base-", dir=CACHE) as made, _step(DEBIAN):
            _run(*DEBIAN.split(), f"{made}/root")
            excluded = (f"--exclude={pattern}" for pattern in NOT_IN_A_BASE)
            _run("tar", "--create", f"--file={made}/base.tar", f"--directory={made}/root", *excluded, ".")
            Path(f"{made}/base.tar").replace(archive)
    return archive


def _forget_old(folder: Path) -> None:
    by_age = sorted(folder.glob("tangram-*.tar"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in by_age[KEPT_ARCHIVES:]:
        old.unlink()


def _require_programs() -> None:
    missing = sorted({package for program, package in PROGRAMS.items() if shutil.which(program) is None})
    if missing:
        raise Failed(f"build the image: not installed: apt-get install {' '.join(missing)}")
    if os.geteuid() != 0:
        raise Failed("build the image: it needs root: podman's vfs storage and debootstrap do")


def _uv(*arguments: str) -> None:
    uv = Path(sys.executable).with_name("uv")  # the pinned one, of the environment that runs this
    _run(str(uv) if uv.exists() else "uv", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"run {' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no reason given")


@contextmanager
def _locked() -> Iterator[None]:
    """Let one process build at a time; the next one finds what this one made."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _step(what: str) -> Iterator[None]:
    start = time.monotonic()
    print(f"image: {what} ...", file=sys.stderr)
    yield
    print(f"image: ... {time.monotonic() - start:.0f} s", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    building = commands.add_parser("build", help="build what is missing and print the path of the archive")
    building.add_argument("--output", type=Path, metavar="DIR", help="copy the archive there, too")
    building.add_argument("--print", action="store_true", help="only print the path; build nothing")
    building.add_argument("--base", metavar="IMAGE", help="default: the Containerfile's, else Debian's")
    context = commands.add_parser("context", help="make the build context for another builder")
    context.add_argument("--output", type=Path, metavar="DIR", required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main())
