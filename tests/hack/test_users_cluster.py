"""What the cluster tests leave alone in a cluster that somebody owns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert answer.stdout.splitlines()[-1].startswith("3 skipped")
