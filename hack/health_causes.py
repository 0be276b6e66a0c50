"""Draw what can be wrong with devices into ``docs/health.md``, from the table that agent and plugin use.

``hack/health_causes.py`` writes what stands between the two markers of the page; ``--check`` changes nothing
and fails where the page says something else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from agent.health.causes import TABLE, XIDS, Cause, Row

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "health.md"
BEGIN: Final = "<!-- causes: drawn by make health-causes -->\n"
END: Final = "<!-- /causes -->"


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
    """Return a page with the table between its markers. Raises: ValueError where it lacks them."""
    before, opening, rest = page.partition(BEGIN)
    _, closing, after = rest.partition(END)
    if not opening or not closing:
        raise ValueError(f"the page has no {BEGIN.strip()} with {END} behind it")
    return before + opening + "\n".join((*rows(), "")) + closing + after


def rows() -> Iterator[str]:
    """Yield the lines of a Markdown table: one for each cause."""
    yield "| cause | what it means | severity | devices | what ends it | who acts |"
    yield "|---|---|---|---|---|---|"
    for cause in Cause:
        row = TABLE[cause]
        cells = (f"`{cause}`", _meaning(cause, row), row.severity, row.scope, _heals(row), row.remedy)
        yield f"| {' | '.join(cells)} |"


def _meaning(cause: Cause, row: Row) -> str:
    xids = ", ".join(str(xid) for xid, known in sorted(XIDS.items()) if known is cause)
    return f"{row.meaning} (XID {xids})" if xids else row.meaning


def _heals(row: Row) -> str:
    if row.quiet_s is None:
        return row.heals
    return f"it has not come again for {row.quiet_s / 60:g} minutes"


if __name__ == "__main__":
    sys.exit(main())
