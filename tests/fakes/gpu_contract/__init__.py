"""What every ``Gpus`` does: tests that run on any adapter and on real hardware.

A test file imports all of ``reading`` (changes nothing) or ``writing`` (cuts and mends one GPU) and
provides two fixtures: ``hardware``, the adapter, and ``uuid``, a GPU of it. For ``writing`` that GPU
knows MIG, is idle, and is handed over uncut with MIG off; ``mended`` leaves it so. ``vitals`` and ``events``
need a machine on which faults can be injected.
"""

import pytest

pytest.register_assert_rewrite(
    "gpu_contract.reading", "gpu_contract.writing", "gpu_contract.events", "gpu_contract.vitals"
)
