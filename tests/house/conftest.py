"""What kubectl and Helm make of our manifests; tests that ask are skipped where there is no such program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import needs
import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "hack"), str(ROOT / "hack/site")]  # the developers' programs are no package


@pytest.fixture(scope="session")
def program():
    """Return a function from a program's name and its folder below the tools folder to its path."""

    def find(name, folder):
        built = Path(os.environ.get("TANGRAM_TOOLS") or ROOT / ".tangram/tools") / folder
        found = shutil.which(name) or shutil.which(name, path=str(built))
        if found is None:
            needs.fail_or_skip(needs.CLUSTER_PROGRAMS, f"there is no {name}")
        return found

    return find


@pytest.fixture(scope="session")
def kustomize(program):
    """Return the documents of a folder with a kustomization."""
    kubectl = program("kubectl", "kubernetes-1.37")

    def documents(folder):
        command = [kubectl, "kustomize", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return list(yaml.safe_load_all(done.stdout))

    return documents
