"""What the cluster tests leave alone in a cluster that somebody owns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from launcher.tests import parts

ROOT = Path(__file__).parents[2]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """A cluster that cannot be reached: whoever asks it anything fails."""
    file = tmp_path / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    file.write_text(json.dumps(document))
    return file


def test_what_changes_the_installation_is_skipped_before_the_cluster_is_asked_anything(
    kubeconfig: Path,
) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "TANGRAM_CLUSTER"}
    environment["TANGRAM_TEST_KUBECONFIG"] = str(kubeconfig)

    answer = subprocess.run(
        (
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "tests/cluster/test_deploy.py",
            "-m",
            "cluster",
        ),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert answer.returncode == 0, answer.stdout
    assert answer.stdout.splitlines()[-1].startswith("4 skipped")


def test_the_parts_of_a_version_together_are_all_its_tests_once() -> None:
    all_parts = parts("1.37", ())
    everything = [*ROOT.glob("tests/cluster/test_*.py"), *ROOT.glob("tests/kube_api/test_*.py")]

    def runs(arguments: tuple[str, ...], file: Path) -> bool:
        named = [ROOT / one for one in arguments if one.startswith("tests/")]
        left_out = [ROOT / one.removeprefix("--ignore=") for one in arguments if one.startswith("--ignore=")]
        return _is_in(file, named) and not _is_in(file, left_out)

    named = [one for part in all_parts for one in part.arguments if one.startswith("tests/")]
    assert all((ROOT / one).exists() for one in named)
    assert [
        file.name
        for file in everything
        if [runs(part.arguments, file) for part in all_parts].count(True) != 1
    ] == []


def _is_in(file: Path, paths: list[Path]) -> bool:
    return any(file.is_relative_to(path) for path in paths)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("controller_pods", {"--controller"}),
        ("controller_chaos", {"--controller"}),
        ("chaos", {"--driver-option=--gpu-modes=all=whole,mig,shared"}),
        ("multi_node_gpus", {"--controller", "--nodes"}),
        ("newcomer", {"--bare", "--with-image", "--helm"}),
        ("chart_options", {"--bare", "--with-image", "--helm"}),
    ],
)
def test_tests_that_need_a_cluster_of_another_kind_run_in_one(name: str, wanted: set[str]) -> None:
    ours = f"tests/cluster/test_{name}.py"
    running = [part for part in (*parts("1.37", ()), *parts("1.37", (ours,))) if ours in part.arguments]

    assert [wanted <= set(part.options) for part in running] == [True, True]


def test_only_the_tests_of_a_newcomer_get_a_clone_also_where_one_is_named() -> None:
    ours = "tests/cluster/test_newcomer.py"
    named = parts("1.37", (f"{ours}::test_the_readme_does_what_it_says",))

    assert [part.name for part in parts("1.37", ()) if part.has_clone] == ["1.37, newcomer"]
    assert [part.has_clone for part in (*named, *parts("1.34", (ours,)))] == [True, False]


def test_what_is_named_by_hand_runs_in_one_cluster() -> None:
    (only,) = parts("1.37", ("tests/cluster/test_story.py",))

    assert only.arguments == ("tests/cluster/test_story.py", "-m", "cluster")
