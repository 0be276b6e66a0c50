"""Every diagram of the pages can be drawn for the site, whole; what is not understood ends the build."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from diagrams import CannotDraw, arrows, picture, with_pictures
from pages import ROOT, name_of, pages

BLOCK = re.compile(r"^ *```mermaid\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PAGES = [page for page in pages() if "```mermaid" in page.read_text(encoding="utf-8")]
LIFE = "stateDiagram-v2\n    [*] --> a\n    a --> b: go, run\n    b --> a: back\n    b --> b: stay\n"


def texts(drawn: str) -> list[str]:
    return [one.text or "" for one in ET.fromstring(drawn).iter("text")]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_diagram_of_a_page_has_all_its_states_and_labels(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for source in BLOCK.findall(text):
        found = arrows(source)
        wanted = [one.label for one in found if one.label] + [*{one.end for one in found}]
        assert sorted(texts(picture(source))) == sorted(wanted)
    assert "```mermaid" not in with_pictures(text)


def test_there_is_a_page_with_a_diagram() -> None:
    assert "docs/claim-life.md" in map(name_of, PAGES)


def test_all_of_a_picture_lies_in_its_frame_and_texts_do_not_lie_on_each_other() -> None:
    (source,) = BLOCK.findall((ROOT / "docs/claim-life.md").read_text(encoding="utf-8"))
    drawn = ET.fromstring(picture(source))
    _, _, width, height = map(float, next(drawn.iter("svg")).attrib["viewBox"].split())

    boxes = [box(one) for one in drawn.iter("text")]

    assert all(left >= 0 and right <= width and 10 <= y <= height - 10 for left, right, y in boxes)
    for number, (left, right, y) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            assert abs(y - other[2]) >= 20 or right <= other[0] or other[1] <= left


def box(text: ET.Element) -> tuple[float, float, float]:
    """Return the ends and the height of a text, in which a letter takes 9."""
    x, y, length = float(text.attrib["x"]), float(text.attrib["y"]), 9.0 * len(text.text or "")
    left = x - {"start": 0.0, "middle": length / 2, "end": length}[text.attrib["text-anchor"]]
    return left, left + length, y


def test_the_picture_is_one_line_of_html_with_the_words_for_those_who_do_not_see_it() -> None:
    drawn = picture(LIFE)

    assert "\n" not in drawn
    assert 'aria-label="a to b: go, run; b to a: back; b to b: stay"' in drawn


def test_arrows_in_both_directions_have_lines_of_their_own() -> None:
    there, back = (one for one in re.findall(r'd="M([\d,]+) L([\d,]+)"', picture(LIFE))[1:])

    assert set(there).isdisjoint(back)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("flowchart TD\n", "'flowchart TD' is not stateDiagram-v2"),
        (
            "stateDiagram-v2\n  a --> b: x\n  note right of a: y\n",
            "'note right of a: y' is not STATE --> STATE",
        ),
        (
            "stateDiagram-v2\n" + "".join(f"  s{n} --> s{n + 1}\n" for n in range(8)),
            "it has 9 states, at most 7",
        ),
    ],
)
def test_what_cannot_be_drawn_ends_the_build_with_the_line(source: str, said: str) -> None:
    with pytest.raises(CannotDraw, match=re.escape(said)):
        with_pictures(f"# A\n\n```mermaid\n{source}```\n")
