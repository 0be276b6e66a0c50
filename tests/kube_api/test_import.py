"""What a program pays for this package: nothing before it connects, and never for the client's models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CONNECT = """
import json, pathlib, kube_api
cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
found = {"current-context": "c", "clusters": [cluster], "contexts": [context], "users": []}
path = pathlib.Path(sys.argv[1])
path.write_text(json.dumps(found))
kube_api.KubeApi.connect(path, user_agent="t", clock=float, sleep=float, random=float)
"""


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import kube_api", ("kubernetes", "urllib3", "requests", "pydantic")),
        (CONNECT, ("kubernetes.client.models.", "kubernetes.client.api.", "aiohttp")),
    ],
)
def test_a_program_loads_no_more_than_it_needs(tmp_path: Path, program: str, absent: tuple[str, ...]) -> None:
    tell = f"print([name for name in sys.modules if name.startswith({absent!r})])"
    run = [sys.executable, "-c", f"import sys\n{program}\n{tell}", tmp_path / "kubeconfig"]

    said = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)

    assert (said.stdout.strip(), said.returncode) == ("[]", 0), said.stderr
