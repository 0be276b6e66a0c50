"""Pinned programs are built once for what pins them, by a Go that is new enough, and never half."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from launcher.build import Builder
from launcher.errors import LauncherError
from launcher.go import at_least, environment
from launcher.toolset import VERSIONS, ToolSet, containerd, helm, kubernetes, peer_driver, toolset

GO_MOD = """module example.com/tools

go 1.26.0

tool (
	example.com/store/server/v3
	example.com/cmd/ctl
)
"""
FAKE_GO = """#!/bin/sh
if [ "$1" = env ]; then echo go1.26.6; exit; fi
echo build >>"$FAKE_GO_CALLS"
[ -z "$FAKE_GO_FAILS" ] || { echo 'server.go:1: no such thing' >&2; exit 1; }
echo "$@" >"$FAKE_GO_CALLS.arguments"
while [ "$1" != -o ]; do shift; done
for program in server ctl; do : >"$2$program"; chmod +x "$2$program"; done
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "go.mod").write_text(GO_MOD)
    (folder / "go.sum").write_text("example.com/store v3.0.0 h1:abc=\n")
    return folder


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A go on PATH that makes empty programs and notes every build."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(FAKE_GO)
    go.chmod(0o755)
    noted = tmp_path / "calls"
    noted.touch()
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_GO_CALLS", str(noted))
    return noted


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(folder=tmp_path / "built", say=lambda text: None, clock=lambda: 0.0)


def programs(module: Path) -> ToolSet:
    return toolset(module, "v3.0.0", ())


def test_every_pinned_version_names_its_programs_and_stamps_itself() -> None:
    sets = [kubernetes(version) for version in VERSIONS]

    assert [one.version.rpartition(".")[0] for one in sets] == [f"v{version}" for version in VERSIONS]
    assert all(f"gitVersion={one.version}" in one.flags[-1] for one in sets)
    assert "kubelet" in sets[0].programs
    assert sets[-1].programs == ("server", "kube-apiserver", "kube-scheduler")
    assert containerd().programs == ("containerd", "containerd-shim-runc-v2", "ctr")


def test_modules_ask_for_no_newer_go_than_the_locked_wheel() -> None:
    wanted = [one.go for one in (*map(kubernetes, VERSIONS), containerd(), helm(), peer_driver())]

    assert all(at_least("1.26.6", one) for one in wanted)


def test_modules_hold_no_go_code() -> None:
    folders = [one.module for one in (*map(kubernetes, VERSIONS), containerd(), helm(), peer_driver())]

    assert {path.name for folder in folders for path in folder.iterdir()} == {"go.mod", "go.sum"}


def test_another_checksum_or_other_flags_are_another_folder(module: Path) -> None:
    first = programs(module)
    with_flags = toolset(module, "v3.0.0", ("-tags", "x"))
    (module / "go.sum").write_text("example.com/store v3.0.1 h1:def=\n")

    folders = {first.folder, with_flags.folder, programs(module).folder}

    assert len(folders) == 3


def test_an_unknown_version_is_refused_with_those_that_are_pinned() -> None:
    with pytest.raises(LauncherError, match=r"Kubernetes 1\.99: pinned are 1\.37, 1\.36, 1\.34"):
        kubernetes("1.99")


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("1.26.6", "1.26.6", True),
        ("1.27", "1.26.6", True),
        ("1.26.8-X:nogreenteagc", "1.26.6", True),
        ("1.26.5", "1.26.6", False),
        ("1.9.9", "1.26.0", False),
        ("devel", "1.26.0", False),
        ("", "1.26.0", False),
    ],
)
def test_a_go_fits_that_is_as_new_as_the_module_asks(version: str, wanted: str, fits: bool) -> None:
    assert at_least(version, wanted) is fits


def test_what_is_built_is_not_built_again(module: Path, calls: Path, builder: Builder) -> None:
    first = builder.programs(programs(module))
    second = builder.programs(programs(module))

    assert first == second
    assert {path.name for path in first.iterdir()} == {"server", "ctl"}
    assert calls.read_text() == "build\n"


def test_nothing_is_compiled_for_debuggers_since_every_set_is_linked_without_it(
    module: Path, calls: Path, builder: Builder
) -> None:
    builder.programs(programs(module))

    assert "-gcflags=all=-dwarf=false" in calls.with_suffix(".arguments").read_text().split()
    sets = [*map(kubernetes, VERSIONS), containerd(), helm(), peer_driver()]
    assert all(one.flags[-1].startswith("-s -w") for one in sets)


def test_compilers_collect_garbage_seldom_unless_the_user_says_how_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GOGC", raising=False)
    seldom = environment()
    monkeypatch.setenv("GOGC", "50")

    assert int(seldom["GOGC"]) > 100
    assert environment()["GOGC"] == "50"


def test_builds_at_the_same_time_make_one(module: Path, calls: Path, builder: Builder) -> None:
    threads = [threading.Thread(target=builder.programs, args=(programs(module),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert calls.read_text() == "build\n"


def test_the_plain_name_leads_to_what_is_pinned_now(module: Path, calls: Path, builder: Builder) -> None:
    builder.programs(programs(module))
    (module / "go.sum").write_text("example.com/store v3.0.1 h1:def=\n")

    newer = builder.programs(programs(module))

    assert (builder.folder / "tools").resolve() == newer


def test_a_failed_build_leaves_nothing_and_says_what_go_said(
    module: Path, calls: Path, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAILS", "yes")

    with pytest.raises(LauncherError, match=r"server\.go:1: no such thing"):
        builder.programs(programs(module))

    assert [path.name for path in builder.folder.iterdir()] == [".tools.lock"]
