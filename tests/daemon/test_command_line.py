"""What a user is told of a wrong option."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.command_line import WRONG_OPTIONS, InvalidOption, refuse, require


def test_an_error_names_the_option_the_value_and_the_rule() -> None:
    error = InvalidOption("--resync", 0.5, "must be at least 1 second")

    assert str(error) == "cannot use --resync '0.5': must be at least 1 second; see --help"
    assert (error.option, error.value, error.rule) == ("--resync", 0.5, "must be at least 1 second")


def test_a_rule_between_options_has_no_value() -> None:
    assert str(InvalidOption("--a and --b", None, "each needs the other")).startswith(
        "cannot use --a and --b: "
    )


def test_a_rule_that_holds_refuses_nothing() -> None:
    require(True, "--name", "x", "must be short")

    with pytest.raises(InvalidOption):
        require(False, "--name", "x", "must be short")


@given(st.text(max_size=1000))
def test_a_value_however_long_or_odd_makes_one_short_line(value: str) -> None:
    text = str(InvalidOption("--name", value, "must be short"))

    assert len(text) < 300
    assert len(text.splitlines()) == 1


def test_a_program_that_cannot_start_says_why_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status = refuse("tangram agent", ValueError("first\n  second"), WRONG_OPTIONS)

    assert status == 2
    assert capsys.readouterr().err == "tangram agent: first second\n"
