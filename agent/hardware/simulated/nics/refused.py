"""A refusal of the simulated kernel, by error number."""

from __future__ import annotations


class Refused(Exception):
    """The kernel refuses. It becomes an ``OSError`` outside the pure rules."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)
