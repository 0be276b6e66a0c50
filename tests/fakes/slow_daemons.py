"""A machine whose MPS daemons may take as long to answer as a busy computer makes them."""

from __future__ import annotations

from dataclasses import replace

from agent.hardware.mps.adapter import MpsProgram
from agent.hardware.ports import Machine

_WAIT_S = 60.0  # half of what a test may take


def with_slow_daemons(machine: Machine) -> Machine:
    assert isinstance(machine.mps, MpsProgram)
    return replace(machine, mps=replace(machine.mps, wait_s=_WAIT_S))
