"""Reads ``--gpu-modes``: in which modes the GPUs of a node are offered.

Takes the texts of the option, one for each time that it was given; returns a value, or one error. The option
may name GPUs that the node does not have yet: the description of the node lists what it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agent import node_options
from agent.inventory.modes import ALL_OF_IT, GpuMode, GpuModes, ModesOfGpu
from daemon.command_line import InvalidOption, require

OPTION: Final = node_options.GPU_MODES
_ALL: Final = "all"
_LAST: Final = 255
_WORDS: Final = {"whole": GpuMode.WHOLE, "mig": GpuMode.MIG, "shared": GpuMode.SHARED, "mps": GpuMode.MPS}
_RANGE: Final = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?", re.ASCII)
_MODE: Final = re.compile(r"(whole|mig|shared|mps)(?::(\d{1,2})%)?", re.ASCII)
_KEPT: Final = "mig:on"
_NUMBERS: Final = f"must be all, or numbers of GPUs from 0 to {_LAST} such as 0,2-5"
_FORM: Final = (
    f"must be GPUs=MODES: all or numbers from 0 to {_LAST}, and modes of {', '.join(_WORDS)}, "
    "such as 0,2-5=whole,mig,shared; mig:on alone keeps GPUs in MIG mode"
)
_PARTS: Final = (
    "shared and mps have either no parts, or both have one of 1% to 99%, together at most 100%, "
    "such as shared:50%,mps:50%"
)
_ALONE: Final = "mig:on keeps GPUs in MIG mode, which leaves room for no other mode: it stands alone"
_ONCE: Final = "no other entry may name the same GPUs"


def read_gpu_modes(texts: Sequence[str] | None) -> GpuModes:
    """Return the modes that the option says. Raises: InvalidOption."""
    others: ModesOfGpu | None = None
    by_number: dict[int, ModesOfGpu] = {}
    for text in texts or ():
        gpus, is_entry, modes = text.partition("=")
        require(bool(is_entry), OPTION, text, _FORM)
        found = _modes(modes, text)
        if gpus == _ALL:
            require(others is None, OPTION, text, _ONCE)
            others = found
            continue
        numbers = _numbers(gpus)
        require(bool(numbers), OPTION, text, _FORM)
        require(by_number.keys().isdisjoint(numbers), OPTION, text, _ONCE)
        by_number |= dict.fromkeys(numbers, found)
    return GpuModes(others or ModesOfGpu(), by_number)


def read_numbers(option: str, text: str) -> frozenset[int] | None:
    """Return the numbers of the GPUs that an option names, None for all. Raises: InvalidOption."""
    if text == _ALL:
        return None
    found = _numbers(text)
    require(bool(found), option, text, _NUMBERS)
    return found


def _numbers(gpus: str) -> frozenset[int]:
    """Return numbers in their text form, none where it is wrong."""
    numbers: set[int] = set()
    for part in gpus.split(","):
        found = _RANGE.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last <= _LAST:
            return frozenset()
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def _modes(modes: str, text: str) -> ModesOfGpu:
    if _KEPT in modes.split(","):
        require(modes == _KEPT, OPTION, text, _ALONE)
        return ModesOfGpu(whole=False, keeps_mig=True)
    parts: dict[GpuMode, int | None] = {}
    for one in modes.split(","):
        found = _MODE.fullmatch(one)
        if found is None or _WORDS[found[1]] in parts:
            raise InvalidOption(OPTION, text, _FORM)
        parts[_WORDS[found[1]]] = int(found[2]) if found[2] else None
    shares = [parts.get(mode) for mode in (GpuMode.SHARED, GpuMode.MPS)]
    is_parted = any(part is not None for part in parts.values())
    if is_parted:
        whole = [part or 0 for part in shares]
        is_right = all(whole) and sum(whole) <= ALL_OF_IT and sum(map(bool, parts.values())) == len(shares)
        require(is_right, OPTION, text, _PARTS)
    return ModesOfGpu(
        whole=GpuMode.WHOLE in parts,
        mig=GpuMode.MIG in parts,
        shared=(parts[GpuMode.SHARED] or ALL_OF_IT) if GpuMode.SHARED in parts else None,
        mps=(parts[GpuMode.MPS] or ALL_OF_IT) if GpuMode.MPS in parts else None,
    )
