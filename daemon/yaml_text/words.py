"""What a scalar without quotes means in YAML: most tell it by their letters, the others by PyYAML's rules."""

from __future__ import annotations

import re
from typing import Any, Final

_WORDS: Final = {"true": True, "false": False, "null": None}
_NOT_TEXT: Final = frozenset(("yes", "no", "on", "off", *_WORDS))
_COUNT: Final = re.compile("0|[1-9][0-9]{0,17}")
_NO_NUMBER: Final = re.compile("[^0-9a-fA-FxX_.:+-]")  # in what begins with a digit, such as 40Gi
_FIRST: Final = re.compile("[A-Za-z_/(^$;]")


def word(text: str) -> Any:
    """Return the value that YAML gives to a word without quotes. Raises: Unusual if a parser has to say."""
    if text in _WORDS:
        return _WORDS[text]
    if _FIRST.match(text) and text.lower() not in _NOT_TEXT:
        return text
    if _COUNT.fullmatch(text):
        return int(text)
    if "0" <= text[0] <= "9" and _NO_NUMBER.search(text):
        return text
    from daemon.yaml_text.full import plain_scalar  # noqa: PLC0415  # few texts need it

    return plain_scalar(text)
