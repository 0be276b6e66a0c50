"""PURE: the GUIDs of InfiniBand devices and ports, as eight hex bytes with colons.

So ``ip link`` writes them; sysfs writes the same bytes in groups of two.
"""

from __future__ import annotations

import re
from typing import Final

NO_GUID: Final = ":".join(["00"] * 8)
ALL_ONES: Final = ":".join(["ff"] * 8)
"""What automation leaves on a VF that had none, because not every firmware takes a zero back.

Source: ib-sriov-cni, which restores a zero so and refuses to use a VF that has it.
"""

_GUID: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){7}")
_LOCAL, _GROUP = 0x02, 0x01
_MIDDLE: Final = 24
"""The lowest bit of bytes 4 and 5, which are the same in all GUIDs that a vendor makes of an EUI-48."""


def from_sysfs(text: str | None) -> str | None:
    """Return the GUID that a file says, ``NO_GUID`` if it says that there is none; None for another text."""
    digits = (text or "").replace(":", "")
    guid = ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))
    return normal(guid) if _GUID.fullmatch(guid) else None


def normal(guid: str) -> str:
    """Return a GUID in lower case; one of all ones is none."""
    return NO_GUID if guid.lower() == ALL_ONES else guid.lower()


def problem(guid: str) -> str | None:
    """Return the rule that a GUID for a VF breaks, None if it breaks none."""
    if not _GUID.fullmatch(guid.lower()):
        return "must be eight hex bytes such as 02:00:00:00:00:00:00:01"
    return "must not be all zeros or all ones, which is no GUID" if normal(guid) == NO_GUID else None


def of_vf(pf: str, index: int) -> str:
    """Return the GUID of a VF that has none, from its PF's and its number.

    It is marked as locally administered, so it is never one that a vendor gave to a card. The number goes
    into bytes 4 and 5: in NVIDIA's GUIDs these are 03:00 for every card (EUI-64 from EUI-48), so two VFs have
    the same GUID only if their PFs have. Added to the last bytes it would run into those of the next card.
    Source: IEEE, Guidelines for Use of EUI, bits U/L and I/G.
    """
    value = int(pf.replace(":", ""), 16)
    value ^= (index + 1) << _MIDDLE
    value = (value | _LOCAL << 56) & ~(_GROUP << 56)
    return value.to_bytes(8).hex(":")
