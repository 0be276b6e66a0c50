"""Small cases for ``tangram conformance``, right and wrong ones, and those that the core stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parents[2] / "scheduler_core" / "cases"


def selector(name: str, text: str, **expect: Any) -> dict[str, Any]:
    device = {
        "driver": "d.example.com",
        "attributes": {"kind": {"string": "whole"}, "sizes": {"ints": [1, 2]}},
    }
    return {"name": name, "expression": text, "device": device, "expect": expect}


RIGHT = selector("right", "device.driver == 'd.example.com'", match=True)
WRONG = selector("wrong", "device.driver == 'd.example.com'", match=False)


def stored(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return content


def table(expect: dict[str, Any], *, count: int = 1, **more: Any) -> dict[str, Any]:
    """A case as Kubernetes' own table has it: three devices, one of them in use."""
    devices = [{"name": name} for name in ("one", "two", "three")]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count}
    return {
        "name": "table",
        "features": [],
        "node": {"metadata": {"name": "n"}},
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "slices": [
            {
                "metadata": {"name": "s"},
                "spec": {"driver": "d.example.com", "pool": pool, "nodeName": "n", "devices": devices},
            }
        ],
        "allocated": [{"driver": "d.example.com", "pool": "p", "device": "one"}],
        "claims": [
            {
                "metadata": {"name": "c"},
                "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
            }
        ],
        "expect": expect,
        **more,
    }


def given(device: str) -> dict[str, str]:
    return {"request": "r", "driver": "d.example.com", "pool": "p", "device": device}


SELECTOR_OF_N = {
    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]
}
RESULTS = {"results": [{"devices": {"results": [given("two")]}, "nodeSelector": SELECTOR_OF_N}]}
OTHER_RESULTS = {"results": [{"devices": {"results": [given("three")]}, "nodeSelector": SELECTOR_OF_N}]}
