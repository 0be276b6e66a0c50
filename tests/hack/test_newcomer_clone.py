"""A newcomer's clone is made of what is committed, and goes; where the checkout has no git, none is tried."""

from __future__ import annotations

import subprocess

import needs
import pytest
from launcher import newcomer
from launcher.errors import LauncherError

MAKEFILE = ".venv/.ready:\n\t@mkdir -p .venv && echo $${VIRTUAL_ENV:-none} > .venv/.ready\n"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout of one file. No repository above it counts."""
    monkeypatch.setattr(newcomer, "CHECKOUT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


@pytest.fixture
def repository(checkout):
    """The same as a git repository, its file committed."""
    needs.require_programs("git")
    named = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "--quiet"), ("add", "."), (*named, "commit", "--quiet", "--message", "one")):
        subprocess.run(("git", "-C", str(checkout), *command), check=True)
    return checkout


def test_a_checkout_without_git_gives_no_clone_and_says_so(checkout, capsys):
    with newcomer.clone() as folder:
        assert folder is None

    said = "cluster: the checkout is not a git repository: no clone of it is tried\n"
    assert capsys.readouterr().err == said


def test_so_does_a_machine_without_the_program_git(repository, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(repository / "empty"))

    with newcomer.clone() as folder:
        assert folder is None

    assert "no clone of it is tried" in capsys.readouterr().err


def test_the_clone_has_what_is_committed_and_packages_of_its_own_and_is_removed(repository, monkeypatch):
    (repository / "notes").write_text("not committed")
    monkeypatch.setenv("VIRTUAL_ENV", str(repository / "mine"))

    with newcomer.clone() as folder:
        assert sorted(path.name for path in folder.iterdir()) == [".git", ".venv", "Makefile"]
        assert (folder / ".venv/.ready").read_text() == "none\n"

    assert not folder.exists()


def test_what_make_said_is_told_where_the_packages_cannot_be_installed(repository):
    subprocess.run(("git", "-C", str(repository), "rm", "--quiet", "Makefile"), check=True)
    named = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(("git", "-C", str(repository), *named, "commit", "--quiet", "-m", "two"), check=True)

    with pytest.raises(LauncherError, match=r"cannot clone the checkout: make .*No rule"), newcomer.clone():
        pass
