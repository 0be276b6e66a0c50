"""The image has the packages that something imports, and no program that runs as its owner."""

from __future__ import annotations

import os
import runpy
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import image
import pytest
from image_packages import remove_unused, unused

ROOT = Path(__file__).parents[2]
NO_SETUID = ROOT / "deploy/image/no_setuid.py"


class Folders:
    """A project, and packages beside it as an installer leaves them."""

    def __init__(self, folder):
        self.project, self.dependencies = folder / "project", folder / "dependencies"
        self.write(self.project, {"ours/__init__.py": "", "ours/__main__.py": "import used.part"})

    def write(self, folder, files):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    def install(self, name, files):
        record = "".join(f'"{file}",,\n' for file in [*files, f"{name}-1.0.dist-info/RECORD", "../../bin/x"])
        self.write(self.dependencies, {**files, f"{name}-1.0.dist-info/RECORD": record})

    def unused(self):
        return [one.name for one in unused(self.dependencies, self.project)]


@pytest.fixture
def folders(tmp_path):
    return Folders(tmp_path)


def test_a_package_stays_if_it_is_imported_directly_through_others_or_only_in_a_function(folders):
    folders.install(
        "used", {"used/__init__.py": "", "used/part.py": "def f():\n    from later.deep import x\n"}
    )
    folders.install("later", {"later/__init__.py": "", "later/deep/__init__.py": "from . import side"})
    (folders.dependencies / "later/deep/side.py").write_text("from ...later import own\nimport single\n")
    folders.install("single", {"single.cpython-311-x86_64-linux-gnu.so": ""})

    assert folders.unused() == []


def test_a_package_goes_if_nobody_imports_it_or_only_those_do_that_go_or_check_types(folders):
    hint = "import typing as t\nif t.TYPE_CHECKING:\n    import hints\nelse:\n    import other\n"
    folders.install("used", {"used/__init__.py": "", "used/part.py": hint})
    folders.install("hints", {"hints.py": ""})
    folders.install("other", {"other.py": ""})
    folders.install("client", {"client/__init__.py": "import below"})
    folders.install("below", {"below/__init__.py": ""})

    assert folders.unused() == ["below", "client", "hints"]


def test_what_compiled_modules_load_stays(folders):
    folders.install("used", {"used/__init__.py": "", "used/part.py": "import cryptography"})
    folders.install("cryptography", {"cryptography/__init__.py": ""})
    folders.install("cffi", {"_cffi_backend.so": "", "cffi/__init__.py": "import pycparser"})
    folders.install("pycparser", {"pycparser/__init__.py": ""})

    assert folders.unused() == ["pycparser"]


def test_of_a_package_that_goes_nothing_is_left_and_of_its_neighbours_everything(folders):
    folders.install("used", {"used/__init__.py": "", "used/part.py": "import google.used"})
    folders.install("goes", {"google/goes/__init__.py": "", "google/goes/data.txt": "", "goes.py": ""})
    folders.install("stays", {"google/used/__init__.py": ""})

    assert remove_unused(folders.dependencies, folders.project) == ("goes",)

    left = {str(path.relative_to(folders.dependencies)) for path in folders.dependencies.rglob("*")}
    assert not [name for name in left if "goes" in name]
    assert {"google/used/__init__.py", "used/part.py", "stays-1.0.dist-info/RECORD"} <= left


@pytest.fixture(scope="module")
def gone(tmp_path_factory):
    """The locked packages that would not be in the image."""
    (installed,) = [Path(path) for path in sys.path if path.endswith("site-packages")][:1]
    project = tmp_path_factory.mktemp("project")
    for package in image.PACKAGES:
        shutil.copytree(ROOT / package, project / package, ignore=shutil.ignore_patterns("__pycache__"))
    command = ["export", "--locked", "--no-dev", "--no-emit-project", "--no-hashes", "--quiet"]
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run([uv, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    locked = {line.partition("==")[0].replace("-", "_") for line in done.stdout.splitlines() if "==" in line}
    return [one for one in unused(installed, project) if one.name in locked]


def test_of_the_locked_packages_every_one_that_the_project_names_stays_and_the_asyncio_client_goes(gone):
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    direct = {one.partition("=")[0].rstrip("><~!").lower().replace("-", "_") for one in named}
    names = {one.name.lower() for one in gone}

    assert len(direct) == len(named)
    assert not names & direct
    assert {"aiohttp", "yarl", "pycparser"} <= names


def test_every_module_of_every_program_loads_without_the_packages_that_go(gone):
    blocked = sorted({name.partition(".")[0] for one in gone for name in one.modules})
    code = f"""
import sys
from importlib import import_module
from pkgutil import walk_packages

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocked())
for package in {image.PACKAGES!r}:
    for module in walk_packages(import_module(package).__path__, package + "."):
        import_module(module.name)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def modes(folder):
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*")}


def test_no_program_of_the_image_runs_as_its_owner_or_group(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "bin").mkdir(parents=True)
    for name, mode in {"su": 0o4755, "wall": 0o2755, "both": 0o6711, "plain": 0o755}.items():
        (root / "bin" / name).touch()
        (root / "bin" / name).chmod(mode)
    outside.touch()
    outside.chmod(0o4755)
    (root / "link").symlink_to(outside)
    (root / "bin").chmod(0o2755)  # of a folder the bit says which group its new files have

    runpy.run_path(str(NO_SETUID))["main"](str(root))

    found = modes(root)
    assert {name: found[name] for name in ("su", "wall", "both", "plain")} == {
        "su": 0o755,
        "wall": 0o755,
        "both": 0o711,
        "plain": 0o755,
    }
    assert found["bin"] == 0o2755
    assert stat.S_IMODE(outside.stat().st_mode) == 0o4755


def test_a_bit_that_cannot_be_taken_off_ends_the_build(tmp_path, monkeypatch):
    program = tmp_path / "su"
    program.touch()
    program.chmod(0o4755)
    monkeypatch.setattr(os, "chmod", lambda *_: None)

    with pytest.raises(SystemExit, match=f"{program}: the setuid and setgid bits cannot be taken off"):
        runpy.run_path(str(NO_SETUID))["main"](str(tmp_path))


def test_both_parts_of_the_image_stand_on_the_base_without_such_bits():
    lines = image.CONTAINERFILE.read_text().splitlines()

    stages = [line for line in lines if line.startswith("FROM ")]

    assert stages == ["FROM ${BASE} AS bare", "FROM bare AS compiled", "FROM bare"]
    assert 'RUN ["python3", "-I", "-B", "/tmp/no_setuid.py"]' in lines[: lines.index("FROM bare AS compiled")]
