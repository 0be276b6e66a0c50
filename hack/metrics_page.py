"""Write the metrics of the programs into ``docs/metrics.md``, from the tables that the programs work with.

``hack/metrics_page.py`` writes what stands between the markers of the page; ``--check`` changes nothing and
fails where the page says something else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from agent.publishing import metrics as agent
from controller import metrics as controller
from daemon.metrics.definition import Definition, full_name
from plugin.base import metrics as plugin

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
PROGRAMS: Final[Mapping[str, tuple[str, Mapping[str, Definition]]]] = {
    "agent": (agent.PREFIX, agent.DEFINITIONS),
    "plugin": (plugin.PREFIX, plugin.DEFINITIONS),
    "controller": (controller.PREFIX, controller.DEFINITIONS),
}
END: Final = "<!-- /metrics -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it with ``--check``; return 1 where it differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page differs")
    check = parser.parse_args(arguments).check
    page = PAGE.read_text(encoding="utf-8")
    wanted = with_tables(page)
    if not check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if page != wanted:
        print(f"{PAGE}: differs from the code; run make metrics-page and commit it", file=sys.stderr)
    return int(page != wanted)


def begin(program: str) -> str:
    """Return the marker before a program's table."""
    return f"<!-- metrics of the {program}: written by make metrics-page -->\n"


def with_tables(page: str) -> str:
    """Return a page with each program's table between its markers. Raises: ValueError where it lacks them."""
    for program, (prefix, definitions) in PROGRAMS.items():
        before, opening, rest = page.partition(begin(program))
        _, closing, after = rest.partition(END)
        if not opening or not closing:
            raise ValueError(f"the page has no {begin(program).strip()} with {END} behind it")
        table = "\n".join((*rows(prefix, definitions), ""))
        page = before + opening + table + closing + after
    return page


def rows(prefix: str, definitions: Mapping[str, Definition]) -> Iterator[str]:
    """Yield the lines of a Markdown table: each metric with its kind, labels and meaning."""
    yield "| metric | kind | labels | meaning |"
    yield "|---|---|---|---|"
    for name, one in definitions.items():
        labels = ", ".join(f"`{label}`" for label in one.labels)
        yield f"| `{full_name(prefix, name, one)}` | {one.kind} | {labels} | {one.help} |"


if __name__ == "__main__":
    sys.exit(main())
