"""Skipped tests are summed up in one line, with the commands that run them."""

import needs
import pytest


def test_skipped_tests_are_one_line_with_what_they_need_and_the_command_that_provides_it():
    reasons = [f"Skipped: needs {needs.CLUSTER}"] * 3 + [f"Skipped: needs {needs.CONTAINERS} (needs root)"]

    assert needs.summary([*reasons, "Skipped: this machine has a driver"]) == (
        "5 tests were skipped: 3 need a cluster (make test-cluster); 1 need containers "
        "(as root, apt-get install podman crun busybox-static); 1 for other reasons. pytest -rs lists them."
    )


def test_a_missing_program_skips_here_and_fails_where_everything_must_be_there(monkeypatch):
    monkeypatch.delenv("TANGRAM_REQUIRE_ALL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs no-such-program: apt-get install no-such-program"):
        needs.require_programs("no-such-program")

    monkeypatch.setenv("TANGRAM_REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="needs no-such-program"):
        needs.require_programs("no-such-program")
