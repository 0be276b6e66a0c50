"""The signs of memory slices and devices: a letter for each holder, and one sign for each other state.

They are read without colour. Colours repeat them: a holder has one everywhere.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from typing import Final

from rich.text import Text

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.occupancy.values import Availability
from scheduler_core.model.claim import ClaimRef

FREE: Final = "."
UNUSABLE: Final = "x"
SHARED: Final = "="
SEVERAL: Final = "+"
MORE: Final = "#"
_LETTERS: Final = string.ascii_uppercase + string.ascii_lowercase.replace("x", "") + string.digits
COLOURS: Final = ("green", "cyan", "magenta", "yellow", "blue", "red")
_STYLES: Final = {FREE: "dim", UNUSABLE: "dim red", SHARED: "bold", SEVERAL: "bold", MORE: "bold"}
_MEANINGS: Final = {
    FREE: "free",
    UNUSABLE: "unusable: nobody holds it, and nothing that takes it can be allocated now",
    SHARED: "in shares of its GPU, which are not bound to memory slices",
    SEVERAL: "held by several claims",
    MORE: "held by a claim beyond the letters",
}


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of holders on one node. Shape: those of its claims, by namespace and name."""

    by_claim: Mapping[ClaimRef, str]

    @classmethod
    def of(cls, claims: Iterable[ClaimRef]) -> Letters:
        """Give every claim a letter; where there are more claims than letters the last ones share a sign."""
        ordered = sorted(set(claims), key=lambda one: (one.namespace, one.name))
        return cls(
            {
                claim: _LETTERS[number] if number < len(_LETTERS) else MORE
                for number, claim in enumerate(ordered)
            }
        )

    def sign(self, availability: Availability, holders: tuple[ClaimRef, ...]) -> str:
        """Return the sign of a memory slice or a device."""
        match availability:
            case Availability.FREE:
                return FREE
            case Availability.UNUSABLE:
                return UNUSABLE
            case Availability.SHARED:
                return SHARED
            case Availability.HELD:
                return self.by_claim[holders[0]] if len(holders) == 1 else SEVERAL

    def style(self, sign: str) -> str:
        """Return how a sign is drawn."""
        if sign in _STYLES:
            return _STYLES[sign]
        return f"bold {COLOURS[_LETTERS.index(sign) % len(COLOURS)]}"

    def bar(self, signs: Iterable[str]) -> Text:
        """Return signs beside each other, in brackets."""
        drawn = Text().append("[", style="dim")
        for sign in signs:
            drawn.append(sign, style=self.style(sign))
        return drawn.append("]", style="dim")


def legend(signs: Iterable[str]) -> Text:
    """Return what the signs mean that are not letters, those alone that were drawn."""
    drawn = set(signs)
    told = [f"{sign} {meaning}" for sign, meaning in _MEANINGS.items() if sign in drawn]
    return Text("; ".join(told), style="dim")
