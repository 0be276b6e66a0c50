"""The workflow that publishes runs what developers run, with few rights, and nothing others can change."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILE = ROOT / ".github/workflows/publish.yml"
WORKFLOW: dict[Any, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]
COMMANDS = "\n".join(step["run"] for step in STEPS if "run" in step)


def test_it_makes_the_site_and_the_release_by_targets_that_exist() -> None:
    targets = set(re.findall(r"\bmake (\S+)", COMMANDS))
    defined = set(re.findall(r"^([-\w]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    assert targets == {"site", "release"}
    assert targets <= defined


def test_what_is_published_is_what_these_targets_made() -> None:
    (site,) = (step["with"]["path"] for step in STEPS if "upload-pages" in step.get("uses", ""))

    assert site == yaml.load((ROOT / "mkdocs.yml").read_text(), Loader=AnyTag)["site_dir"]
    assert set(re.findall(r"\b(dist|site)\b/?", COMMANDS)) == {"dist", "site"}
    assert "--draft" in COMMANDS


class AnyTag(yaml.SafeLoader):
    """Reads Python objects of mkdocs.yml as nothing."""


AnyTag.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def test_only_what_is_pushed_to_main_or_tagged_is_run() -> None:
    assert WORKFLOW[True] == {"push": {"branches": ["main"], "tags": ["v*"]}}  # "on" is a boolean of YAML 1.1


def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it() -> None:
    lines = [line for line in FILE.read_text().splitlines() if "uses:" in line]

    assert lines
    assert [
        one for one in lines if not re.search(r"uses: actions/[-a-z]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$", one)
    ] == []


def test_rights_are_none_but_those_that_a_job_names_and_the_site_is_built_without_any_to_write() -> None:
    assert WORKFLOW["permissions"] == {}
    assert JOBS["site"]["permissions"] == {"contents": "read"}
    assert JOBS["release"]["permissions"] == {"contents": "write", "packages": "write"}
    assert all("timeout-minutes" in job for job in JOBS.values())


def test_no_value_of_the_event_stands_in_a_command() -> None:
    assert "${{" not in COMMANDS


@pytest.mark.parametrize(("tag", "status"), [("v{}", 0), ("v{}0", 1), ("v1", 1)])
def test_a_tag_that_is_not_the_version_of_the_package_ends_the_release(tag: str, status: int) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    (check,) = (step["run"] for step in STEPS if step.get("name", "").startswith("The tag is"))
    environment = {"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": tag.format(version)}

    done = subprocess.run(["bash", "-euo", "pipefail", "-c", check], cwd=ROOT, env=environment, check=False)

    assert done.returncode == status
