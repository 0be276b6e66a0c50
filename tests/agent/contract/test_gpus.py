"""The simulated driver and the NVML adapter keep one contract."""

import os

from gpu_contract.reading import *  # noqa: F403
from gpu_contract.writing import *  # noqa: F403


def test_a_process_is_told_while_it_uses_the_gpu(hardware, machine, uuid) -> None:
    with machine.client(uuid):
        assert hardware.processes(uuid) == (os.getpid(),)

    assert hardware.processes(uuid) == ()
