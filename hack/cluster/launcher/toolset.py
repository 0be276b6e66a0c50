"""A pinned set of programs: a Go module that holds nothing but ``tool`` lines.

In goes a folder with go.mod and go.sum; out come its programs, version and key. The key names exactly what
is built, so that another pin or other flags are another folder. Nothing here runs a program.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import LauncherError

MODULES = Path(__file__).resolve().parents[1]
VERSIONS = ("1.37", "1.36", "1.34")
_NAMES = {"server": "etcd"}  # go.etcd.io/etcd/server/v3 builds a program called server
_CONTAINERD_TAGS = "no_btrfs,no_zfs,no_devmapper"  # snapshotters that need headers of other projects


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSet:
    """Programs that are built together, from one module.

    Shape: ``programs`` are the binaries' names as Go gives them, in the order of the module's lines.
    """

    name: str
    version: str
    go: str
    programs: tuple[str, ...]
    flags: tuple[str, ...]
    key: str
    module: Path

    @property
    def folder(self) -> str:
        """The folder's name below the tools folder."""
        return f"{self.name}-{self.key}"

    @property
    def spoken_programs(self) -> str:
        """The programs as people call them."""
        return ", ".join(_NAMES.get(program, program) for program in self.programs)


def kubernetes(version: str) -> ToolSet:
    """Return the set of a Kubernetes minor version such as ``1.37``.

    Raises: LauncherError for a version that is not pinned.
    """
    if version not in VERSIONS:
        raise LauncherError(f"cannot use Kubernetes {version}: pinned are {', '.join(VERSIONS)}")
    folder = MODULES / f"kubernetes-{version}"
    pinned = _required(folder, "k8s.io/kubernetes")
    major, minor = pinned.removeprefix("v").split(".")[:2]
    stamp = "k8s.io/component-base/version.git"
    # Without the stamps the servers call themselves v0.0.0-master: whoever looks at the version is misled.
    stamps = {"Version": pinned, "Major": major, "Minor": minor, "TreeState": "clean"}
    linker = " ".join(("-s -w", *(f"-X {stamp}{name}={value}" for name, value in stamps.items())))
    return toolset(folder, pinned, ("-ldflags", linker))


def containerd() -> ToolSet:
    """Return the set with containerd, its shim and ``ctr``."""
    folder = MODULES / "containerd"
    pinned = _required(folder, "github.com/containerd/containerd/v2")
    linker = f"-s -w -X github.com/containerd/containerd/v2/version.Version={pinned}"
    return toolset(folder, pinned, ("-tags", _CONTAINERD_TAGS, "-ldflags", linker))


def helm() -> ToolSet:
    """Return the set with Helm, to install and package the chart."""
    folder = MODULES / "helm"
    pinned = _required(folder, "helm.sh/helm/v4")
    linker = f"-s -w -X helm.sh/helm/v4/internal/version.version={pinned}"
    return toolset(folder, pinned, ("-ldflags", linker))


def peer_driver() -> ToolSet:
    """Return the set with another driver's kubelet plugin, to compare ours with."""
    folder = MODULES / "peer-driver"
    return toolset(folder, _required(folder, "sigs.k8s.io/dra-example-driver"), ("-ldflags", "-s -w"))


def toolset(module: Path, version: str, flags: tuple[str, ...]) -> ToolSet:
    """Return the set of any module that holds ``tool`` lines.

    Raises: LauncherError where its go.mod lacks what is asked for.
    """
    # -buildvcs=false: the checkout's commit is no property of other people's programs.
    flags = ("-trimpath", "-buildvcs=false", "-mod=readonly", *flags)
    parts = [(module / name).read_bytes() for name in ("go.mod", "go.sum")]
    digest = hashlib.sha256(b"\0".join([*parts, "\0".join(flags).encode()]))
    text = parts[0].decode()
    return ToolSet(
        name=module.name,
        version=version,
        go=_found(r"^go (\S+)$", text, module),
        programs=tuple(_program(path) for path in _tools(text)),
        flags=flags,
        key=digest.hexdigest()[:12],
        module=module,
    )


def _required(module: Path, path: str) -> str:
    return _found(rf"^\s*(?:require )?{re.escape(path)} (v\S+)", (module / "go.mod").read_text(), module)


def _found(pattern: str, text: str, module: Path) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise LauncherError(f"cannot read {module / 'go.mod'}: no line like {pattern!r}; restore it with git")
    return match[1]


def _tools(text: str) -> list[str]:
    block = re.search(r"^tool \(\n(.*?)^\)", text, re.MULTILINE | re.DOTALL)
    return block[1].split() if block else re.findall(r"^tool (\S+)$", text, re.MULTILINE)


def _program(path: str) -> str:
    """Return the binary's name: the last element that is not a major version, as the go command has it."""
    *front, last = path.split("/")
    return front[-1] if re.fullmatch(r"v\d+", last) else last
