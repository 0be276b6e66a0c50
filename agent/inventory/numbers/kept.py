"""Numbers that outlive a reboot: kept in the file that agent and plugin share.

Takes the GPUs that are seen; returns the number of each. A file that is lost or damaged is made anew from
what slices and records say, and that is told. Numbers that cannot be kept now are used nevertheless: a full
disk must take no node away.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from agent.hardware.errors import HardwareError
from agent.inventory.numbers.file_format import Damaged
from agent.inventory.numbers.number_file import NumberFile
from agent.inventory.numbers.numbering import GpusSeen, Numbers, Witness, first_numbers, with_new_gpus
from agent.inventory.numbers.shared_file import NotKept

_log = logging.getLogger(__name__)
_REBUILT: Final = "GpuNumbersRebuilt"
_NOT_KEPT: Final = "GpuNumbersNotKept"


class NumbersUnknown(HardwareError):
    """Nobody can say now which numbers the GPUs were given before."""

    retry = True
    remedy = "it is retried"


Tell = Callable[[str, str], None]
"""Warns people who look at the Node. Takes a reason of one word, and the sentence."""


class KeptNumbers:
    """Numbers the GPUs of a node. For one thread at a time.

    Shape: ``witnesses`` what others wrote down of the numbers, the surest first; it is asked only where the
           file says nothing, and may raise NumbersUnknown.
    """

    def __init__(
        self,
        file: NumberFile,
        witnesses: Callable[[], Iterable[Witness]],
        tell: Tell = lambda _reason, _text: None,
    ) -> None:
        self._file = file
        self._witnesses = witnesses
        self._tell = tell
        self._last: Numbers | None = None
        self._told = ""
        self._was_forbidden = False

    def __call__(self, seen: GpusSeen) -> Numbers:
        """Return the numbers, among them one for each GPU that is seen.

        Raises: NumbersUnknown while nobody can say which numbers were given before.
        """
        try:
            found = self._kept(seen)
            self._told, self._was_forbidden = "", False
        except NotKept as error:
            found = self._unkept(seen, error)
        self._last = found
        return found

    def _kept(self, seen: GpusSeen) -> Numbers:
        try:
            known = self._file.read()
        except Damaged:
            known = None
        if known is not None and seen.addresses <= known.keys():
            return known
        if known is None and not seen.addresses:
            return {}
        before = self._remembered(seen) if known is None else known
        with self._file.locked():
            return self._settled(before, seen)

    def _settled(self, before: Numbers, seen: GpusSeen) -> Numbers:
        """Write the numbers, unless somebody else just did. The lock is held. Raises: NotKept."""
        damage = ""
        try:
            known = self._file.read()
        except Damaged as error:
            known, damage = None, str(error)
        found = with_new_gpus(before if known is None else known, seen)
        if found == known:
            return found
        aside = self._file.set_aside() if damage else None
        self._file.replace(found)
        if damage:
            text = f"{self._file.path} was damaged ({damage}): it was made anew, and the old one is {aside}"
            _log.error("%s", text)
            self._tell(_REBUILT, text)
        new = {bdf: number for bdf, number in found.items() if known is None or bdf not in known}
        listed = ", ".join(f"gpu-{number} is {bdf}" for bdf, number in new.items())
        _log.info("numbers of GPUs, kept in %s: %s", self._file.path, listed)
        return found

    def _unkept(self, seen: GpusSeen, error: NotKept) -> Numbers:
        text = (
            f"the numbers of GPUs are not kept: {error}; the operator must see to it before the next reboot"
        )
        if error.is_forbidden and not self._was_forbidden:
            _log.info("%s; the plugin may write what this program may not, and does so soon", error)
        elif text != self._told:
            _log.warning("%s", text)
            self._tell(_NOT_KEPT, text)
            self._told = text
        self._was_forbidden = error.is_forbidden
        return with_new_gpus(self._remembered(seen), seen)

    def _remembered(self, seen: GpusSeen) -> Numbers:
        """Return what is known without the file. Raises: NumbersUnknown."""
        return first_numbers(self._witnesses(), seen) if self._last is None else self._last


class ReadNumbers:
    """Numbers GPUs as the file says, for who only looks: nothing is written."""

    def __init__(self, file: NumberFile) -> None:
        self._file = file

    def __call__(self, seen: GpusSeen) -> Numbers:
        """Return the numbers that the node's programs use, or would use next."""
        try:
            known = self._file.read()
        except (Damaged, NotKept):
            known = None
        return first_numbers((), seen) if known is None else with_new_gpus(known, seen)
