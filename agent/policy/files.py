"""Reads a policy from its file: one document of YAML or JSON, of limited size.

Takes a path; returns a policy, or one error with file and line. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from agent.policy.model import InvalidPolicy, Policy
from agent.policy.places import line_of
from agent.policy.reading import read_policy
from daemon import documents
from daemon.document import NotReadable
from daemon.opened import opened
from scheduler_core.base.errors import message

MOST_BYTES: Final = 2**20
"""What a ConfigMap can hold."""
_Answer = TypeVar("_Answer")


class BadPolicy(Exception):
    """A policy that its author must correct. The text names the file, the line, the field and the rule."""


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy with its text, to tell where something stands in it."""

    policy: Policy
    text: str

    def placed(self, work: Callable[[Policy], _Answer]) -> _Answer:
        """Do something with the policy. Raises: BadPolicy with the line, for an InvalidPolicy."""
        try:
            return work(self.policy)
        except InvalidPolicy as error:
            raise _placed(error, self.text) from error


def read_file(path: Path) -> PolicyFile:
    """Return the policy of a file. Raises: BadPolicy."""
    try:
        with opened(path) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadPolicy(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse(str(path), data)


def parse(name: str, data: bytes) -> PolicyFile:
    """Return the policy of a file's bytes. Raises: BadPolicy."""
    if len(data) > MOST_BYTES:
        raise BadPolicy(
            f"{name}: is larger than {MOST_BYTES // 2**20} MiB, which is the most a policy may have"
        )
    try:
        text = documents.decode(name, data)
        found = tuple(documents.documents(name, text))
    except NotReadable as error:
        raise BadPolicy(str(error)) from error
    if len(found) != 1:
        raise BadPolicy(f"{name}: must hold one policy, found {len(found)} documents")
    try:
        return PolicyFile(read_policy(name, found[0].content), text)
    except InvalidPolicy as error:
        raise _placed(error, text) from error


def _placed(error: InvalidPolicy, text: str) -> BadPolicy:
    line = line_of(text, error.field)
    subject = error.subject if line is None else f"{error.subject}:{line}"
    return BadPolicy(message(subject, error.field, error.value, error.rule))
