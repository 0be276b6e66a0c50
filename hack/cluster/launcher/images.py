"""Two small images made from the machine's static busybox, without network and without another program.

In goes the busybox program; out come archives in docker's format: ``localhost/pause:1``, which holds a pod's
namespaces, and ``localhost/busybox:1`` for test pods. The same busybox gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from launcher.errors import LauncherError

_PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"


def write_images(folder: Path, busybox: Path) -> tuple[Path, ...]:
    """Write both archives and return their paths.

    Raises: LauncherError where busybox does not say what it can do.
    """
    layer = _layer(busybox.read_bytes(), _applets(busybox))
    # A process without a signal handler is deaf as process 1; the runtime kills it in the end.
    pause = _archive(folder, "pause", layer, ("/bin/busybox", "tail", "-f", "/dev/null"))
    return pause, _archive(folder, "busybox", layer, ("sh",))


def _applets(busybox: Path) -> list[str]:
    try:
        answer = subprocess.run(
            [str(busybox), "--list"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LauncherError(f"cannot list what {busybox} can do: {error}; install busybox-static") from error
    return [name for name in answer.stdout.split() if name != "busybox"]


def _layer(program: bytes, applets: Sequence[str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777), ("var", 0o755)):
            _add(tar, name, mode, kind=tarfile.DIRTYPE)
        _add(tar, "bin/busybox", 0o755, program)
        _add(
            tar, "etc/passwd", 0o644, b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
        )
        _add(tar, "etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n")
        for name in applets:
            _add(tar, f"bin/{name}", 0o777, kind=tarfile.SYMTYPE, link="busybox")
    return content.getvalue()


def _archive(folder: Path, name: str, layer: bytes, command: Sequence[str]) -> Path:
    digest = hashlib.sha256(layer).hexdigest()
    config = json.dumps(
        {
            "architecture": _architecture(),
            "os": "linux",
            "config": {"Cmd": list(command), "Env": [_PATH]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        }
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [f"localhost/{name}:1"], "Layers": ["layer.tar"]}]
    path = folder / f"{name}.tar"
    with tarfile.open(path, "w") as tar:
        for member, content in (
            (config_name, config),
            ("layer.tar", layer),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            _add(tar, member, 0o644, content)
    return path


def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def _add(
    tar: tarfile.TarFile,
    name: str,
    mode: int,
    content: bytes = b"",
    *,
    kind: bytes = tarfile.REGTYPE,
    link: str = "",
) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.size, member.linkname = kind, mode, len(content), link
    tar.addfile(member, io.BytesIO(content))
