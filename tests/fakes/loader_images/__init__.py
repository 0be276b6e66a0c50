"""Images of two families of distributions, with a program that loads libraries, and a driver's libraries.

Program and libraries are compiled here; the C library is this system's. The families differ in what decides:
in which folders the loader looks that glibc was built with. Debian's loader has them in its bytes; that of
the other family is the same file with RHEL's folders in their place. Each image has a loader's cache that was
made before any driver was there, as real images have.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Final

import needs

DEBIAN, RED_HAT = "debian", "red-hat"
FOLDERS: Final = {DEBIAN: "usr/lib/x86_64-linux-gnu", RED_HAT: "usr/lib64"}
LOADER: Final = "usr/lib64/ld-linux-x86-64.so.2"
_DEBIANS: Final = b"/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0"
_RED_HATS: Final = b"/lib64%b\0/usr/lib64%b\0/non/\0/usr/non/\0" % (b"/" * 16, b"/" * 16)
_PROGRAM: Final = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
    for (int at = 1; at < count; at++) {
        void *library = dlopen(names[at], RTLD_NOW);
        if (!library) { puts(dlerror()); return 1; }
        const char *(*says)(void) = dlsym(library, "tangram_says");
        printf("%s: %s\n", names[at], says ? says() : "another library");
    }
    return 0;
}
"""
_LIBRARY: Final = 'const char *tangram_says(void) { return "%s"; }\n'


def obstacle() -> str | None:
    """Return why no such image can be made here, None where one can."""
    if platform.machine() != "x86_64":
        return "the loaders are those of x86_64"
    missing = [tool for tool in ("gcc", "ldconfig") if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    loader = _system_file("ld-linux-x86-64.so.2")
    if not loader.exists() or _DEBIANS not in loader.read_bytes():
        return "this system's loader does not look in Debian's folders"
    return None


def require_compiler() -> None:
    """Skip the test with the reason where no such image can be made."""
    reason = obstacle()
    if reason is not None:
        needs.fail_or_skip(needs.COMPILER, reason)


def make_image(folder: Path, family: str, busybox: Path) -> None:
    """Make the root of an image; ``/bin/load NAME...`` loads libraries and prints what they say."""
    for name in ("bin", "dev", "proc", "sys", "tmp", "etc", "usr/lib64", FOLDERS[family]):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "lib").symlink_to("usr/lib")
    (folder / "lib64").symlink_to("usr/lib64")
    loader = _system_file("ld-linux-x86-64.so.2").read_bytes()
    (folder / LOADER).write_bytes(loader if family == DEBIAN else loader.replace(_DEBIANS, _RED_HATS))
    (folder / LOADER).chmod(0o755)
    shutil.copy(_system_file("libc.so.6"), folder / FOLDERS[family] / "libc.so.6")
    shutil.copy(busybox, folder / "bin/busybox")
    for applet in ("sh", "ls", "cat", "env"):
        (folder / "bin" / applet).symlink_to("busybox")
    _compile(_PROGRAM, folder / "bin/load", "-ldl")
    subprocess.run(["ldconfig", "-X", "-r", folder, f"/{FOLDERS[family]}"], check=True)


def make_library(path: Path, soname: str, says: str) -> None:
    """Make a shared object that says something, and tells its name to loaders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _compile(_LIBRARY % says, path, "-shared", "-fPIC", f"-Wl,-soname,{soname}")


def _system_file(name: str) -> Path:
    found = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return Path(found).resolve()


def _compile(source: str, target: Path, *options: str) -> None:
    command = ["gcc", "-x", "c", "-", "-o", str(target), *options]
    subprocess.run(command, input=source, text=True, check=True)
