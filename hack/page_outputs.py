"""Run the commands of the pages and write what they print into the pages, where it is not so already.

``hack/page_outputs.py [PAGE ...]``, all pages without names. Dots and ellipses of a page stay where they
still fit. tests/pages/test_commands.py checks the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pages import name_of, pages
from pages.blocks import blocks_of
from pages.sessions import Shell, clone, written_anew
from pages.worlds import WORLDS


def main(names: Sequence[str]) -> int:
    """Write the pages of these names, or all of them; return 2 where a name is none of a page."""
    known = {name_of(page): page for page in pages()}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"{', '.join(unknown)}: no such page", file=sys.stderr)
        return 2
    for name in names or known:
        write(known[name])
    return 0


def write(page: Path) -> None:
    """Run the blocks of a page in their order, and write their outputs."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found = []
    with ExitStack() as stack:
        shells: dict[str, Shell] = {}
        for block in blocks_of(page):
            if not block.is_run or block.marker is None:
                continue
            world = block.marker.what
            if world not in shells:
                shells[world] = stack.enter_context(clone())
                stack.enter_context(WORLDS[world](shells[world]))
            found.append((block, written_anew(block, shells[world])))
    for block, text in reversed(found):  # from the end, so that the lines before keep their numbers
        lines[block.line : block.line + len(block.text.splitlines())] = text.splitlines()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
