"""What a campaign saw, as one value, and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Parts that were killed together. Units: seconds since the begin; until those of the launcher's ran."""

    at_s: float
    parts: tuple[str, ...]
    back_s: float


@dataclass(slots=True)
class Report:
    """A campaign.

    Shape: ``came``, ``ran`` and ``ended`` count arrivals, pods that held their devices, and pods that were
           over, by kind or by how they ended; ``again`` counts calls that failed and were made again;
           ``problems`` are sentences, none where all is well; ``forgotten`` are what containers did of which
           their runtime did not know that they ran; ``early`` what came of claims that the kubelet
           unprepared while their containers still ended.
    Units: seconds; ``waited_s`` is how long after the last kill it took until all pods that waited had run,
           ``clear_s`` until nothing was left then, ``after_s`` until one pod of each kind ran afterwards.
    """

    seed: int
    seconds: float = 0.0
    came: Counter[str] = field(default_factory=Counter)
    ran: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    most_held: int = 0
    kills: list[Kill] = field(default_factory=list)
    waited_s: float = 0.0
    clear_s: float = 0.0
    after_s: float = 0.0
    problems: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Whether nothing was double, lost, left over or unexpected."""
        return not self.problems

    def problem(self, text: str) -> None:
        """Note a problem, once."""
        if text not in self.problems:
            self.problems.append(text)

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        killed = Counter(part for kill in self.kills for part in kill.parts)
        counts = {
            "came": self.came,
            "ran": self.ran,
            "ended": self.ended,
            "again": self.again,
            "killed": killed,
        }
        # asdict takes the pairs of a Counter for what is to be counted.
        whole = asdict(replace(self, came=Counter(), ran=Counter(), ended=Counter(), again=Counter()))
        return {**whole, **{name: dict(one) for name, one in counts.items()}, "is_well": self.is_well}

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        killed = Counter(part for kill in self.kills for part in kill.parts)
        yield f"seed {self.seed}, {self.seconds:.0f} s"
        yield f"came:   {_text(self.came)}"
        yield f"ran:    {_text(self.ran)}; at most {self.most_held} parts of the hardware at once"
        yield f"over:   {_text(self.ended)}"
        yield f"killed: {_text(killed)}"
        yield f"calls made again: {_text(self.again)}"
        yield f"after the last kill: all that waited ran after {self.waited_s:.0f} s, nothing was left after"
        yield f"{self.clear_s:.0f} s more, and then one of each kind ran after {self.after_s:.0f} s"
        yield from (f"forgotten by the runtime: {text}" for text in self.forgotten)
        yield from (f"unprepared by the kubelet before its container ended: {text}" for text in self.early)
        yield from (f"PROBLEM: {text}" for text in self.problems)
        yield "all is well" if self.is_well else f"{len(self.problems)} problems"


def _text(counts: Counter[str]) -> str:
    return f"{counts.total()} ({', '.join(f'{name} {count}' for name, count in sorted(counts.items()))})"
