"""Write the findings of ``tangram doctor`` into ``docs/doctor.md``, from the command's own table.

``hack/doctor_page.py`` writes what stands between the two markers of the page; ``--check`` changes nothing
and fails where the page says something else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tangram.doctor.kinds import CLUSTER_KINDS, NODE_KINDS, Kind

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "doctor.md"
BEGIN: Final = "<!-- findings: written by make doctor-page -->\n"
END: Final = "<!-- /findings -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it with ``--check``; return 1 where it differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page differs")
    check = parser.parse_args(arguments).check
    page = PAGE.read_text(encoding="utf-8")
    wanted = with_findings(page)
    if not check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if page != wanted:
        print(f"{PAGE}: differs from the table; run make doctor-page and commit it", file=sys.stderr)
    return int(page != wanted)


def with_findings(page: str) -> str:
    """Return a page with the findings between its markers. Raises: ValueError where it lacks them."""
    before, opening, rest = page.partition(BEGIN)
    _, closing, after = rest.partition(END)
    if not opening or not closing:
        raise ValueError(f"the page has no {BEGIN.strip()} with {END} behind it")
    parts = (("On a node", NODE_KINDS), ("In a cluster", CLUSTER_KINDS))
    lines = (line for title, kinds in parts for line in _part(title, kinds))
    return before + opening + "\n".join(lines) + closing + after


def _part(title: str, kinds: Sequence[Kind]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    for kind in kinds:
        yield f"### {kind.name}"
        yield ""
        yield f"{kind.title}. Why it matters: {kind.why}."
        yield ""
        yield f"What to do: {kind.todo}." + (f" `--fix` {kind.fix}." if kind.fix else "")
        yield ""


if __name__ == "__main__":
    sys.exit(main())
