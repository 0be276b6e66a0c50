"""Draw what can be wrong with devices, and the XIDs, into ``docs/health.md``, from what agent and plugin use.

``hack/health_causes.py`` writes what stands between two pairs of markers of the page; ``--check`` changes
nothing and fails where the page says something else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from agent.health.causes import TABLE, Cause, Row
from agent.health.rules import HealthRules
from agent.health.status import ends
from agent.health.xids import CATALOG, LAST, OTHERWISE, READ, SOURCE, XIDS

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "health.md"
BEGIN: Final = "<!-- causes: drawn by make health-causes -->\n"
END: Final = "<!-- /causes -->"
BEGIN_XIDS: Final = "<!-- xids: drawn by make health-causes -->\n"
END_XIDS: Final = "<!-- /xids -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it with ``--check``; return 1 where it differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page differs")
    check = parser.parse_args(arguments).check
    page = PAGE.read_text(encoding="utf-8")
    wanted = with_causes(page)
    if not check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if page != wanted:
        print(f"{PAGE}: differs from the table; run make health-causes and commit it", file=sys.stderr)
    return int(page != wanted)


def with_causes(page: str) -> str:
    """Return a page with both tables between their markers. Raises: ValueError where it lacks them."""
    return _between(_between(page, BEGIN, END, rows()), BEGIN_XIDS, END_XIDS, xid_rows())


def _between(page: str, begin: str, end: str, lines: Iterable[str]) -> str:
    before, opening, rest = page.partition(begin)
    _, closing, after = rest.partition(end)
    if not opening or not closing:
        raise ValueError(f"the page has no {begin.strip()} with {end} behind it")
    return before + opening + "\n".join((*lines, "")) + closing + after


def rows() -> Iterator[str]:
    """Yield the lines of a Markdown table: one for each cause."""
    yield "| cause | what it means | severity | devices | what ends it | who acts |"
    yield "|---|---|---|---|---|---|"
    for cause in Cause:
        row = TABLE[cause]
        healed = ends(cause, HealthRules())
        cells = (f"`{cause}`", _meaning(cause, row), row.severity, row.scope, healed, row.remedy)
        yield f"| {' | '.join(cells)} |"


def xid_rows() -> Iterator[str]:
    """Yield the lines of two Markdown tables: the catalog by action, and what is judged otherwise."""
    yield f"Compared on {READ} with a copy of [NVIDIA's catalog]({SOURCE}) that ends with {LAST}:"
    yield ""
    yield "| what the catalog says is to be done at once | XID | cause |"
    yield "|---|---|---|"
    for name, action in CATALOG.items():
        cause = "see below" if action.cause is None else f"`{action.cause}`"
        yield f"| {name} | {in_ranges(action.xids)} | {cause} |"
    yield ""
    yield "| judged by itself | cause | why |"
    yield "|---|---|---|"
    for one in OTHERWISE:
        yield f"| {in_ranges(one.xids)} | `{one.cause}` | {one.why} |"


def in_ranges(numbers: Iterable[int]) -> str:
    """Return numbers in order, three and more that follow each other as a range: ``8, 39-41``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def _meaning(cause: Cause, row: Row) -> str:
    xids = [xid for xid, known in XIDS.items() if known is cause]
    return f"{row.meaning} (XID {in_ranges(xids)})" if xids else row.meaning


if __name__ == "__main__":
    sys.exit(main())
