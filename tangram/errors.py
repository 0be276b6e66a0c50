"""Errors of the user, as the command prints them: one message each, without a traceback."""

from __future__ import annotations

from scheduler_core.base.errors import message


class BadInput(Exception):
    """Something that the user must change: an argument, a file, or what a file says."""


class Unreachable(BadInput):
    """The API server cannot be reached, or does not answer; the same command may succeed later."""


def bad_argument(option: str, value: object, rule: str) -> BadInput:
    """Return the error for one option: the option, the value found and the rule it breaks."""
    return BadInput(message(option, "", value, rule))


def useless_option(option: str, given: object, rule: str) -> BadInput:
    """Return the error for an option that does not go with others.

    Shape: ``given`` is what argparse has of it: a value, several of an option that may be repeated, or True.
    """
    several = ", ".join(map(str, given)) if isinstance(given, list) else str(given)
    return bad_argument(option, None if given is True else several, rule)


class NoAnswer(Exception):
    """A gRPC call that the plugin did not answer."""

    def __init__(self, method: str, reason: str) -> None:
        self.method = method
        super().__init__(f"call of {method} failed: {reason}")
