"""Puts a fake library in the driver's place in every NVML process that starts with this folder in PYTHONPATH.

Python imports a module of this name when it starts. The environment says which machine and which troubles. So
the program that is tested starts the process as it always does.
"""

import os
import sys

if "agent.hardware.nvml_process.child" in sys.orig_argv and "FAKE_NVML_NODE" in os.environ:
    from pathlib import Path

    import pynvml
    from fake_nvml.troubled import TroubledLibrary

    from agent.hardware.nvml import adapter
    from agent.hardware.simulated import SimulatedMachine, load_node

    machine = SimulatedMachine.open(
        load_node(os.environ["FAKE_NVML_NODE"]), Path(os.environ["FAKE_NVML_MACHINE"])
    )
    troubles = Path(os.environ["FAKE_NVML_TROUBLES"])
    if "FAKE_NVML_STORM" in os.environ:
        from fake_nvml.storm import StormLibrary

        per_second, lasts_s = os.environ["FAKE_NVML_STORM"].split()
        pynvml.nvmlLib = StormLibrary(machine.gpus, int(per_second), float(lasts_s), troubles / "storm-ended")
    else:
        pynvml.nvmlLib = TroubledLibrary(machine.gpus, troubles, machine.client)
    adapter._load = lambda library: None
