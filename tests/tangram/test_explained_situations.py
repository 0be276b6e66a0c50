"""What ``tangram explain`` says in each situation, as text at 80 columns and as JSON.

``make explain-golden`` writes the files anew, and the page docs/why-does-my-pod-wait.md, which shows some.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from explained import SITUATIONS, Document, Situation

from tangram.__main__ import main

GOLDEN = Path(__file__).parents[1] / "data" / "explain"
PAGE = Path(__file__).parents[2] / "docs" / "why-does-my-pod-wait.md"
CLASSES = Path(__file__).parents[2] / "deploy" / "examples" / "device-classes.yaml"
IS_WRITING = os.environ.get("TANGRAM_WRITE_GOLDEN") == "1"
# every device with its obstacle: other tests read them
LEFT_OUT = ("requests", "choices", "allocation", "offers")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SHOWN = re.compile(r"<!-- tests/data/explain/([\w-]+)\.txt -->\n```text\n(.*?)```\n", re.DOTALL)


@pytest.fixture(scope="session")
def slices_of(shipped: Callable[[str], Path]) -> Callable[[str, str], str]:
    """Return the slices of a node with two A100, as JSON text; of ``bare`` none, but the Node."""

    @cache
    def read(node: str, form: str) -> str:
        folder = shipped("no-gpu" if node == "bare" else "a100x2")
        out = io.StringIO()
        with redirect_stdout(out):
            main(["show", "--machine", str(folder), "--as", form, "--json"])
        return out.getvalue().replace("no-gpu", node).replace("a100x2", node)

    return read


@pytest.fixture
def files(
    slices_of: Callable[[str, str], str], written: Callable[[str, str], Path]
) -> Callable[[Situation], Iterator[str]]:
    """Write the input of a situation, and yield the options that name it."""

    def file(name: str, documents: Sequence[Any]) -> str:
        return os.fspath(written(f"{name}.yaml", "\n---\n".join(map(json.dumps, documents))))

    def write(situation: Situation) -> Iterator[str]:
        documents: list[Any] = []
        for node in situation.nodes:
            slices = json.loads(slices_of(node, situation.form))
            situation.changed(slices)
            documents += slices
            documents.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
        yield from ("-f", os.fspath(CLASSES), "-f", file("input", [*documents, *situation.documents]))
        if situation.pods:
            yield from ("--pod", file("pods", situation.pods))
        yield from situation.options

    return write


@pytest.fixture
def said(
    files: Callable[[Situation], Iterator[str]], tangram: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Run ``tangram explain`` at some width, and return what it prints: without colours."""

    def run(situation: Situation, *options: str, width: int = 80) -> str:
        for name, value in {"COLUMNS": str(width), "FORCE_COLOR": "1", "TERM": "xterm"}.items():
            monkeypatch.setenv(name, value)
        found = tangram("explain", *files(situation), *options)
        text = _COLOURS.sub("", found.out or found.err)
        return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"

    return run


def names(situation: Situation) -> str:
    return situation.name


@pytest.mark.parametrize("situation", SITUATIONS, ids=names)
def test_the_text_is_as_written(situation: Situation, said: Callable[..., str]) -> None:
    _same(GOLDEN / f"{situation.name}.txt", said(situation))


@pytest.mark.parametrize("situation", SITUATIONS, ids=names)
def test_the_json_is_as_written(situation: Situation, said: Callable[..., str]) -> None:
    found = said(situation, "--json")
    if not found.startswith("{"):  # wrong input is a message, whatever the form
        return
    kept = _without_lists(json.loads(found))
    _same(GOLDEN / f"{situation.name}.json", json.dumps(kept, indent=1) + "\n")


@pytest.mark.parametrize("situation", SITUATIONS, ids=names)
def test_no_line_is_wider_than_a_narrow_terminal_and_no_device_is_cut(
    situation: Situation, said: Callable[..., str]
) -> None:
    text = said(situation, width=60)

    wide = [line for line in text.splitlines() if len(line) > 60 and len(line.split()) > 1]
    assert [line for line in wide if not line.startswith("tangram:")] == []
    assert "…" not in text


def test_the_page_shows_what_the_command_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    if IS_WRITING:
        PAGE.write_text(_SHOWN.sub(_shown, text), encoding="utf-8")
        return
    shown = _SHOWN.findall(text)
    assert len(shown) >= 6
    assert [name for name, block in shown if block != (GOLDEN / f"{name}.txt").read_text("utf-8")] == []


def test_every_golden_file_is_of_a_situation() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {one.name for one in SITUATIONS}


def _without_lists(found: Document) -> dict[str, Any]:
    """Leave out every device with its obstacle, of pods as well."""
    kept = {key: value for key, value in found.items() if key not in LEFT_OUT}
    if "pods" in kept:
        kept["pods"] = [_without_lists(one) for one in kept["pods"]]
    return kept


def _shown(match: re.Match[str]) -> str:
    text = (GOLDEN / f"{match[1]}.txt").read_text("utf-8")
    return f"<!-- tests/data/explain/{match[1]}.txt -->\n```text\n{text}```\n"


def _same(path: Path, text: str) -> None:
    if IS_WRITING:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
