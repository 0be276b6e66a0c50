"""Run the upstream allocator over a file of cases and compare: check.py CASES.json [--program PATH]

A case is an input with ``expect``: ``results``, ``unschedulable`` or ``error``; or ``feasible``, with the
devices of a first-fit search in ``firstFit``. Exit status 1 where an answer differs. Only the standard
library is needed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SHARE_ID = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"

Case = dict[str, Any]


def differences(cases: Sequence[Case], answers: Sequence[Case]) -> Iterator[str]:
    """Yield a sentence for each case whose answer is not the expected one."""
    for case, answer in zip(cases, answers, strict=True):
        if answer["timed_out"]:
            yield f"{case['name']}: timed out"
            continue
        wanted, got = _expected(case["expect"]), _given(answer, case["expect"])
        if wanted != got:
            yield f"{case['name']}: expected {json.dumps(wanted)}, got {json.dumps(got)}"


def _expected(expect: Case) -> Any:
    match expect:
        case {"error": _}:  # its text is for people and changes between releases
            return "error"
        case {"unschedulable": True} | {"feasible": False}:
            return "unschedulable"
        case {"firstFit": chosen}:
            return chosen
        case {"results": results}:
            return [_normal(result) for result in results]
        case _:
            raise SystemExit(f"check.py: cannot tell what {json.dumps(expect)} expects")


def _given(answer: Case, expect: Case) -> Any:
    if answer.get("error"):
        return "error"
    if answer["unschedulable"]:
        return "unschedulable"
    if "firstFit" in expect:
        return [one["devices"]["results"] for one in answer["results"]]
    return [_normal(result) for result in answer["results"]]


def _normal(result: Case) -> Case:
    """Return a result in a form that compares: devices in no order, random share ids all the same."""
    devices = [
        device | ({"shareID": SHARE_ID} if "shareID" in device else {})
        for device in result["devices"].get("results", [])
    ]
    devices.sort(key=lambda device: json.dumps(device, sort_keys=True))
    return result | {"devices": result["devices"] | {"results": devices}}


def main() -> int:
    """Print the differences and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--program", help="the program; default: build.sh builds it")
    options = parser.parse_args()
    cases = json.loads(options.cases.read_text())
    program = options.program or _built()
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([program], input=lines, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.returncode
    found = list(differences(cases, [json.loads(line) for line in done.stdout.splitlines()]))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{options.cases.name}: {len(cases) - len(found)}/{len(cases)}")
    return 1 if found else 0


def _built() -> str:
    done = subprocess.run(["sh", HERE / "build.sh"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
