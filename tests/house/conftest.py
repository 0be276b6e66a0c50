"""What kubectl makes of our manifests; tests that ask are skipped where no kubectl is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "hack"))  # the developers' programs are no package


@pytest.fixture(scope="session")
def kustomize():
    """Return the documents of a folder with a kustomization."""
    built = Path(os.environ.get("TANGRAM_TOOLS") or ROOT / ".tangram/tools") / "kubernetes-1.37"
    kubectl = shutil.which("kubectl") or shutil.which("kubectl", path=str(built))
    if kubectl is None:
        pytest.skip("needs kubectl: make cluster-tools builds one")

    def documents(folder):
        command = [kubectl, "kustomize", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return list(yaml.safe_load_all(done.stdout))

    return documents
