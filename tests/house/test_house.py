"""The house stays liveable: words, and what is in the wheel."""

import io
import subprocess
import sys
import tokenize
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("scheduler_core", "kube_api", "daemon", "agent", "plugin", "controller", "tangram")


def sources(*roots):
    return [
        path
        for root in roots
        for path in (ROOT / root).rglob("*.py")
        if not any(part.startswith("_pb") for part in path.parts)
    ]


@pytest.mark.parametrize("word", ["nvidia", "gpu", "mig", "nvml"])
def test_the_core_knows_devices_and_no_vendor(word):
    """Docstrings may give examples; code and comments may not. Front ends read what users write."""
    found = []
    for path in sources("scheduler_core"):
        if "frontends" in path.parts:
            continue
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type != tokenize.STRING or not token.string.startswith('"""'):
                words = "".join(c if c.isalnum() else " " for c in token.string.lower()).split()
                if word in words:
                    found.append(f"{path.name}:{token.start[0]}: {token.line.strip()}")
    assert found == []


def test_every_package_is_typed_for_its_users():
    assert all((ROOT / package / "py.typed").exists() for package in PACKAGES)


def test_the_wheel_holds_the_packages_with_their_data_and_nothing_else(tmp_path):
    uv = Path(sys.executable).parent / "uv"
    if not uv.exists():
        pytest.skip("uv is not beside this Python")
    subprocess.run(
        [uv, "build", "--wheel", "--quiet", "--out-dir", tmp_path, ROOT],
        check=True,
        capture_output=True,
        timeout=110,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()

    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == set(PACKAGES)
    assert "agent/hardware/simulated/nodes/dgx-a100.yaml" in names
    assert "agent/hardware/simulated/models/a100-sxm4-40gb.json" in names
    assert "plugin/_pb/dra_v1/api_pb2.py" in names
