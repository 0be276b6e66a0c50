"""``tangram agent --once``: what would be published, without an API server and without a change."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agent.__main__ import main
from tangram.__main__ import main as tangram


@pytest.fixture
def once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options of a simulated machine, with no way to an API server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    return [
        *("--once", "--node-name", "node-1", "--simulated", "a100x2"),
        *("--machine", str(tmp_path / "machine"), "--kubelet-dir", str(tmp_path / "kubelet")),
    ]


def test_both_forms_are_written_into_a_new_folder_and_nothing_else_is_made(
    once: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "slices" / "node-1"

    assert main([*once, "--output", str(folder)]) == 0

    slices = [yaml.safe_load(path.read_text()) for path in sorted(folder.iterdir())]
    assert {one["kind"] for one in slices} == {"ResourceSlice", "CompositeResourceSlice"}
    assert all(
        one["metadata"]["name"] in path.name
        for one, path in zip(slices, sorted(folder.iterdir()), strict=True)
    )
    devices = [device["name"] for one in slices for device in one["spec"].get("devices") or ()]
    assert {"gpu-0", "gpu-1", "gpu-1-mig-1g-5gb-6"} <= set(devices)
    assert not (tmp_path / "kubelet").exists()


def test_slices_on_standard_output_are_those_that_the_command_line_shows(
    once: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*once, "--no-composite", "--node-name", "a100x2"]) == 0
    written = list(yaml.safe_load_all(capsys.readouterr().out))
    shown = ["--machine", str(tmp_path / "machine"), "--as", "v1"]
    assert tangram(["show", *shown]) == 0

    assert written
    assert [one["spec"]["devices"] for one in written if "devices" in one["spec"]] == [
        one["spec"]["devices"]
        for one in yaml.safe_load_all(capsys.readouterr().out)
        if "devices" in one["spec"]
    ]


def test_a_folder_that_has_files_is_refused_and_stays_as_it_is(
    once: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note").write_text("precious")

    assert main([*once, "--output", str(tmp_path / "full")]) == 1

    assert "it is not empty; name an empty or a new folder" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["note"]


def test_an_output_without_once_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--node-name", "node-1", "--output", "-"]) == 2

    assert "cannot use --output '-': is for --once" in capsys.readouterr().err
