"""What ``tangram explain`` says in each situation, as text at 80 columns and as JSON.

``make explain-golden`` writes the files anew, and the page docs/why-does-my-pod-wait.md, which shows some.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tangram.__main__ import main

GOLDEN = Path(__file__).parents[1] / "data" / "explain"
PAGE = Path(__file__).parents[2] / "docs" / "why-does-my-pod-wait.md"
CLASSES = Path(__file__).parents[2] / "deploy" / "examples" / "device-classes.yaml"
IS_WRITING = os.environ.get("TANGRAM_WRITE_GOLDEN") == "1"
A = 'device.attributes["tangram.dev"]'
LEFT_OUT = ("requests", "choices", "allocation")  # every device with its obstacle: other tests read them
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SHOWN = re.compile(r"<!-- tests/data/explain/([\w-]+)\.txt -->\n```text\n(.*?)```\n", re.DOTALL)

Document = Mapping[str, Any]


def request(name: str, *selectors: str, of: str = "mig", **fields: Any) -> dict[str, Any]:
    """A request for devices of a class of ours; numbers stand for counts."""
    found: dict[str, Any] = {"deviceClassName": f"{of}.tangram.dev", **fields}
    if selectors:
        found["selectors"] = [{"cel": {"expression": one}} for one in selectors]
    return {"name": name, "exactly": found}


def claim(name: str, *requests: Document, constraints: Sequence[Document] = ()) -> dict[str, Any]:
    devices: dict[str, Any] = {"requests": list(requests)}
    if constraints:
        devices["constraints"] = list(constraints)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team-b"},
        "spec": {"devices": devices},
    }


def held(name: str, *devices: str, node: str = "a100x2") -> dict[str, Any]:
    """A claim of team-a that has devices."""
    results = [{"request": "gpu", "driver": "tangram.dev", "pool": node, "device": one} for one in devices]
    found = claim(name, request("gpu"))
    return {
        **found,
        "metadata": {"name": name, "namespace": "team-a"},
        "status": {"allocation": {"devices": {"results": results}}},
    }


def profile(name: str) -> str:
    return f'{A}.profile == "{name}"'


@dataclass(frozen=True)
class Situation:
    """One situation. ``nodes`` are machines by the name of their node; ``changed`` edits the slices' text."""

    name: str
    documents: tuple[Document, ...]
    options: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ("a100x2",)
    form: str = "composite"
    changed: Callable[[list[dict[str, Any]]], None] = lambda slices: None


def mine(*selectors: str, **fields: Any) -> dict[str, Any]:
    return claim("train", request("gpu", *selectors, **fields))


def parts(count: int, name: str = "1g.5gb", **constraint: Any) -> dict[str, Any]:
    requests = [request(f"part-{number}", profile(name)) for number in range(count)]
    return claim("train", *requests, constraints=[constraint] if constraint else [])


def unhealthy(slices: list[dict[str, Any]]) -> None:
    """Give every whole GPU and partition of gpu-0 a taint."""
    for one in slices:
        for device in one["spec"].get("devices", ()):
            if device["name"].startswith("gpu-0"):
                device["taints"] = [
                    {"key": "health.tangram.dev/xid-reset", "value": "48", "effect": "NoSchedule"}
                ]


def one_is_missing(slices: list[dict[str, Any]]) -> None:
    for one in slices:
        one["spec"]["pool"]["resourceSliceCount"] += 1


WHOLE = held("infer-1", "gpu-0")
BOTH = (WHOLE, held("infer-2", "gpu-1"))
MIXED = (
    held("infer-1", "gpu-0-mig-3g-20gb-0-3"),
    held("infer-2", "gpu-0-mig-3g-20gb-4-7"),
    held("notebook", "gpu-1-mig-1g-5gb-0"),
)
FOUR = ("a100-1", "a100-2", "a100-3", "bare")

SITUATIONS = [
    Situation("no-device-has-the-value", (mine(profile("9g.90gb")),)),
    Situation("value-misspelt", (mine(profile("1g.5bg")),)),
    Situation("attribute-misspelt", (mine(f'{A}.profil == "1g.5gb"'),)),
    Situation(
        "attribute-of-another-domain", (mine('device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'),)
    ),
    Situation("second-term-leaves-nothing", (mine(f'{profile("3g.20gb")} && {A}.architecture == "hopper"'),)),
    Situation("second-selector-leaves-nothing", (mine(profile("3g.20gb"), f'{A}.type == "gpu"'),)),
    Situation("either-of-two-values", (mine(f"{profile('9g.90gb')} || {profile('8g.80gb')}"),)),
    Situation("class-leaves-nothing", (mine(of="vf"),)),
    Situation("amount-of-capacity-too-large", (mine(of="gpu", capacity={"requests": {"memory": "100Gi"}}),)),
    Situation(
        "capacity-in-a-selector-too-large",
        (mine('device.capacity["tangram.dev"].memory.compareTo(quantity("100Gi")) >= 0', of="gpu"),),
    ),
    Situation("whole-gpu-held", (*BOTH, mine(profile("1g.5gb")))),
    Situation("whole-gpu-held-in-v1", (*BOTH, mine(profile("1g.5gb"))), form="v1"),
    Situation("memory-slices-held", (*MIXED, mine(profile("7g.40gb")))),
    Situation("parts-of-the-gpu-held", (*MIXED, mine(of="gpu"))),
    Situation("three-claims-have-to-end", (*MIXED, mine(of="gpu", count=2))),
    Situation("more-than-there-are", (mine(profile("7g.40gb"), count=3),)),
    Situation("fewer-would-fit", (WHOLE, mine(profile("1g.5gb"), count=8))),
    Situation("together-they-do-not-fit", (WHOLE, parts(8))),
    Situation("two-claims-together", (WHOLE, mine(of="gpu"), claim("second", request("gpu", of="gpu")))),
    Situation("constraint-on-one-gpu", (parts(8, matchAttribute="tangram.dev/parentUUID"),)),
    Situation("constraint-no-device-has", (parts(2, matchAttribute="tangram.dev/rack"),)),
    Situation("constraint-distinct", (parts(3, distinctAttribute="tangram.dev/parentUUID"),)),
    Situation("all-devices-one-held", (WHOLE, mine(of="gpu", allocationMode="All"))),
    Situation(
        "no-alternative-fits",
        (
            *BOTH,
            claim(
                "train",
                {
                    "name": "gpu",
                    "firstAvailable": [
                        {"name": "whole", "deviceClassName": "gpu.tangram.dev"},
                        {
                            "name": "part",
                            "deviceClassName": "mig.tangram.dev",
                            "selectors": [{"cel": {"expression": profile("3g.20gb")}}],
                        },
                    ],
                },
            ),
        ),
    ),
    Situation(
        "both-requests-misspelt",
        (claim("train", request("small", profile("1g.5bg")), request("large", profile("3g.20bg"))),),
    ),
    Situation("value-misspelt-and-gpus-held", (*BOTH, mine(profile("1g.5bg")))),
    Situation("other-type-and-gpus-held", (*BOTH, mine(profile("3g.20gb"), f'{A}.type == "gpu"'))),
    Situation(
        "too-much-memory-and-gpus-held", (*BOTH, mine(of="gpu", capacity={"requests": {"memory": "80Gi"}}))
    ),
    Situation(
        "value-misspelt-and-node-full",
        (*BOTH, mine(profile("1g.5bg"))),
        ("--node-name", "a100x2"),
        ("a100x2", "a100-2"),
    ),
    Situation("constraint-and-gpu-held", (WHOLE, parts(8, matchAttribute="tangram.dev/rack"))),
    Situation("gpu-unhealthy", (held("infer-2", "gpu-1"), mine(of="gpu")), form="v1", changed=unhealthy),
    Situation("slices-missing", (mine(of="gpu", allocationMode="All"),), form="v1", changed=one_is_missing),
    Situation("another-node-fits", (*BOTH, mine(of="gpu")), ("--node-name", "a100x2"), ("a100x2", "a100-2")),
    Situation(
        "nodes-with-the-same-reason",
        (*(held(f"infer-{node}", "gpu-0", "gpu-1", node=node) for node in FOUR[:3]), mine(profile("1g.5gb"))),
        nodes=FOUR,
    ),
    Situation(
        "why-not-a-device-of-another-class", (*MIXED, mine(profile("1g.5gb"))), ("--why-not", "a100x2/gpu-0")
    ),
    Situation(
        "why-not-a-held-device", (*MIXED, mine(profile("1g.5gb"))), ("--why-not", "gpu-0-mig-1g-5gb-0")
    ),
    Situation(
        "why-not-a-free-device", (*MIXED, mine(profile("1g.5gb"))), ("--why-not", "gpu-1-mig-1g-5gb-6")
    ),
    Situation(
        "why-not-a-node-that-fits",
        (*MIXED, mine(profile("1g.5gb"))),
        ("--why-not", "a100-2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation(
        "why-not-a-full-node",
        (*MIXED, mine(of="gpu")),
        ("--why-not", "a100x2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation("fits-best-fit", (*MIXED, mine(profile("1g.5gb"))), nodes=("a100x2", "a100-2", "bare")),
    Situation(
        "fits-first-fit",
        (*MIXED, mine(profile("2g.10gb"))),
        ("--policy", "first-fit"),
        ("bare", "a100x2", "a100-2"),
    ),
]


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

    def write(situation: Situation) -> Iterator[str]:
        documents: list[Any] = []
        for node in situation.nodes:
            slices = json.loads(slices_of(node, situation.form))
            situation.changed(slices)
            documents += slices
            documents.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
        text = "\n---\n".join(map(json.dumps, [*documents, *situation.documents]))
        yield from ("-f", os.fspath(CLASSES), "-f", os.fspath(written("input.yaml", text)))
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
    kept = {key: value for key, value in json.loads(found).items() if key not in LEFT_OUT}
    _same(GOLDEN / f"{situation.name}.json", json.dumps(kept, indent=1) + "\n")


@pytest.mark.parametrize("situation", SITUATIONS[::5], ids=names)
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


def _shown(match: re.Match[str]) -> str:
    text = (GOLDEN / f"{match[1]}.txt").read_text("utf-8")
    return f"<!-- tests/data/explain/{match[1]}.txt -->\n```text\n{text}```\n"


def _same(path: Path, text: str) -> None:
    if IS_WRITING:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
