"""What a quick reader of YAML raises, so that a slower one reads the text."""

from __future__ import annotations


class Unusual(Exception):
    """The text has something that this reader does not read, such as an alias."""
