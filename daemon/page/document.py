"""PURE: the page as one HTML document, which needs nothing from any network.

Takes the value that the page shows; returns text. Texts of objects come from whoever may create objects: they
are data of the script, and become text of elements only. A policy in the document lets nothing run but its
own script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

_ASSETS: Final = files("daemon.page") / "assets"
_SCRIPTS: Final = ("1-model.js", "2-draw.js", "3-tree.js", "4-views.js", "5-main.js")
_ESCAPED: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def document(value: Mapping[str, Any]) -> str:
    """Return the page. Shape: ``value`` is what ``docs/web.md`` calls the page's value; JSON can hold it."""
    return _document(embedded(value))


def document_of(text: str) -> str:
    """Return the page of a value that is JSON already."""
    return _document(_escaped(text))


def _document(data: str) -> str:
    style, script = _assets()
    parts = {"policy": policy(style, script), "style": style, "script": script, "data": data}
    found: list[str] = _text("page.html").split("@")
    assert len(found) == 2 * len(parts) + 1, "the document has a mark for each part and no other @"
    found[1::2] = [parts[mark] for mark in found[1::2]]
    return "".join(found)


def embedded(value: Mapping[str, Any]) -> str:
    """Return JSON that cannot end the element that it stands in."""
    return _escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _escaped(text: str) -> str:
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped)
    # A lone surrogate is no text that a file can hold; JSON's escape of it is.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def policy(style: str, script: str) -> str:
    """Return the content security policy: this style and script, and events from the page's own server."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def policy_of_page() -> str:
    """Return the policy that the document has, for a header."""
    return policy(*_assets())


@cache
def _assets() -> tuple[str, str]:
    """Return style and script of the page."""
    return _text("page.css"), "\n".join(map(_text, _SCRIPTS))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _text(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
