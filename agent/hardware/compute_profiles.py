"""Which compute instances narrower than its own a GPU instance can have. Pure.

NVML answers this only of a GPU instance that exists. Before, the number of compute slices decides: all boards
with seven compute slices, and the A30 with four, list the same. Source: listings of compute-instance profiles
in NVIDIA's MIG User Guide and of the tool ``nvidia-smi mig -lcip``; the starts follow from the most instances
of each profile, aligned as GPU instances are. A driver that has others refuses the creation.
"""

from __future__ import annotations

from typing import Final

from agent.hardware.types import ComputeProfile

_BOARD_SLICES: Final = 7
_LINEAR: Final = "Ampere"
"""The architecture on which every compute slice has equally many multiprocessors."""
_WIDTHS: Final = {2: (1,), 3: (1, 2), 4: (1, 2), 7: (1, 2, 3, 4)}
_STEPS: Final = {1: 1, 2: 2, 3: 4, 4: 4}


def narrower_profiles(
    compute_slices: int, multiprocessors: int, *, architecture: str, most_compute_slices: int
) -> tuple[ComputeProfile, ...]:
    """Return the narrower profiles of a GPU instance by width; none where no source knows the board's.

    Units: ``compute_slices`` and ``multiprocessors`` of the GPU instance, ``most_compute_slices`` of the
           board's largest one.
    """
    widths = _WIDTHS.get(compute_slices)
    if widths is None or (most_compute_slices != _BOARD_SLICES and architecture != _LINEAR):
        return ()
    each = multiprocessors // compute_slices if architecture == _LINEAR else None
    return tuple(
        ComputeProfile(
            width,
            tuple(range(0, compute_slices - width + 1, _STEPS[width])),
            None if each is None else width * each,
        )
        for width in widths
    )
