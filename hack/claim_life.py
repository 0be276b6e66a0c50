"""Draw the life of a claim into ``docs/claim-life.md``, from the table that the plugin works with.

``hack/claim_life.py`` writes what stands between the two markers of the page; ``--check`` changes nothing and
fails where the page says something else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from plugin.claim.states import TABLE, Event, State

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "claim-life.md"
BEGIN: Final = "<!-- life: drawn by make claim-life -->\n"
END: Final = "<!-- /life -->"
_NOT_ALLOWED: Final = "·"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it with ``--check``; return 1 where it differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page differs")
    check = parser.parse_args(arguments).check
    page = PAGE.read_text(encoding="utf-8")
    wanted = with_life(page, TABLE)
    if not check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if page != wanted:
        print(f"{PAGE}: differs from the table; run make claim-life and commit it", file=sys.stderr)
    return int(page != wanted)


def with_life(page: str, table: Mapping[State, Mapping[Event, State]]) -> str:
    """Return a page with the table drawn between its markers. Raises: ValueError where it lacks them."""
    before, opening, rest = page.partition(BEGIN)
    _, closing, after = rest.partition(END)
    if not opening or not closing:
        raise ValueError(f"the page has no {BEGIN.strip()} with {END} behind it")
    return before + opening + "\n".join((*picture(table), "", *rows(table), "")) + closing + after


def picture(table: Mapping[State, Mapping[Event, State]]) -> Iterator[str]:
    """Yield the lines of a Mermaid diagram: an arrow for each pair of states, with its events."""
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {State.ABSENT}"
    for state, following in table.items():
        events: dict[State, list[str]] = {}
        for event, then in following.items():
            events.setdefault(then, []).append(event)
        yield from (f"    {state} --> {then}: {', '.join(names)}" for then, names in events.items())
    yield "```"


def rows(table: Mapping[State, Mapping[Event, State]]) -> Iterator[str]:
    """Yield the lines of a Markdown table: what follows each state, by event."""
    yield f"| state | {' | '.join(Event)} |"
    yield "|---" * (len(Event) + 1) + "|"
    for state in State:
        cells = (table[state].get(event, _NOT_ALLOWED) for event in Event)
        yield f"| {state} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
